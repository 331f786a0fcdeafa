"""The table owner's SQL over the view `source`: a query that computes rows, and does and reads nothing else.

The plan is checked twice before anything runs: as parsed, when nothing has been looked up yet, and as resolved, in a
session that knows only the view.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures.causes import causes_of
from hudi_jobs.failures.classification import stage
from hudi_jobs.jvm import JavaObject, frame_of, parsed_plan, resolved_plan
from hudi_jobs.query.plan import PlanReader
from hudi_jobs.query.rules import QueryRules, require_parsable, too_large
from hudi_jobs.query.session import bare_session

VIEW = "source"

_TOO_LARGE = frozenset({"java.lang.StackOverflowError", "java.lang.IllegalStateException: PLAN_TOO_LARGE"})


def apply_transform(spark: SparkSession, rows: DataFrame, sql: str | None) -> DataFrame:
    """Return the rows of the query, or the rows themselves without a query."""
    if sql is None:
        return rows
    with stage("The transform is not valid", otherwise=FailureReason.TRANSFORM_INVALID):
        try:
            frame = frame_of(spark, _resolved(spark, rows, sql))
            # Types that PySpark does not know, such as intervals, fail here.
            _ = frame.schema
        except Exception as error:
            if any({cause.kind, f"{cause.kind}: {cause.message}"} & _TOO_LARGE for cause in causes_of(error)):
                raise too_large() from error
            raise
    return frame


def computed(before: DataFrame, after: DataFrame, names: Sequence[str]) -> frozenset[str]:
    """Return the columns that the query computes itself instead of passing the view's own through."""
    return frozenset(name for name in names if name in after.columns and _id(after, name) != _id(before, name))


def _id(frame: DataFrame, name: str) -> int | None:
    """Return the id by which Spark recognises a column, whatever rows are left out."""
    return int(frame._jdf.apply(name).expr().exprId().id()) if name in frame.columns else None  # noqa: SLF001


def _resolved(spark: SparkSession, rows: DataFrame, sql: str) -> JavaObject:
    require_parsable(sql)
    rules = QueryRules(VIEW, case_sensitive=spark.conf.get("spark.sql.caseSensitive") == "true")
    reader = PlanReader(spark)
    parsed = parsed_plan(spark, sql)
    rules.require_parsed(reader.read(parsed))
    resolved = resolved_plan(bare_session(spark, VIEW, rows), parsed)
    rules.require_resolved(reader.read(resolved))
    return resolved
