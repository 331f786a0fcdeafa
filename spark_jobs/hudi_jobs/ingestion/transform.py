"""The table owner's SQL over the view `source`: a query, and nothing that acts or looks elsewhere."""

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.classification import stage
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.jvm import JavaObject, is_a, session_state

VIEW = "source"

_CATALYST = "org.apache.spark.sql.catalyst"
_ACTING_PLANS = (
    f"{_CATALYST}.plans.logical.Command",
    f"{_CATALYST}.plans.logical.ParsedStatement",
    f"{_CATALYST}.plans.logical.ScriptTransformation",
)
ESCAPING_FUNCTIONS = (
    "reflect",
    "java_method",
    "try_reflect",
    "hudi_query",
    "hudi_table_changes",
    "hudi_query_timeline",
    "hudi_filesystem_view",
    "hudi_metadata",
    "hudi_vector_search",
    "hudi_vector_search_batch",
)
"""Functions that look beyond the source: the first three call any static Java method, the others read any table."""

_IF_IT_EXISTS = True


def apply_transform(spark: SparkSession, rows: DataFrame, sql: str | None) -> DataFrame:
    """Return the rows of the query, or the rows themselves where there is no query."""
    if sql is None:
        return rows
    with stage("The transform is not valid", otherwise=FailureReason.TRANSFORM_INVALID):
        _require_query(spark, sql)
        _drop_functions(spark)
        rows.createOrReplaceTempView(VIEW)
        return spark.sql(sql)


def _require_query(spark: SparkSession, sql: str) -> None:
    plan = session_state(spark).sqlParser().parsePlan(sql)
    if _acts(spark, plan):
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The transform must be one SELECT query over the view {VIEW}; statements and scripts are not run.",
        )


def _acts(spark: SparkSession, plan: JavaObject) -> bool:
    if any(is_a(spark, plan, name) for name in _ACTING_PLANS):
        return True
    children = plan.children()
    return any(_acts(spark, children.apply(position)) for position in range(children.size()))


def _drop_functions(spark: SparkSession) -> None:
    catalog = session_state(spark).catalog()
    for name in ESCAPING_FUNCTIONS:
        catalog.dropTempFunction(name, _IF_IT_EXISTS)
