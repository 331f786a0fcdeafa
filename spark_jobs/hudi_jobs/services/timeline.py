"""A table's timeline as a table service sees it: what is pending, and what has completed."""

from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import SparkSession

from hudi_jobs.contract import RUN_KEY
from hudi_jobs.jvm import JavaObject, classes
from hudi_jobs.table import HudiTable


class InstantState(StrEnum):
    """How far an instant that has not completed has come."""

    REQUESTED = "REQUESTED"
    INFLIGHT = "INFLIGHT"


@dataclass(frozen=True)
class Pending:
    """A plan that has not completed."""

    instant: str
    state: InstantState


@dataclass(frozen=True)
class Written:
    """What a completed commit says: who made it and how much it wrote and replaced."""

    run: str | None
    files_written: int
    bytes_written: int
    file_groups: int


class Timeline:
    """One look at the active timeline of a table; look again to see what has changed."""

    def __init__(self, spark: SparkSession, table: HudiTable) -> None:
        self._spark = spark
        self.meta = table.meta
        self._active = table.meta.getActiveTimeline()

    def pending_compactions(self) -> list[Pending]:
        """Compaction plans, oldest first."""
        return _pending(self._active.filterPendingCompactionTimeline().getInstants())

    def pending_clusterings(self) -> list[Pending]:
        """Clustering plans, oldest first."""
        utilities = classes(self._spark).org.apache.hudi.common.util.ClusteringUtils
        return _pending(utilities.getPendingClusteringInstantTimes(self.meta))

    def unfinished_writes(self) -> list[str]:
        """Return the requested times of commits that have begun and not completed, services not counted."""
        timeline = self._active.getCommitsTimeline().filterPendingExcludingCompaction()
        services = {pending.instant for pending in self.pending_clusterings()}
        times = [str(instant.requestedTime()) for instant in timeline.getInstants()]
        return [time for time in times if time not in services]

    def has_writes_after(self, instant: str) -> bool:
        """Tell whether a commit has completed since an instant was requested."""
        commits = self._active.getCommitsTimeline().filterCompletedInstants().getInstants()
        return any(str(commit.getCompletionTime()) > instant for commit in commits)

    def completed(self) -> list[tuple[str, str]]:
        """Return the requested times and actions of all completed instants, oldest first."""
        instants = self._active.filterCompletedInstants().getInstants()
        return sorted((str(instant.requestedTime()), str(instant.getAction())) for instant in instants)

    def written_by(self, instant: str) -> Written | None:
        """Return what the completed commit of an instant says, or None where it has not completed."""
        timeline = self._active.getCommitsTimeline().filterCompletedInstants()
        found = [each for each in timeline.getInstants() if str(each.requestedTime()) == instant]
        return _written(timeline, found[0]) if found else None


def _pending(instants: JavaObject) -> list[Pending]:
    found = [Pending(str(each.requestedTime()), InstantState(str(each.getState().name()))) for each in instants]
    return sorted(found, key=lambda pending: pending.instant)


def _written(timeline: JavaObject, instant: JavaObject) -> Written:
    if str(instant.getAction()) == "replacecommit":
        metadata = timeline.readReplaceCommitMetadata(instant)
        groups = sum(len(ids) for ids in metadata.getPartitionToReplaceFileIds().values())
    else:
        metadata = timeline.readCommitMetadata(instant)
        groups = len(metadata.getWriteStats())
    run = metadata.getMetadata(RUN_KEY)
    return Written(
        run=None if run is None else str(run),
        files_written=len(metadata.getWriteStats()),
        bytes_written=int(metadata.fetchTotalBytesWritten()),
        file_groups=groups,
    )
