"""Clients and threads of stores, shared by all reads of a process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from hudi_jobs.contract import Location
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.snapshots.stores import StoreBusy, StoreThreads
from hudi_operator.storage import (
    CountingFileSystem,
    FileSystem,
    S3Options,
    filesystem_of,
)
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.timeline import ContentCache

_AGAIN = "the operator retries."

T = TypeVar("T")
Opener: TypeAlias = Callable[[Location, S3Options | None], FileSystem]

_CLIENTS = 128
"""The most bucket clients to keep; each takes about 200 KiB."""

_CLIENT = 256 * 2**10


@dataclass(frozen=True, slots=True)
class _Client:
    filesystem: FileSystem


class StorePool:
    """Runs blocking reads in threads of their store, and keeps one client for each bucket.

    `threads` is the number of concurrent reads per store. A read beyond the timeout is abandoned; its thread stays
    taken until the store's client gives up as well.
    """

    def __init__(
        self,
        *,
        threads: int = 16,
        timeout_seconds: float = 60.0,
        patience_seconds: float = 5.0,
        opener: Opener = filesystem_of,
    ) -> None:
        self._threads = threads
        self._timeout = timeout_seconds
        self._patience = patience_seconds
        self._opener = opener
        self._clients = ContentCache(max_bytes=_CLIENTS * _CLIENT)
        self._stores: dict[str, StoreThreads] = {}

    async def run(
        self,
        location: Location,
        store: ObjectStore | None,
        namespace: str,
        read: Callable[[], T],
        *,
        is_look: bool = False,
    ) -> T | str:
        """Run a blocking read in a thread of its store; return a sentence if the store does not answer.

        The read is charged to the namespace.
        """
        place = _place(location, store)
        threads = self._stores.get(place)
        if threads is None:
            threads = StoreThreads(threads=self._threads, patience_seconds=self._patience)
            self._stores[place] = threads
        try:
            return await threads.run(read, timeout_seconds=self._timeout, namespace=namespace, is_look=is_look)
        except StoreBusy as busy:
            if busy.by_namespace:
                return f"{_name(store)} has not answered other reads of tables of namespace {namespace} yet; {_AGAIN}"
            return f"{_name(store)} has not answered earlier reads yet; {_AGAIN}"
        except TimeoutError:
            return f"{_name(store)} did not answer for {location.url} within {self._timeout:.0f} s; {_AGAIN}"

    def open(self, location: Location, store: ObjectStore | None, namespace: str) -> FileSystem:
        """Return the file system of a location."""
        key = (location.bucket, store)
        client = self._clients.get(key)
        if not isinstance(client, _Client):
            # One client, and so one connection pool, for all tables of a bucket.
            client = _Client(self._opener(location, _options(store)))
            self._clients.put(key, client, size=_CLIENT, owner=namespace)
        return client.filesystem

    def close(self) -> None:
        """Take no further reads; reads in progress end with their own time limits."""
        for threads in self._stores.values():
            threads.close()


@contextmanager
def counted(filesystem: FileSystem, *, is_look: bool = False) -> Iterator[CountingFileSystem]:
    """Add the requests made in the block to the metrics."""
    counting = CountingFileSystem(filesystem)
    try:
        yield counting
    finally:
        metrics.store_requests(lists=counting.lists, reads=counting.reads, stats=counting.stats, is_look=is_look)


def _place(location: Location, store: ObjectStore | None) -> str:
    """Return the unit that fails together: an endpoint, or all paths of a scheme without an endpoint."""
    return f"{location.store}|{store.endpoint or ''}" if store is not None else location.store


def _name(store: ObjectStore | None) -> str:
    """Return the store's name for the beginning of a sentence."""
    return f"The store {store.endpoint}" if store is not None and store.endpoint else "The store"


def _options(store: ObjectStore | None) -> S3Options | None:
    if store is None:
        return None
    return S3Options(endpoint=store.endpoint, region=store.region, virtual_hosted=not store.path_style_access)
