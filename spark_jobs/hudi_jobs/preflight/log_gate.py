"""Checks that the table's index finds every key: most indexes miss keys that are only in log files.

Flink, and writers with a bucket or an in-memory index, put new rows into log files. The Bloom and Simple indexes look
only into base files (`HoodieIndex.canIndexLogFiles`), so these rows would be written again until a compaction has moved
them.

A compaction leaves out keys that were deleted when it was planned. A writer that finds such a key in the earlier base
file writes a returning row into the log file of its file group. Once the compaction has completed, the key is in no
base file: Bloom and Simple indexes do not find it (`HoodieIndex.canIndexLogFiles`), and Hudi 1.2.0 would write it
again, into another file group. Another compaction puts it into a base file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.contract import INDEX_KEY, FailureReason, TableType, Task
from hudi_jobs.existing_table import has_record_index
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import Folder
from hudi_jobs.spark.jvm import JavaObject, elements, iterated
from hudi_jobs.table import HudiTable, commit_metadata, with_times

_IN_BASE_FILES = frozenset({"Bloom", "Simple", "GlobalBloom", "GlobalSimple"})
_BY_RECORD_KEY = frozenset({"RecordLevel", "GlobalRecordLevel"})
"""Index types that look into the metadata table, or, without such an index there, into base files."""
_LOG = ".log."


def looks_in_base_files_alone(table: HudiTable, task: Task) -> bool:
    """Tell whether the declared index misses keys that are only in log files."""
    index = task.hudi_options.get(INDEX_KEY, "")
    falls_back = index in _BY_RECORD_KEY and not has_record_index(table.properties)
    return task.table.type is TableType.MERGE_ON_READ and (index in _IN_BASE_FILES or falls_back)


@dataclass
class Logged:
    """The log writes of a partition: its file groups, and the files that took new rows."""

    groups: set[str] = field(default_factory=set)
    inserts: set[str] = field(default_factory=set)


def require_keys_in_base_files(spark: SparkSession, table: HudiTable, task: Task) -> None:
    """Raise `TaskFailed` when other tools left rows only in log files, and the declared index misses them."""
    if not looks_in_base_files_alone(table, task):
        return
    with stage("The table's log files cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        if table.newest_commit_notes(INDEX_KEY):
            return
        with with_times(spark, table, task.hudi_options) as timed:
            found = next(log_files_with(timed, _logged(timed), or_without_base=True), None)
    if found is not None:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table at {task.table.base_path} has rows that are only in log files ({found}), as writers with "
            f"another index leave them. The index {task.hudi_options[INDEX_KEY]} does not search log files and would "
            "write those rows again. Run a compaction first, with this operator or the old tool, or declare the "
            "index of the tool that wrote them.",
        )


def log_files_with(table: HudiTable, logged: Mapping[str, Logged], *, or_without_base: bool) -> Iterator[str]:
    """Yield log files of the newest file slices that took new rows, or that lack a base file.

    The table needs completion times that compare with instants (`with_times`).
    """
    if not logged:
        return
    completed = table.meta.getActiveTimeline().getWriteTimeline().filterCompletedInstants()
    newest, view = str(completed.lastInstant().get().requestedTime()), table.listed_view()
    try:
        for partition, written in logged.items():
            for part in iterated(view.getLatestMergedFileSlicesBeforeOrOn(partition, newest).iterator()):
                if str(part.getFileId()) in written.groups:
                    names = [str(each.getFileName()) for each in iterated(part.getLogFiles().iterator())]
                    has_base = bool(part.getBaseFile().isPresent())
                    is_all = or_without_base and not has_base
                    yield from (name for name in names if is_all or name in written.inserts)
    finally:
        view.close()


def _logged(table: HudiTable) -> dict[str, Logged]:
    timeline = table.meta.getActiveTimeline().getDeltaCommitTimeline().filterCompletedInstants()
    found: dict[str, Logged] = {}
    for instant in iterated(timeline.getInstants().iterator()):
        for stat in log_stats(table, commit_metadata(timeline, instant)):
            written = found.setdefault(str(stat.getPartitionPath()), Logged())
            written.groups.add(str(stat.getFileId()))
            if int(stat.getNumInserts()) > 0:
                written.inserts.add(name_of(stat))
    return found


def log_stats(table: HudiTable, metadata: JavaObject) -> Iterator[JavaObject]:
    """Yield a commit's statistics for each log file, except paths outside the table."""
    folder = Folder(table.base_path)
    for stat in iterated(metadata.getWriteStats().iterator()):
        if _LOG in str(stat.getPath()) and folder.partition(str(stat.getPartitionPath())) is not None:
            yield stat


def name_of(stat: JavaObject) -> str:
    """Return the file name in a commit's statistics."""
    return str(stat.getPath()).rpartition("/")[2]


_COMPACTION = "COMPACT"


@dataclass(frozen=True)
class _Instant:
    requested: str
    earliest: str
    """The earliest request time, by its name and by the store, whose clock may be behind."""

    completion: str | None
    """None if not completed."""

    java: JavaObject


def left_in_logs(spark: SparkSession, table: HudiTable, task: Task, settled: set[str]) -> str | None:
    """Return a log file with keys that a compaction may have left out of base files, or None.

    `settled` collects compactions that no later look can concern, so that each is read once.
    """
    if not looks_in_base_files_alone(table, task):
        return None
    with (
        stage("The keys that compactions left in log files cannot be read", otherwise=FailureReason.HUDI_ERROR),
        with_times(spark, table, task.hudi_options) as timed,
    ):
        logged, read = _written_beside_compactions(timed, settled)
        found = next(log_files_with(timed, logged, or_without_base=False), None)
    if found is None:
        settled |= read
    return found


def _written_beside_compactions(table: HudiTable, settled: set[str]) -> tuple[dict[str, Logged], set[str]]:
    """Return the log files that took rows while a compaction dropped keys of their file group.

    Also returns the compactions without concurrent pending writes.
    """
    timeline = table.meta.getActiveTimeline()
    completed = timeline.getCommitTimeline().filterCompletedInstants()
    if all(str(each.requestedTime()) in settled for each in elements(completed.getInstants())):
        return {}, set()
    times = table.times_of_requests("compaction", "deltacommit")
    compactions = [one for one in _instants(completed, times) if one.requested not in settled]
    writes = [*_instants(timeline.getDeltaCommitTimeline(), times)]
    found: dict[str, Logged] = {}
    read: set[str] = set()
    for compaction in compactions:
        beside = [one for one in writes if _is_beside(one, compaction)]
        ended = [one for one in beside if one.completion is not None]
        dropped = _dropped(completed, compaction) if ended else set()
        if len(ended) == len(beside):
            read.add(compaction.requested)
        for stat in (stat for one in ended if dropped for stat in _with_rows(table, timeline, one, dropped)):
            logged = found.setdefault(str(stat.getPartitionPath()), Logged())
            logged.groups.add(str(stat.getFileId()))
            logged.inserts.add(name_of(stat))
    return found, read


def _instants(timeline: JavaObject, times: Mapping[str, str]) -> Iterator[_Instant]:
    for each in elements(timeline.getInstants()):
        name, completion = str(each.requestedTime()), str(each.getCompletionTime()) if each.isCompleted() else None
        yield _Instant(name, min(name, times.get(name, name)), completion, each)


def _is_beside(write: _Instant, compaction: _Instant) -> bool:
    """Tell whether a write outside the compaction may have looked up its keys before it completed."""
    is_later = write.completion is None or write.completion >= compaction.earliest
    return is_later and write.earliest <= (compaction.completion or "")


def _dropped(timeline: JavaObject, compaction: _Instant) -> set[tuple[str, str]]:
    """Return the partitions and file groups in which a compaction dropped keys."""
    metadata = commit_metadata(timeline, compaction.java)
    if str(metadata.getOperationType()) != _COMPACTION:
        return set()
    stats = elements(metadata.getWriteStats())
    return {(str(each.getPartitionPath()), str(each.getFileId())) for each in stats if int(each.getNumDeletes()) > 0}


def _with_rows(
    table: HudiTable, timeline: JavaObject, write: _Instant, groups: set[tuple[str, str]]
) -> list[JavaObject]:
    """Return a commit's statistics for log files of these file groups that received rows, not only deletes."""
    return [
        stat
        for stat in log_stats(table, commit_metadata(timeline, write.java))
        if (str(stat.getPartitionPath()), str(stat.getFileId())) in groups and int(stat.getNumWrites()) > 0
    ]
