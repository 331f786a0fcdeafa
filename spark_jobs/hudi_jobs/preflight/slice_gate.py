"""Checks that Hudi 1.2.0 assigns the log files of a version-6 table to the slices in their names.

An interrupted version change leaves parts of the timeline in both layouts, and is refused.

Where the slices differ, every write is refused: a compaction would drop updates or restore old rows, a clean would
delete log files of the newest slice, and a write would land where readers do not look.
"""

from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.table.layout import (
    SLICES_CURE,
    Completions,
    Difference,
    FileGroups,
    Misplaced,
    half_moved,
    instant_names,
    timeline_folders,
)
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.contract.table.properties import sentence_of
from hudi_jobs.contract.wording import counted
from hudi_jobs.existing_table import ENABLED
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import children_of, located, statuses_below
from hudi_jobs.spark.jvm import JavaObject, classes, elements, frame_of_relation, iterated, scala_map, spark_session
from hudi_jobs.table import HudiTable, read_rows, with_times


def require_one_layout(spark: SparkSession, table: HudiTable) -> None:
    """Raise `TaskFailed` if part of the timeline lies in the folder of the other layout."""
    left = in_other_layout(spark, table)
    if left:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH, f"The table has version {table.version}. {sentence_of(half_moved(left[0]))}"
        )


def in_other_layout(spark: SparkSession, table: HudiTable) -> list[str]:
    """Return the names of instant files in the folder of the other layout."""
    with stage("The table's timeline cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        return instant_files(spark, table.base_path, timeline_folders(table.version)[1])


def instant_files(spark: SparkSession, base_path: str, folder: str) -> list[str]:
    """Return the sorted names of the instant files in a folder."""
    filesystem, place = located(spark, base_path, folder)
    if not filesystem.exists(place):
        return []
    return instant_names(str(each.getPath().getName()) for each in children_of(filesystem, place) if each.isFile())


_COMPACTION = "compaction"
_META_FOLDER = ".hoodie"
_HUDI = "_hoodie_"
_LONGEST_FILE = 300
_LEGACY = True


def require_slices_as_named(context: TaskContext, table: HudiTable) -> None:
    """Raise `TaskFailed` if file times assign log files to other slices than their names.

    A copied table has old log files next to newer base files. Services and ingestion continue if every row reads the
    same by names; an operation does not, because it returns to older slices.
    """
    if table.version >= LAYOUT_2_FROM or str(table.meta.getTableType().name()) != "MERGE_ON_READ":
        return
    spark, options = context.spark, context.task.hudi_options
    with (
        stage("The file slices of the table cannot be compared", otherwise=FailureReason.HUDI_ERROR),
        with_times(spark, table, options) as timed,
    ):
        times = completions_of(timed)
        found = [*file_groups_of(spark, timed).misplaced(times)] if times.may_mislead else []
        if not found:
            return
        only_later = all(one.kind is Difference.LATER for one in found)
        if context.asked_operation is None and only_later and not times.begun_within(found):
            seen = read_rows(spark, table.base_path, options, **{ENABLED: "false"})
            if context.compared.issuperset(found) or _are_same(seen, rows_by_names(spark, timed)):
                context.compared.update(found)
                return
    raise TaskFailed(FailureReason.FILE_SLICES_UNCERTAIN, explain(table.base_path, found, times))


def completions_of(table: HudiTable) -> Completions:
    """Return the completion times of a table's writes; the table was opened by `reading.with_times`."""
    timeline = table.meta.getActiveTimeline().getWriteTimeline()
    every = elements(timeline.getInstants())
    first = timeline.getFirstNonSavepointCommit()
    begun = {str(one.requestedTime()): str(one.getAction()) for one in every if not one.isCompleted()}
    return Completions(
        completed={str(one.requestedTime()): str(one.getCompletionTime()) for one in every if one.isCompleted()},
        pending=frozenset(time for time, action in begun.items() if action != _COMPACTION),
        planned=frozenset(time for time, action in begun.items() if action == _COMPACTION),
        first=str(first.get().requestedTime()) if first.isPresent() else "",
    )


def file_groups_of(spark: SparkSession, table: HudiTable) -> FileGroups:
    """Return the file groups of a table, from its listing and the plans of pending compactions."""
    filesystem, folder = located(spark, table.base_path)
    root = beginning_of(str(filesystem.makeQualified(folder).toString()))
    groups = FileGroups()
    for status in statuses_below(filesystem, folder):
        within, _, name = str(status.getPath().toString()).removeprefix(root).rpartition("/")
        if within.partition("/")[0] != _META_FOLDER:
            groups.add(within, name)
    plans = classes(spark).org.apache.hudi.common.util.CompactionUtils.getAllPendingCompactionOperations(table.meta)
    for each in iterated(plans.entrySet().iterator()):
        group = each.getKey()
        groups.plan(str(group.getPartitionPath()), str(group.getFileId()), str(each.getValue().getKey()))
    return groups


def rows_by_names(spark: SparkSession, table: HudiTable) -> DataFrame:
    """Return the rows of a table with each log file in the slice of its name.

    The relation gets a timeline in which each instant completed when it was requested, as Hudi itself assumes for
    archived instants. Creating the relation has read the timeline again; its files are listed when the rows are read.
    """
    jvm, meta = classes(spark), HudiTable.existing(spark, table.base_path).meta
    given = scala_map(spark, {"path": table.base_path, ENABLED: "false"})
    options = jvm.org.apache.hudi.DataSourceOptionsHelper.parametersWithReadDefaults(given)
    source = getattr(getattr(jvm.org.apache.hudi, "DefaultSource$"), "MODULE$")
    relation = source.createRelation(spark_session(spark).sqlContext(), meta, None, options)
    timeline, generator, instants = meta.getActiveTimeline(), meta.getInstantGenerator(), jvm.java.util.ArrayList()
    for each in timeline.getInstants():
        instants.add(_completed_at_once(generator, each))
    timeline.setInstants(instants)
    return frame_of_relation(spark, relation)


def _completed_at_once(generator: JavaObject, instant: JavaObject) -> JavaObject:
    if not instant.isCompleted():
        return instant
    time = instant.requestedTime()
    return generator.createNewInstant(instant.getState(), instant.getAction(), time, time, _LEGACY)


def _are_same(seen: DataFrame, named: DataFrame) -> bool:
    """Tell whether two frames hold the same rows with the same counts."""
    names = [name for name in seen.columns if not name.startswith(_HUDI)]
    row = sf.xxhash64(*(sf.to_json(sf.struct(column_named(name).alias("value"))) for name in names)).alias("row")
    signed = [frame.select(row, sf.lit(sign).alias("sign")) for frame, sign in ((seen, 1), (named, -1))]
    left = signed[0].unionByName(signed[1]).groupBy("row").agg(sf.sum("sign").alias("left"))
    return left.where("left != 0").isEmpty()


def explain(base_path: str, found: Collection[Misplaced], times: Completions) -> str:
    """Return the message: the uncertainty, its cause, and the remedy."""
    first = min(found, key=lambda one: (one.kind, one.file))
    by_time = times.completed.get(first.named, "no known time")
    where = f"to the {'older' if first.kind is Difference.EARLIER else 'newer'} slice {first.found}"
    return (
        f"By the time of its file, instant {first.named} of {base_path} completed at {by_time}, so Hudi 1.2.0 counts "
        f"{first.file[-_LONGEST_FILE:]} {where}; its name says {first.named}. This concerns "
        f"{counted(len(found), 'file')}. A store with whole seconds, a clock that differs, or a copy of the table does "
        f"so. Nothing was deleted or written, because updates would be lost. {SLICES_CURE}."
    )
