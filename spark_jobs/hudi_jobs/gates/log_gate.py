"""Whether every key of a table can be found by its index: those in log files alone are not, by most indexes.

Flink, and writers with a bucket or an in-memory index, put new rows into log files. The Bloom and Simple indexes
look into base files only (`HoodieIndex.canIndexLogFiles`), so such rows would be written once more until a compaction
has moved them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.classification import stage
from hudi_jobs.contract import INDEX_KEY, FailureReason, TableTask, TableType
from hudi_jobs.failures import TaskFailed
from hudi_jobs.folder import Folder
from hudi_jobs.jvm import JavaObject, classes, spark_session
from hudi_jobs.table import HudiTable, commit_metadata

_IN_BASE_FILES = frozenset({"Bloom", "Simple", "GlobalBloom", "GlobalSimple"})
_LOG = ".log."


@dataclass
class _Logged:
    """What commits wrote to the log files of a partition: the file groups, and the files that took new rows."""

    groups: set[str] = field(default_factory=set)
    inserts: set[str] = field(default_factory=set)


def require_keys_in_base_files(spark: SparkSession, table: HudiTable, task: TableTask) -> None:
    """Raise `TaskFailed` when rows of other tools lie in log files alone and the declared index does not look there."""
    index = task.hudi_options.get(INDEX_KEY, "")
    if task.table.type is not TableType.MERGE_ON_READ or index not in _IN_BASE_FILES:
        return
    with stage("The table's log files cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        if table.newest_commit_notes(INDEX_KEY):
            return
        found = next(_alone(spark, table), None)
    if found is not None:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table at {task.table.base_path} has rows in log files that no base file holds yet ({found}), as "
            f"writers with another index leave them. The index {index} does not look there, and would write them "
            "again. Let a compaction run first, this operator's or the old tool's, or declare the index of the tool "
            "that wrote them.",
        )


def _alone(spark: SparkSession, table: HudiTable) -> Iterator[str]:
    """Yield log files with keys that may be in no base file."""
    logged = _logged(table)
    if not logged:
        return
    view, newest = _view(spark, table)
    try:
        for partition, written in logged.items():
            for part in _each(view.getLatestMergedFileSlicesBeforeOrOn(partition, newest).iterator()):
                if str(part.getFileId()) in written.groups:
                    names = [str(each.getFileName()) for each in _each(part.getLogFiles().iterator())]
                    has_base = bool(part.getBaseFile().isPresent())
                    yield from (name for name in names if not has_base or name in written.inserts)
    finally:
        view.close()


def _logged(table: HudiTable) -> dict[str, _Logged]:
    timeline = table.meta.getActiveTimeline().getDeltaCommitTimeline().filterCompletedInstants()
    found: dict[str, _Logged] = {}
    folder = Folder(table.base_path)
    for instant in _each(timeline.getInstants().iterator()):
        for stat in _each(commit_metadata(timeline, instant).getWriteStats().iterator()):
            path = str(stat.getPath())
            # Nothing is listed outside of the table, wherever a commit says that it wrote.
            if _LOG in path and folder.partition(str(stat.getPartitionPath())) is not None:
                written = found.setdefault(str(stat.getPartitionPath()), _Logged())
                written.groups.add(str(stat.getFileId()))
                if int(stat.getNumInserts()) > 0:
                    written.inserts.add(path.rpartition("/")[2])
    return found


def _view(spark: SparkSession, table: HudiTable) -> tuple[JavaObject, str]:
    """Return Hudi's view of the files, and its newest instant: slices of a pending compaction count with their base."""
    jvm = classes(spark)
    java = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(spark_session(spark).sparkContext())
    engine = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(java)
    timeline = table.meta.getActiveTimeline().getWriteTimeline()
    views = jvm.org.apache.hudi.common.table.view.HoodieTableFileSystemView
    completed = timeline.filterCompletedInstants().lastInstant().get()
    return (
        views.fileListingBasedFileSystemView(engine, table.meta, timeline.filterCompletedAndCompactionInstants()),
        str(completed.requestedTime()),
    )


def _each(iterator: JavaObject) -> Iterator[JavaObject]:
    while iterator.hasNext():
        yield iterator.next()
