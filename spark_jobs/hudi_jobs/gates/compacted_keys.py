"""Whether a compaction has left keys in log files alone, where the index of the table does not look.

A compaction leaves out the keys that were deleted when it was planned. A writer that finds such a key in the base file
of before writes one that comes back into the log file of its file group. Once the compaction has completed, the key is
in no base file: Bloom and Simple indexes do not find it (`HoodieIndex.canIndexLogFiles`), and Hudi 1.2.0 would write it
once more, into another file group. Another compaction puts it into a base file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason, TableTask
from hudi_jobs.failures.classification import stage
from hudi_jobs.gates.log_gate import Logged, log_files_with, log_stats, looks_in_base_files_alone, name_of
from hudi_jobs.jvm import JavaObject, elements
from hudi_jobs.reading import with_times
from hudi_jobs.table import HudiTable, commit_metadata

_COMPACTION = "COMPACT"


@dataclass(frozen=True)
class _Instant:
    requested: str
    earliest: str
    """When it was requested at the earliest, by its name and by the store, whose clock may be behind."""

    completion: str | None
    """None of one that has not completed."""

    java: JavaObject


def left_in_logs(spark: SparkSession, table: HudiTable, task: TableTask, settled: set[str]) -> str | None:
    """Return a log file with keys that may be in no base file because of a compaction, or None.

    `settled` gathers compactions of which no later look can find anything, so that each is read once.
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

    Beside them the compactions beside which no write is pending any more.
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
    """Tell whether a write may have looked for its keys before the compaction completed, and is not part of it."""
    is_later = write.completion is None or write.completion >= compaction.earliest
    return is_later and write.earliest <= (compaction.completion or "")


def _dropped(timeline: JavaObject, compaction: _Instant) -> set[tuple[str, str]]:
    """Return the file groups, with their partitions, out of which a compaction has left keys."""
    metadata = commit_metadata(timeline, compaction.java)
    if str(metadata.getOperationType()) != _COMPACTION:
        return set()
    stats = elements(metadata.getWriteStats())
    return {(str(each.getPartitionPath()), str(each.getFileId())) for each in stats if int(each.getNumDeletes()) > 0}


def _with_rows(
    table: HudiTable, timeline: JavaObject, write: _Instant, groups: set[tuple[str, str]]
) -> list[JavaObject]:
    """Return what a commit says of log files of these file groups into which it wrote rows, and not only deletes."""
    return [
        stat
        for stat in log_stats(table, commit_metadata(timeline, write.java))
        if (str(stat.getPartitionPath()), str(stat.getFileId())) in groups and int(stat.getNumWrites()) > 0
    ]
