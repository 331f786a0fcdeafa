"""A table's timeline for table services: pending and completed instants."""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.contract import OPERATOR_KEY, RUN_KEY, TABLE_KEY
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.spark.jvm import JavaObject, classes, elements
from hudi_jobs.table import REPLACE_ACTION, HudiTable


class InstantState(StrEnum):
    """The state of a pending instant."""

    REQUESTED = "REQUESTED"
    INFLIGHT = "INFLIGHT"


@dataclass(frozen=True)
class Pending:
    """A pending plan; `run` is the run it names, if any, with its table and operator."""

    instant: str
    state: InstantState
    run: str | None = None
    table_uid: str | None = None
    operator: str | None = None


@dataclass(frozen=True)
class Begun:
    """Any pending instant; `plan` is set if a service plan identifies its owner."""

    instant: str
    action: str
    plan: Pending | None = None


@dataclass(frozen=True)
class PendingRollback:
    """A pending rollback and its target instant."""

    instant: str
    target: str


@dataclass(frozen=True)
class Savepoint:
    """A savepoint, by its commit's instant, with its user and comment."""

    instant: str
    user: str
    comment: str


@dataclass(frozen=True)
class Clean:
    """A planned or completed clean; `keeps_from` is the oldest commit with files that it keeps, if recorded.

    A clean that keeps a number of versions names none: it keeps everything from the newest commit it knew.
    """

    instant: str
    keeps_from: str | None


@dataclass(frozen=True)
class Written:
    """A completed commit's run, and the amount it wrote and replaced."""

    run: str | None
    files_written: int
    bytes_written: int
    file_groups: int


class Timeline:
    """A read of a table's active timeline; read again to see changes."""

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
        """Return pending instants, oldest first, without savepoints, which have their commits' times.

        Before table version 8 only the plan tells a clustering from a write; an unreadable clustering has none.
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
        """Return the requested times of pending commits, without services."""
        timeline = self._active.getCommitsTimeline().filterPendingExcludingCompaction()
        utilities = classes(self._spark).org.apache.hudi.common.util.ClusteringUtils
        services = {
            str(each.requestedTime()) for each in elements(utilities.getPendingClusteringInstantTimes(self.meta))
        }
        times = [str(instant.requestedTime()) for instant in elements(timeline.getInstants())]
        return [time for time in times if time not in services]

    def unfinished_rollbacks(self) -> list[PendingRollback]:
        """Return pending rollbacks, except those with unreadable plans."""
        read = classes(self._spark).org.apache.hudi.table.action.rollback.RollbackUtils.getRollbackPlan
        found = []
        for each in elements(self._active.filterPendingRollbackTimeline().getInstants()):
            with suppress(Py4JJavaError):
                target = read(self.meta, each).getInstantToRollback().getCommitTime()
                found.append(PendingRollback(str(each.requestedTime()), str(target)))
        return found

    def drop_rollbacks_of(self, instants: Collection[str]) -> None:
        """Remove pending rollbacks of vanished instants, left when a run was killed at their end.

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
        """Return the requested times of pending cleans, oldest first."""
        instants = self._active.getCleanerTimeline().filterInflightsAndRequested().getInstants()
        return sorted(str(each.requestedTime()) for each in elements(instants))

    def unfinished_restores(self) -> list[str]:
        """Return the requested times of pending restores, oldest first."""
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
        """Return the files of pending savepoints, as paths below the table, by their commits' instants.

        Hudi also makes a savepoint pending before deleting it (`SavepointHelpers.deleteSavepoint`).
        """
        names = self.meta.getInstantFileNameGenerator()
        begun = elements(self._active.getSavePointTimeline().filterInflightsAndRequested().getInstants())
        return {str(each.requestedTime()): f"{self._within}/{names.getFileName(each)}" for each in begun}

    @property
    def _within(self) -> str:
        """The folder of the active timeline, relative to the table."""
        folder, base = str(self.meta.getTimelinePath().toString()), str(self.meta.getBasePath().toString())
        return folder.removeprefix(beginning_of(base))

    def files_of(self, instant: str) -> tuple[str, ...]:
        """Return the files of a pending instant, as paths below the table."""
        names, below = self.meta.getInstantFileNameGenerator(), self._within
        requested = classes(self._spark).org.apache.hudi.common.table.timeline.HoodieInstant.State.REQUESTED
        generator, found = self.meta.getInstantGenerator(), set[str]()
        for each in elements(self._active.filterInflightsAndRequested().getInstants()):
            if str(each.requestedTime()) == instant:
                plan = generator.createNewInstant(requested, each.getAction(), instant)
                found |= {f"{below}/{names.getFileName(each)}", f"{below}/{names.getFileName(plan)}"}
        return tuple(sorted(found))

    def cleans(self) -> list[Clean]:
        """Return the cleans of the active timeline, including pending cleans."""
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
        """Return the number of files removed by completed cleans requested after an instant.

        For an interrupted and resumed clean, files gone by then count as well.
        """
        cleans = elements(self._active.getCleanerTimeline().filterCompletedInstants().getInstants())
        said = (self._active.readCleanMetadata(each) for each in cleans if str(each.requestedTime()) > after)
        return sum(len(part.getDeletePathPatterns()) for each in said for part in each.getPartitionMetadata().values())

    def commits(self) -> set[str]:
        """Return the requested times of all completed commits of the active timeline."""
        commits = self._active.getCommitsTimeline().filterCompletedInstants().getInstants()
        return {str(each.requestedTime()) for each in elements(commits)}

    def drop_begun_savepoint(self, instant: str) -> None:
        """Remove the remains of a savepoint that an interrupted run was making or deleting.

        Otherwise Hudi would begin no other savepoint, and would not create a metadata table.
        """
        for each in elements(self._active.getSavePointTimeline().filterInflightsAndRequested().getInstants()):
            if str(each.requestedTime()) == instant:
                self._active.deletePending(each)

    def newest_commit(self) -> str | None:
        """Return the requested time of the newest completed commit, or None without a commit."""
        commits = self._active.getCommitsTimeline().filterCompletedInstants().getInstants()
        return max((str(each.requestedTime()) for each in elements(commits)), default=None)

    def newest_instant(self) -> str:
        """Return the requested time of the newest instant of any kind and state, or an empty text."""
        return max((str(each.requestedTime()) for each in self._active.getInstants()), default="")

    def has_writes_after(self, instant: str) -> bool:
        """Tell whether a commit completed after a replace plan was requested."""
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
        """Return the metadata of an instant's completed commit, or None if not completed."""
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
    """Return the run, table and operator named by a plan; None for each if the plan is unreadable."""
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
