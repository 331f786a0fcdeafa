"""Reads a table as of a commit, beside newer commits, cleans and pending instants.

Hudi's own time travel refuses a commit from before the last clean, even with a savepoint, and a commit from after a
pending write (`TimelineUtils.validateTimestampAsOf`). So the relation gets the timeline that a restore to that commit
would leave. Nothing is written.
"""

from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.clock.guard import completions_in_order
from hudi_jobs.context import TaskContext
from hudi_jobs.existing_table.metadata import ENABLED
from hudi_jobs.jvm import JavaObject, classes, frame_of_relation, scala_map, spark_session
from hudi_jobs.table import HudiTable

_AS_OF = "as.of.instant"
_COMPACTION = "compaction"
_NEVER = frozenset({"clean", "restore"})


def rows_as_of(context: TaskContext, instant: str, without: Collection[str]) -> DataFrame:
    """Return the rows at a completed commit; `without` are the later instants, which a restore would undo."""
    spark, base_path = context.spark, context.task.table.base_path
    with completions_in_order(spark, base_path, context.task.hudi_options):
        return _rows_as_of(spark, base_path, instant, without)


def _rows_as_of(spark: SparkSession, base_path: str, instant: str, without: Collection[str]) -> DataFrame:
    table = HudiTable.existing(spark, base_path)
    jvm, meta = classes(spark), table.meta
    given = scala_map(spark, {"path": base_path, ENABLED: "false", _AS_OF: instant})
    options = jvm.org.apache.hudi.DataSourceOptionsHelper.parametersWithReadDefaults(given)
    source = getattr(getattr(jvm.org.apache.hudi, "DefaultSource$"), "MODULE$")
    relation = source.createRelation(spark_session(spark).sqlContext(), meta, None, options)
    # Making the relation has read the timeline again; the files are listed when the rows are read.
    timeline, left = meta.getActiveTimeline(), jvm.java.util.ArrayList()
    for each in timeline.getInstants():
        if _stays(each, instant, without):
            left.add(each)
    timeline.setInstants(left)
    return frame_of_relation(spark, relation)


def _stays(each: JavaObject, instant: str, without: Collection[str]) -> bool:
    """Tell whether the timeline holds an instant after a restore; pending compactions define file slices."""
    time, action = str(each.requestedTime()), str(each.getAction())
    if time in without or action in _NEVER:
        return False
    return bool(each.isCompleted()) or (action == _COMPACTION and time < instant)
