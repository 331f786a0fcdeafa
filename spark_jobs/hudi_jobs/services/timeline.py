"""A table's timeline as a table service sees it: what is pending, and what has completed."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.contract import OPERATOR_KEY, RUN_KEY, TABLE_KEY
from hudi_jobs.jvm import JavaObject, classes, elements
from hudi_jobs.table import REPLACE_ACTION, HudiTable


class InstantState(StrEnum):
    """How far an instant that has not completed has come."""

    REQUESTED = "REQUESTED"
    INFLIGHT = "INFLIGHT"


@dataclass(frozen=True)
class Pending:
    """A plan that has not completed; `run` is the run that it names, if any, with whose that is."""

    instant: str
    state: InstantState
    run: str | None = None
    table_uid: str | None = None
    operator: str | None = None


@dataclass(frozen=True)
class Begun:
    """Any instant that has not completed; `plan` is what a plan of a service says of whose it is."""

    instant: str
    action: str
    plan: Pending | None = None


@dataclass(frozen=True)
class PendingRollback:
    """A rollback that has not completed, and the instant that it rolls back."""

    instant: str
    target: str


@dataclass(frozen=True)
class Savepoint:
    """A savepoint by its commit's instant, with who made it and why."""

    instant: str
    user: str
    comment: str


@dataclass(frozen=True)
class Clean:
    """A clean that is planned or has completed; `keeps_from` is the oldest commit whose files it keeps, if it says.

    One that keeps a number of versions names none: it keeps what the newest commit shows that it knew.
    """

    instant: str
    keeps_from: str | None


@dataclass(frozen=True)
class Written:
    """What a completed commit says: who made it and how much it wrote and replaced."""

    run: str | None
    files_written: int
    bytes_written: int
    file_groups: int


class Timeline:
    """One read of the active timeline of a table; look again to see what has changed."""

    def __init__(self, spark: SparkSession, table: HudiTable) -> None:
        self._spark = spark
        self._table = table
        self.meta = table.meta
        self._active = table.meta.getActiveTimeline()

    def pending_compactions(self) -> list[Pending]:
        """Compaction plans, oldest first."""
        read = classes(self._spark).org.apache.hudi.common.util.CompactionUtils.getCompactionPlan
        instants = self._active.filterPendingCompactionTimeline().getInstants()
        return _pending(elements(instants), lambda each: read(self.meta, each.requestedTime()))

    def pending_clusterings(self) -> list[Pending]:
        """Clustering plans, oldest first."""
        utilities = classes(self._spark).org.apache.hudi.common.util.ClusteringUtils
        return _pending(elements(utilities.getPendingClusteringInstantTimes(self.meta)), self._requested_replace)

    def begun(self) -> list[Begun]:
        """Return what has not completed, oldest first; no savepoints, which have the times of their commits.

        Before table version 8 a clustering is told from a write by its plan alone; one that nobody can read has none.
        """
        clusterings = _pending(self._readable_clusterings(), self._requested_replace)
        plans = {each.instant: each for each in (*self.pending_compactions(), *clusterings)}
        found = self._active.filterInflightsAndRequested().getInstants()
        pairs = sorted({(str(each.requestedTime()), str(each.getAction())) for each in elements(found)})
        return [Begun(time, action, plans.get(time)) for time, action in pairs if action != "savepoint"]

    def _readable_clusterings(self) -> list[JavaObject]:
        is_clustering = classes(self._spark).org.apache.hudi.common.util.ClusteringUtils.isClusteringInstant
        found = []
        for each in elements(self._active.filterPendingReplaceOrClusteringTimeline().getInstants()):
            with suppress(Py4JJavaError):
                if is_clustering(self._active, each, self.meta.getInstantGenerator()):
                    found.append(each)
        return found

    def unfinished_writes(self) -> list[str]:
        """Return the requested times of commits that have begun and not completed, services not counted."""
        timeline = self._active.getCommitsTimeline().filterPendingExcludingCompaction()
        utilities = classes(self._spark).org.apache.hudi.common.util.ClusteringUtils
        services = {
            str(each.requestedTime()) for each in elements(utilities.getPendingClusteringInstantTimes(self.meta))
        }
        times = [str(instant.requestedTime()) for instant in elements(timeline.getInstants())]
        return [time for time in times if time not in services]

    def unfinished_rollbacks(self) -> list[PendingRollback]:
        """Return rollbacks that have not completed; one whose plan cannot be read is of no use to anybody."""
        read = classes(self._spark).org.apache.hudi.table.action.rollback.RollbackUtils.getRollbackPlan
        found = []
        for each in elements(self._active.filterPendingRollbackTimeline().getInstants()):
            with suppress(Py4JJavaError):
                target = read(self.meta, each).getInstantToRollback().getCommitTime()
                found.append(PendingRollback(str(each.requestedTime()), str(target)))
        return found

    def drop_rollbacks_of(self, instants: Collection[str]) -> None:
        """Remove rollbacks that have not completed, of instants that are gone: a run was killed at the end of them.

        `BaseRestoreActionExecutor.finishRestore` does so with all rollbacks; Hudi finishes none of a compaction.
        """
        state = classes(self._spark).org.apache.hudi.common.table.timeline.HoodieInstant.State.REQUESTED
        stale = {each.instant for each in self.unfinished_rollbacks() if each.target in instants}
        for each in elements(self._active.filterPendingRollbackTimeline().getInstants()):
            if str(each.requestedTime()) in stale:
                if each.isInflight():
                    self._active.deletePending(each)
                generator = self.meta.getInstantGenerator()
                self._active.deletePending(generator.createNewInstant(state, each.getAction(), each.requestedTime()))

    def unfinished_cleans(self) -> list[str]:
        """Return the requested times of cleans that have not completed, oldest first."""
        instants = self._active.getCleanerTimeline().filterInflightsAndRequested().getInstants()
        return sorted(str(each.requestedTime()) for each in elements(instants))

    def unfinished_restores(self) -> list[str]:
        """Return the requested times of restores that have not completed, oldest first."""
        instants = self._active.getRestoreTimeline().filterInflightsAndRequested().getInstants()
        return sorted(str(each.requestedTime()) for each in elements(instants))

    def savepoints(self) -> list[Savepoint]:
        """Return the completed savepoints, oldest commit first."""
        found = []
        for each in elements(self._active.getSavePointTimeline().filterCompletedInstants().getInstants()):
            said = self._active.readSavepointMetadata(each)
            found.append(Savepoint(str(each.requestedTime()), str(said.getSavepointedBy()), str(said.getComments())))
        return found

    def begun_savepoints(self) -> dict[str, str]:
        """Return the files of the savepoints that were begun and have not completed, by the instants of their commits.

        Hudi makes a savepoint pending before it deletes it, too (`SavepointHelpers.deleteSavepoint`).
        """
        folder, names = self.meta.getTimelinePath().toString(), self.meta.getInstantFileNameGenerator()
        begun = elements(self._active.getSavePointTimeline().filterInflightsAndRequested().getInstants())
        return {str(each.requestedTime()): f"{folder}/{names.getFileName(each)}" for each in begun}

    def files_of(self, instant: str) -> tuple[str, ...]:
        """Return the files of an instant that has not completed, as paths below the table."""
        folder, base = str(self.meta.getTimelinePath().toString()), str(self.meta.getBasePath().toString())
        names, below = self.meta.getInstantFileNameGenerator(), folder.removeprefix(f"{base}/")
        requested = classes(self._spark).org.apache.hudi.common.table.timeline.HoodieInstant.State.REQUESTED
        generator, found = self.meta.getInstantGenerator(), set[str]()
        for each in elements(self._active.filterInflightsAndRequested().getInstants()):
            if str(each.requestedTime()) == instant:
                plan = generator.createNewInstant(requested, each.getAction(), instant)
                found |= {f"{below}/{names.getFileName(each)}", f"{below}/{names.getFileName(plan)}"}
        return tuple(sorted(found))

    def cleans(self) -> list[Clean]:
        """Return the cleans of the active timeline, those that have not completed too."""
        requested = classes(self._spark).org.apache.hudi.common.table.timeline.HoodieInstant.State.REQUESTED
        generator, found = self.meta.getInstantGenerator(), []
        for each in elements(self._active.getCleanerTimeline().getInstants()):
            time = str(each.requestedTime())
            if each.isCompleted():
                said = self._active.readCleanMetadata(each)
                keeps = said.getEarliestCommitToRetain()
            else:
                said = self._active.readCleanerPlan(generator.createNewInstant(requested, each.getAction(), time))
                earliest = said.getEarliestInstantToRetain()
                keeps = earliest.getTimestamp() if earliest is not None else None
            known = keeps or said.getLastCompletedCommitTimestamp()
            found.append(Clean(time, str(known) if known else None))
        return found

    def files_cleaned(self, after: str) -> int:
        """Return how many files the completed cleans have removed that were requested after an instant.

        Of one that was ended and gone on with, those that were gone by then count as well.
        """
        cleans = elements(self._active.getCleanerTimeline().filterCompletedInstants().getInstants())
        said = (self._active.readCleanMetadata(each) for each in cleans if str(each.requestedTime()) > after)
        return sum(len(part.getDeletePathPatterns()) for each in said for part in each.getPartitionMetadata().values())

    def commits(self) -> set[str]:
        """Return the requested times of all completed commits of the active timeline."""
        commits = self._active.getCommitsTimeline().filterCompletedInstants().getInstants()
        return {str(each.requestedTime()) for each in elements(commits)}

    def drop_begun_savepoint(self, instant: str) -> None:
        """Remove what a run that was ended while it made or deleted a savepoint has left of it.

        Hudi would begin no other one, and would make no metadata table beside it.
        """
        for each in elements(self._active.getSavePointTimeline().filterInflightsAndRequested().getInstants()):
            if str(each.requestedTime()) == instant:
                self._active.deletePending(each)

    def newest_commit(self) -> str | None:
        """Return the requested time of the newest completed commit, or None where nothing has been committed."""
        commits = self._active.getCommitsTimeline().filterCompletedInstants().getInstants()
        return max((str(each.requestedTime()) for each in elements(commits)), default=None)

    def newest_instant(self) -> str:
        """Return the requested time of the newest instant of any kind and state, or nothing where there is none."""
        return max((str(each.requestedTime()) for each in self._active.getInstants()), default="")

    def has_writes_after(self, instant: str) -> bool:
        """Tell whether a commit has completed since a plan to replace files was requested."""
        requested = min(instant, self._table.times_of_requests(REPLACE_ACTION).get(instant, instant))
        commits = elements(self._active.getCommitsTimeline().filterCompletedInstants().getInstants())
        times = (max(str(each.requestedTime()), str(each.getCompletionTime())) for each in commits)
        return any(time > requested for time in times)

    def completed(self) -> list[tuple[str, str]]:
        """Return the requested times and actions of all completed instants, oldest first."""
        instants = self._active.filterCompletedInstants().getInstants()
        return sorted((str(instant.requestedTime()), str(instant.getAction())) for instant in elements(instants))

    def _requested_replace(self, instant: JavaObject) -> JavaObject:
        requested = classes(self._spark).org.apache.hudi.common.table.timeline.HoodieInstant.State.REQUESTED
        generator = self.meta.getInstantGenerator()
        plan = generator.createNewInstant(requested, instant.getAction(), instant.requestedTime())
        return self._active.readRequestedReplaceMetadata(plan)

    def written_by(self, instant: str) -> Written | None:
        """Return what the completed commit of an instant says, or None where it has not completed."""
        timeline = self._active.getCommitsTimeline().filterCompletedInstants()
        found = [each for each in elements(timeline.getInstants()) if str(each.requestedTime()) == instant]
        return _written(timeline, found[0]) if found else None


def _pending(instants: list[JavaObject], read_plan: Callable[[JavaObject], JavaObject]) -> list[Pending]:
    found = [
        Pending(str(each.requestedTime()), InstantState(str(each.getState().name())), *_notes_of(each, read_plan))
        for each in instants
    ]
    return sorted(found, key=lambda pending: pending.instant)


def _notes_of(instant: JavaObject, read_plan: Callable[[JavaObject], JavaObject]) -> list[str | None]:
    """Return the run, the table and the operator that a plan names; a plan that cannot be read names none."""
    try:
        notes = read_plan(instant).getExtraMetadata() or {}
    except Py4JJavaError:
        notes = {}
    values = (notes.get(key) for key in (RUN_KEY, TABLE_KEY, OPERATOR_KEY))
    return [None if value is None else str(value) for value in values]


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
