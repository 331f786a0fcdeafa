"""Reads a table's files within bounds, and remembers unusable files until they change."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from time import monotonic
from typing import TypeVar

from hudi_operator.storage import FileStamp, FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.avro.records import is_compressed
from hudi_operator.timeline.cache import Memory
from hudi_operator.timeline.model import (
    ContentTooLarge,
    CorruptContent,
    ReadBudgetSpent,
    TableUnreadable,
    UnreadableCause,
)

T = TypeVar("T")

FILE_LIMIT = 64 * 2**20
"""The most bytes to read from a commit or plan: as JSON, the longer form, about 60,000 written files."""

LIGHT_LIMIT = 2**20
"""Larger files are heavy, as are compressed ones; only few heavy files are in memory at the same time."""

_HEAVY_AT_ONCE = 2
_HEAVY_PATIENCE = 30.0

_CAUSES = {
    StorageErrorKind.NOT_FOUND: UnreadableCause.NOT_FOUND,
    StorageErrorKind.NO_BUCKET: UnreadableCause.NOT_FOUND,
    StorageErrorKind.ACCESS_DENIED: UnreadableCause.ACCESS_DENIED,
    StorageErrorKind.UNREACHABLE: UnreadableCause.UNREACHABLE,
    StorageErrorKind.UNSUPPORTED: UnreadableCause.UNSUPPORTED,
    StorageErrorKind.TOO_LARGE: UnreadableCause.TOO_LARGE,
    StorageErrorKind.ODD_KEY: UnreadableCause.CORRUPT,
}


class HeavyFiles:
    """Limits the heavy files in memory: few per process, a single file per owner."""

    def __init__(self, *, at_once: int = _HEAVY_AT_ONCE, patience_seconds: float = _HEAVY_PATIENCE) -> None:
        self._all = BoundedSemaphore(at_once)
        self._owners: dict[str, BoundedSemaphore] = {}
        self._patience = patience_seconds

    def of(self, owner: str) -> AbstractContextManager[None]:
        """Return a context manager to hold while reading an owner's heavy file. Raises `ReadBudgetSpent` on timeout."""
        return self._turn(self._owners.setdefault(owner, BoundedSemaphore(1)))

    @contextmanager
    def _turn(self, own: BoundedSemaphore) -> Iterator[None]:
        # Take the owner's own place first: waiting for it keeps no other owner from a place.
        with _acquired(own, self._patience), _acquired(self._all, self._patience):
            yield


@contextmanager
def _acquired(semaphore: BoundedSemaphore, patience: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=patience):
        raise ReadBudgetSpent("Other large files are being read; a later read reads this file")
    try:
        yield
    finally:
        semaphore.release()


@dataclass(slots=True)
class ReadBudget:
    """The limits of a read: files, bytes and seconds. `heavy` gives the context for reading a heavy file."""

    files: int = 1_000
    read_bytes: int = 256 * 2**20
    seconds: float = 45.0
    heavy: Callable[[], AbstractContextManager[None]] = nullcontext
    _began: float = field(default_factory=monotonic)

    def check(self) -> None:
        """Count a file. Raises `ReadBudgetSpent` when files, time or bytes are used up."""
        self.files -= 1
        if self.files < 0 or self.read_bytes < 0 or monotonic() - self._began > self.seconds:
            raise ReadBudgetSpent("More is to be read than one read may; the next read continues from here")


@dataclass(frozen=True, slots=True)
class _Unusable:
    stamp: FileStamp
    error: CorruptContent | TableUnreadable


class TableFiles:
    """Reads files within the budget of a read, as values."""

    def __init__(self, filesystem: FileSystem, memory: Memory, budget: ReadBudget | None = None) -> None:
        self.filesystem = filesystem
        self._memory = memory
        self._budget = budget or ReadBudget(files=1_000_000, read_bytes=2**40, seconds=3600)

    def value(self, path: str, make: Callable[[bytes], T], *, limit: int = FILE_LIMIT) -> T:
        """Return the value that `make` builds from a file.

        If `make` raises `CorruptContent` or `TableUnreadable`, the error is remembered and raised again, without
        reading, until the file changes. Raises `StorageError` for a missing file.
        """
        key = ("unusable", self.filesystem.identity, path)
        known = self._memory.get(key)
        self._budget.check()
        if isinstance(known, _Unusable) and self.stamp(path) == known.stamp:
            raise _again(known.error)
        size: int | None = None
        try:
            if limit <= LIGHT_LIMIT:
                return self._made(path, make, limit)
            try:
                return self._made(path, make, LIGHT_LIMIT)
            except StorageError as error:
                if error.kind is not StorageErrorKind.TOO_LARGE:
                    raise
            with self._budget.heavy():
                return self._made(path, make, limit)
        except StorageError as error:
            if error.kind is not StorageErrorKind.TOO_LARGE:
                raise
            failure: CorruptContent | TableUnreadable = ContentTooLarge(str(error).rstrip("."))
        except ReadBudgetSpent:
            raise
        except _Failed as failed:
            failure, size = failed.error, failed.size
        stamp = self.stamp(path)
        if stamp is not None and (stamp.size > limit if size is None else stamp.size == size):
            self._memory.put(key, _Unusable(stamp, failure), size=2 * len(str(failure)) + 512)
        raise failure

    def stamp(self, path: str) -> FileStamp | None:
        """Return the file's size and time, or None if it does not exist."""
        try:
            return self.filesystem.stamp(path)
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise as_unreadable(error) from error

    def _made(self, path: str, make: Callable[[bytes], T], limit: int) -> T:
        data = self.filesystem.read_file(path, limit=limit)
        self._budget.read_bytes -= len(data)
        heavy = limit <= LIGHT_LIMIT and is_compressed(data)
        try:
            with self._budget.heavy() if heavy else nullcontext():
                return make(data)
        except ReadBudgetSpent:
            raise
        except (CorruptContent, TableUnreadable) as error:
            raise _Failed(_again(error), len(data)) from error


class _Failed(Exception):
    def __init__(self, error: CorruptContent | TableUnreadable, size: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.size = size


def _again(error: CorruptContent | TableUnreadable) -> CorruptContent | TableUnreadable:
    """Return a new error of the same kind: a raised error holds on to the read that raised it."""
    if isinstance(error, TableUnreadable):
        return TableUnreadable(error.cause, str(error))
    return type(error)(str(error))


def as_unreadable(error: StorageError) -> TableUnreadable:
    """Convert a store's error to the table's error."""
    return TableUnreadable(_CAUSES[error.kind], str(error))
