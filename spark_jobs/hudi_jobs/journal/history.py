"""Reads a timeline for a restore: what is undone and what stays, by Hudi's own comparison of instants."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_jobs.spark.jvm import JavaObject, classes, elements, iterated
from hudi_jobs.table import commit_metadata, saved_files
from hudi_jobs.table_services.timeline import Timeline

_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_CLUSTERING, _COMPACTION = "clustering", "compaction"
_SERVICES = frozenset({_CLUSTERING, _COMPACTION, "logcompaction"})


@dataclass(frozen=True)
class Write:
    """An instant that writes rows or rewrites files; `completed` is its completion time, None while pending."""

    instant: str
    action: str
    completed: str | None
    is_service: bool = False


@dataclass(frozen=True)
class Restore:
    """A restore; `target` is None when its plan cannot be read. `undone` are all instants of its plan."""

    instant: str
    target: str | None
    undone: tuple[str, ...] = ()
    is_completed: bool = False


class History:
    """A read of the active timeline, as `RestorePlanActionExecutor` reads it."""

    def __init__(self, spark: SparkSession, timeline: Timeline) -> None:
        self._hudi = classes(spark).org.apache.hudi
        self._meta = timeline.meta
        self._active = timeline.meta.getActiveTimeline()

    @cached_property
    def _found(self) -> list[tuple[Write, JavaObject]]:
        return [(self._write(each), each) for each in self._active.getWriteTimeline().getInstants()]

    @property
    def writes(self) -> list[Write]:
        """Return all writing instants, also pending instants, ordered by request."""
        return sorted((write for write, _ in self._found), key=lambda write: write.instant)

    def completed(self) -> list[Write]:
        """Return the completed commits in Hudi's order of completion."""
        known = {write.instant: write for write in self.writes if write.completed is not None}
        timeline = self._active.getCommitsTimeline().filterCompletedInstants()
        newest_first = timeline.getReverseOrderedInstantsByCompletionTime().iterator()
        return [known[str(each.requestedTime())] for each in iterated(newest_first)][::-1]

    def after(self, target: Write) -> list[Write]:
        """Return the writes that a restore to the commit undoes, the newest request first."""
        comparator = self._hudi.table.action.rollback.RestoreInstantComparatorFactory.createComparator(self._meta)
        state = self._hudi.common.table.timeline.HoodieInstant.State.COMPLETED
        place = self._meta.getInstantGenerator().createNewInstant(state, "restore", target.instant, target.completed)
        gone = [write for write, each in self._found if comparator.compare(each, place) > 0]
        pending = [each for each in self._pending_clusterings() if each > target.instant]
        gone += [write for write in self.writes if write.instant in pending and write not in gone]
        return sorted(gone, key=lambda write: write.instant, reverse=True)

    def actions_of(self, instant: str) -> set[str]:
        """Return the actions of an instant in the active timeline."""
        found = self._active.getInstants()
        return {str(each.getAction()) for each in found if str(each.requestedTime()) == instant}

    def archived_from(self, instant: str) -> set[str]:
        """Return the archived writes from an instant on."""
        archived = self._meta.getArchivedTimeline(instant).getInstants()
        times = {str(each.requestedTime()) for each in archived if str(each.getAction()) in _WRITES}
        return {time for time in times if time >= instant}

    def documents_of(self, writes: Iterable[Write], *, most: int) -> Iterator[str | None]:
        """Yield the metadata of completed writes as JSON; None for a write with more than `most` files."""
        wanted = {write.instant for write in writes if write.completed is not None}
        for write, each in self._found:
            if write.instant in wanted and write.completed is not None:
                metadata = commit_metadata(self._active, each)
                yield str(metadata.toJsonString()) if int(metadata.getWriteStats().size()) <= most else None

    def completed_savepoint(self, instant: str) -> str | None:
        """Return the completion time of a commit's savepoint, or None."""
        for each in self._active.getSavePointTimeline().filterCompletedInstants().getInstants():
            if str(each.requestedTime()) == instant:
                return str(each.getCompletionTime())
        return None

    def files_at(self, target: Write) -> set[str]:
        """Return the paths of files at a commit: those that it wrote, and all that its savepoint lists.

        Without a savepoint, files of older commits are uncertain: they may have been replaced by then.
        """
        found = saved_files(self._active, target.instant)
        for write, each in self._found:
            if write == target:
                stats = elements(commit_metadata(self._active, each).getWriteStats())
                found |= {str(path) for stat in stats if (path := stat.getPath())}
        return found

    def restores(self) -> list[Restore]:
        """Return the restores of the active timeline, oldest first."""
        found = [self._restore(each) for each in self._active.getRestoreTimeline().getInstants()]
        return sorted(found, key=lambda restore: restore.instant)

    def drop_unreadable_restore(self, instant: str) -> None:
        """Remove a restore request without a plan; its run was killed while writing it."""
        for each in self._active.getRestoreTimeline().filterInflightsAndRequested().getInstants():
            if str(each.requestedTime()) == instant:
                self._active.deletePending(each)

    def _restore(self, each: JavaObject) -> Restore:
        time, is_completed = str(each.requestedTime()), bool(each.isCompleted())
        try:
            plan = self._hudi.table.action.restore.RestoreUtils.getRestorePlan(self._meta, each)
        except Py4JJavaError:
            return Restore(time, None, is_completed=is_completed)
        undone = tuple(str(one.getCommitTime()) for one in plan.getInstantsToRollback())
        return Restore(time, str(plan.getSavepointToRestoreTimestamp()), undone, is_completed)

    def _pending_clusterings(self) -> set[str]:
        utilities = self._hudi.common.util.ClusteringUtils
        return {str(each.requestedTime()) for each in utilities.getPendingClusteringInstantTimes(self._meta)}

    def _write(self, each: JavaObject) -> Write:
        action = str(each.getAction())
        completed = str(each.getCompletionTime()) if each.isCompleted() else None
        return Write(str(each.requestedTime()), action, completed, action in _SERVICES or self._is_clustering(each))

    def _is_clustering(self, each: JavaObject) -> bool:
        if str(each.getAction()) != "replacecommit":
            return False
        utilities = self._hudi.common.util.ClusteringUtils
        return bool(utilities.isClusteringInstant(self._active, each, self._meta.getInstantGenerator()))
