"""The table owner's SQL over the view `source`: a query, and nothing that acts or looks elsewhere."""

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.classification import stage
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.jvm import JavaObject, classes, is_a, session_state

VIEW = "source"

_CATALYST = "org.apache.spark.sql.catalyst"
_ACTING_PLANS = (
    f"{_CATALYST}.plans.logical.Command",
    f"{_CATALYST}.plans.logical.ParsedStatement",
    f"{_CATALYST}.plans.logical.ScriptTransformation",
)
_ESCAPING_FUNCTIONS = ("reflect", "java_method", "try_reflect")
"""They call any static Java method, so they could read the driver's environment."""


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
    registry = session_state(spark).functionRegistry()
    identifier = classes(spark).org.apache.spark.sql.catalyst.FunctionIdentifier
    for name in _ESCAPING_FUNCTIONS:
        registry.dropFunction(identifier(name))
