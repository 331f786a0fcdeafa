"""Reads snapshots of timelines in threads, so that a silent store blocks nothing else."""

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Protocol

from hudi_jobs.contract import Location
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.snapshots.pool import StorePool, counted
from hudi_operator.control.snapshots.reading import (
    NO_QUESTIONS,
    Questions,
    read_catalog,
    read_owner,
    read_progress,
    read_run_progress,
    read_snapshot,
    read_told,
)
from hudi_operator.planning.model import TimelineSnapshot, TimelineTrouble
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.timeline import (
    ContentCache,
    ContentTooLarge,
    CorruptContent,
    NotAHudiTable,
    TableUnreadable,
    Timeline,
    TimelineReader,
    UnreadableCause,
)
from hudi_operator.timeline.files.reading import HeavyFiles, ReadBudget
from hudi_operator.timeline.model import ReadBudgetSpent

_TROUBLES = {
    UnreadableCause.NOT_FOUND: TimelineTrouble.NOT_FOUND,
    UnreadableCause.ACCESS_DENIED: TimelineTrouble.ACCESS_DENIED,
    UnreadableCause.UNREACHABLE: TimelineTrouble.UNREACHABLE,
    UnreadableCause.CORRUPT: TimelineTrouble.CORRUPT,
    UnreadableCause.UNSUPPORTED: TimelineTrouble.UNSUPPORTED,
    UnreadableCause.TOO_LARGE: TimelineTrouble.TOO_LARGE,
}


class Snapshots(Protocol):
    """Reads timelines for a reconcile; implemented by `SnapshotReader`."""

    async def read(
        self,
        location: Location,
        store: ObjectStore | None,
        /,
        *,
        namespace: str = "",
        questions: Questions = NO_QUESTIONS,
    ) -> TimelineSnapshot:
        """Read a table; store failures are part of the result, never raised."""

    async def fingerprint(self, location: Location, store: ObjectStore | None, /, *, namespace: str = "") -> int | None:
        """Return the current `fingerprint` of a timeline, or None if it cannot be read."""


class SnapshotReader:
    """Reads timelines for the reconciler; a single instance and cache serve all tables of the process."""

    def __init__(self, pool: StorePool | None = None) -> None:
        self.pool = pool or StorePool()
        self._cache = ContentCache()
        self._heavy = HeavyFiles()

    async def read(
        self,
        location: Location,
        store: ObjectStore | None,
        *,
        namespace: str = "",
        questions: Questions = NO_QUESTIONS,
    ) -> TimelineSnapshot:
        """Read a table; store failures are part of the result, never raised.

        The read is charged to the namespace.
        """
        started = perf_counter()
        read = partial(self._read, location, store, namespace=namespace, questions=questions)
        found = await self.pool.run(location, store, namespace, read)
        snapshot = (
            TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message=found) if isinstance(found, str) else found
        )
        result = "success" if snapshot.trouble is None else snapshot.trouble.value
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return snapshot

    async def fingerprint(self, location: Location, store: ObjectStore | None, *, namespace: str = "") -> int | None:
        """Return the current `fingerprint` of a timeline, or None if it cannot be read.

        Costs one listing if the timeline is unchanged since this process last read it.
        """
        started = perf_counter()
        read = partial(self._read_fingerprint, location, store, namespace=namespace)
        found = await self.pool.run(location, store, namespace, read)
        number = found if isinstance(found, int) else None
        result = "success" if number is not None else "unreadable"
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return number

    def close(self) -> None:
        """Take no further reads; reads in progress end with their own time limits."""
        self.pool.close()

    def timeline_reader(self, filesystem: FileSystem, namespace: str) -> TimelineReader:
        """Return a reader with the shared cache, charged to the namespace."""
        budget = ReadBudget(heavy=lambda: self._heavy.of(namespace))
        return TimelineReader(filesystem, self._cache.share(namespace), budget=budget)

    def _read_fingerprint(self, location: Location, store: ObjectStore | None, *, namespace: str) -> int | None:
        try:
            filesystem = self.pool.open(location, store, namespace)
            with counted(filesystem) as counting:
                return fingerprint(self.timeline_reader(counting, namespace).read(location))
        except NotAHudiTable:
            return fingerprint(None)
        except (TableUnreadable, CorruptContent, StorageError):
            return None

    def _read(
        self, location: Location, store: ObjectStore | None, *, namespace: str, questions: Questions
    ) -> TimelineSnapshot:
        try:
            filesystem = self.pool.open(location, store, namespace)
            with counted(filesystem) as counting:
                try:
                    snapshot = read_snapshot(self.timeline_reader(counting, namespace), location, questions)
                except NotAHudiTable:
                    snapshot = TimelineSnapshot()  # the owner record exists before the table does
                owner, problem = read_owner(counting, location)
                progress = read_progress(counting, location) if questions.progress else None
                told = read_told(counting, location) if questions.operation else None
                catalog = read_catalog(counting, location) if questions.catalog else None
                leases = questions.leases
                return replace(
                    snapshot,
                    owner=owner,
                    owner_problem=problem,
                    progress=progress,
                    told=told,
                    catalog=catalog,
                    run_progress=read_run_progress(counting, location, leases) if leases else None,
                )
        except TableUnreadable as error:
            return TimelineSnapshot(trouble=_TROUBLES[error.cause], message=str(error))
        except ReadBudgetSpent as error:
            return TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message=str(error))
        except ContentTooLarge as error:
            return TimelineSnapshot(trouble=TimelineTrouble.TOO_LARGE, message=str(error))
        except CorruptContent as error:
            return TimelineSnapshot(trouble=TimelineTrouble.CORRUPT, message=str(error))
        except StorageError as error:
            denied = error.kind is StorageErrorKind.ACCESS_DENIED
            trouble = TimelineTrouble.ACCESS_DENIED if denied else TimelineTrouble.UNREACHABLE
            return TimelineSnapshot(trouble=trouble, message=str(error))


def fingerprint(timeline: Timeline | None) -> int:
    """Return a number that changes with any change of the timeline; valid in this process only."""
    return hash(timeline and (timeline.properties, timeline.instants, timeline.problems))
