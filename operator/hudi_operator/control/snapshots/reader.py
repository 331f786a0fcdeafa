"""Reads snapshots of timelines in threads, so that a silent store blocks nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Protocol, TypeAlias, TypeVar

from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.snapshots.owner_file import read_owner
from hudi_operator.control.snapshots.progress_file import read_progress, read_told
from hudi_operator.control.snapshots.reading import NO_QUESTIONS, Questions, read_snapshot
from hudi_operator.control.snapshots.stores import StoreBusy, StoreThreads
from hudi_operator.planning.model import TimelineSnapshot, TimelineTrouble
from hudi_operator.storage import (
    CountingFileSystem,
    FileSystem,
    S3Options,
    StorageError,
    StorageErrorKind,
    open_filesystem,
)
from hudi_operator.storage.url import parse_url
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

_AGAIN = "the operator retries."

T = TypeVar("T")
Opener: TypeAlias = Callable[[str, S3Options | None], tuple[FileSystem, str]]

_CLIENTS = 128
"""The most bucket clients to keep; each takes about 200 KiB."""

_CLIENT = 256 * 2**10

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
        base_path: str,
        store: ObjectStore | None,
        /,
        *,
        namespace: str = "",
        questions: Questions = NO_QUESTIONS,
    ) -> TimelineSnapshot:
        """Read a table; store failures are part of the result, never raised."""

    async def fingerprint(self, base_path: str, store: ObjectStore | None, /, *, namespace: str = "") -> int | None:
        """Return the current `fingerprint` of a timeline, or None if it cannot be read."""


class SnapshotReader:
    """Reads timelines for the reconciler; a single instance and cache serve all tables of the process.

    `threads` is the number of concurrent reads per store. A read beyond the timeout is abandoned; its thread stays
    taken until the store's client gives up as well.
    """

    def __init__(
        self,
        *,
        threads: int = 16,
        timeout_seconds: float = 60.0,
        patience_seconds: float = 5.0,
        opener: Opener = open_filesystem,
    ) -> None:
        self._threads = threads
        self._timeout = timeout_seconds
        self._patience = patience_seconds
        self._opener = opener
        self._cache = ContentCache()
        self._clients = ContentCache(max_bytes=_CLIENTS * _CLIENT)
        self._heavy = HeavyFiles()
        self._stores: dict[str, StoreThreads] = {}

    async def read(
        self,
        base_path: str,
        store: ObjectStore | None,
        *,
        namespace: str = "",
        questions: Questions = NO_QUESTIONS,
    ) -> TimelineSnapshot:
        """Read a table; store failures are part of the result, never raised.

        The read is charged to the namespace.
        """
        started = perf_counter()
        read = partial(self._read, base_path, store, namespace=namespace, questions=questions)
        found = await self._bounded(base_path, store, namespace, read)
        snapshot = (
            TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message=found) if isinstance(found, str) else found
        )
        result = "success" if snapshot.trouble is None else snapshot.trouble.value
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return snapshot

    async def fingerprint(self, base_path: str, store: ObjectStore | None, *, namespace: str = "") -> int | None:
        """Return the current `fingerprint` of a timeline, or None if it cannot be read.

        Costs one listing if the timeline is unchanged since this process last read it.
        """
        started = perf_counter()
        read = partial(self._read_fingerprint, base_path, store, namespace=namespace)
        found = await self._bounded(base_path, store, namespace, read)
        number = found if isinstance(found, int) else None
        result = "success" if number is not None else "unreadable"
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return number

    def close(self) -> None:
        """Take no further reads; reads in progress end with their own time limits."""
        for threads in self._stores.values():
            threads.close()

    async def _bounded(
        self, base_path: str, store: ObjectStore | None, namespace: str, read: Callable[[], T]
    ) -> T | str:
        """Run a blocking read in a thread of its store; return a sentence if the store does not answer."""
        place = _place(base_path, store)
        threads = self._stores.get(place)
        if threads is None:
            threads = StoreThreads(threads=self._threads, patience_seconds=self._patience)
            self._stores[place] = threads
        try:
            return await threads.run(read, timeout_seconds=self._timeout, namespace=namespace)
        except StoreBusy as busy:
            if busy.by_namespace:
                return f"{_name(store)} has not answered other reads of tables of namespace {namespace} yet; {_AGAIN}"
            return f"{_name(store)} has not answered earlier reads yet; {_AGAIN}"
        except TimeoutError:
            return f"{_name(store)} did not answer for {base_path} within {self._timeout:.0f} s; {_AGAIN}"

    def _reader(self, filesystem: FileSystem, namespace: str) -> TimelineReader:
        budget = ReadBudget(heavy=lambda: self._heavy.of(namespace))
        return TimelineReader(filesystem, self._cache.share(namespace), budget=budget)

    def _read_fingerprint(self, base_path: str, store: ObjectStore | None, *, namespace: str) -> int | None:
        try:
            filesystem, path = self._open(base_path, store, namespace)
            with _counted(filesystem) as counting:
                return fingerprint(self._reader(counting, namespace).read(path))
        except NotAHudiTable:
            return fingerprint(None)
        except (TableUnreadable, CorruptContent, StorageError):
            return None

    def _read(
        self, base_path: str, store: ObjectStore | None, *, namespace: str, questions: Questions
    ) -> TimelineSnapshot:
        try:
            filesystem, path = self._open(base_path, store, namespace)
            with _counted(filesystem) as counting:
                try:
                    snapshot = read_snapshot(self._reader(counting, namespace), path, questions)
                except NotAHudiTable:
                    snapshot = TimelineSnapshot()  # the owner record exists before the table does
                owner, problem = read_owner(counting, path)
                progress = read_progress(counting, path) if questions.progress else None
                told = read_told(counting, path) if questions.operation else None
                return replace(snapshot, owner=owner, owner_problem=problem, progress=progress, told=told)
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

    def _open(self, base_path: str, store: ObjectStore | None, namespace: str) -> tuple[FileSystem, str]:
        location = parse_url(base_path)
        key = (location.bucket, store)
        client = self._clients.get(key)
        if not isinstance(client, _Client):
            # One client, and so one connection pool, for all tables of a bucket.
            client = _Client(self._opener(base_path, _options(store))[0])
            self._clients.put(key, client, size=_CLIENT, owner=namespace)
        return client.filesystem, location.path


@dataclass(frozen=True, slots=True)
class _Client:
    filesystem: FileSystem


def fingerprint(timeline: Timeline | None) -> int:
    """Return a number that changes with any change of the timeline; valid in this process only."""
    return hash(timeline and (timeline.properties, timeline.instants, timeline.problems))


@contextmanager
def _counted(filesystem: FileSystem) -> Iterator[CountingFileSystem]:
    """Add the requests made in the block to the metrics."""
    counting = CountingFileSystem(filesystem)
    try:
        yield counting
    finally:
        metrics.store_requests(lists=counting.lists, reads=counting.reads, stats=counting.stats)


def _place(base_path: str, store: ObjectStore | None) -> str:
    """Return the unit that fails together: an endpoint, or all paths of a scheme without an endpoint."""
    try:
        scheme = parse_url(base_path).store
    except StorageError:
        scheme = ""
    return f"{scheme}|{store.endpoint or ''}" if store is not None else scheme


def _name(store: ObjectStore | None) -> str:
    """Return the store's name for the beginning of a sentence."""
    return f"The store {store.endpoint}" if store is not None and store.endpoint else "The store"


def _options(store: ObjectStore | None) -> S3Options | None:
    if store is None:
        return None
    return S3Options(endpoint=store.endpoint, region=store.region, virtual_hosted=not store.path_style_access)
