"""Detects keys that a compaction left only in log files, where the table's index does not look.

A compaction leaves out keys that were deleted when it was planned. A writer that finds such a key in the earlier base
file writes a returning row into the log file of its file group. Once the compaction has completed, the key is in no
base file: Bloom and Simple indexes do not find it (`HoodieIndex.canIndexLogFiles`), and Hudi 1.2.0 would write it
again, into another file group. Another compaction puts it into a base file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason, Task
from hudi_jobs.failures.classification import stage
from hudi_jobs.jvm import JavaObject, elements
from hudi_jobs.preflight.log_gate import Logged, log_files_with, log_stats, looks_in_base_files_alone, name_of
from hudi_jobs.reading import with_times
from hudi_jobs.table import HudiTable, commit_metadata

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
