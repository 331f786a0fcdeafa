"""A bounded cache of completed timeline files, shared fairly by all tables of a process."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Protocol


def memory_of(texts: Mapping[str, str]) -> int:
    """Return the approximate memory, in bytes, that a mapping of texts takes."""
    return sum(150 + len(key) + len(value) for key, value in texts.items())


class Memory(Protocol):
    """The cache interface that a reader needs."""

    def get(self, key: Hashable) -> object | None:
        """Return the cached value, or None."""
        ...

    def put(self, key: Hashable, value: object, *, size: int) -> None:
        """Cache a value of `size` bytes."""
        ...


@dataclass(frozen=True, slots=True)
class _Entry:
    value: object
    cost: int
    owner: str


class ContentCache:
    """A least-recently-used cache, bounded by the bytes of its values.

    Completed timeline files never change, and Hudi never reuses an instant time, so no entry goes stale. Empty files
    are never cached, and failures only together with the file's stamp. Beyond the bound, the owner with the most bytes
    loses its oldest entries first, so a large table cannot evict the values of a small one. Safe to use from several
    threads.
    """

    def __init__(self, *, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._owned: dict[str, OrderedDict[Hashable, None]] = {}
        self._costs: dict[str, int] = {}
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = Lock()

    def get(self, key: Hashable) -> object | None:
        """Return the cached value, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._owned[entry.owner].move_to_end(key)
            return entry.value

    def put(self, key: Hashable, value: object, *, size: int, owner: str = "") -> None:
        """Cache a value of `size` bytes; beyond the bound, evict the oldest entries of the largest owner."""
        # Even a small value costs its key and its place in the dictionary.
        cost = max(size, 256)
        with self._lock:
            if key in self._entries:
                self._drop(key)
            if cost > self._max_bytes:
                return
            self._entries[key] = _Entry(value, cost, owner)
            self._owned.setdefault(owner, OrderedDict())[key] = None
            self._costs[owner] = self._costs.get(owner, 0) + cost
            self._bytes += cost
            while self._bytes > self._max_bytes:
                most = max(self._costs, key=self._costs.__getitem__)
                self._drop(next(iter(self._owned[most])))

    def share(self, owner: str) -> "Share":
        """Return a view of this cache that charges its entries to an owner."""
        return Share(self, owner)

    def __len__(self) -> int:
        return len(self._entries)

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key)
        del self._owned[entry.owner][key]
        self._bytes -= entry.cost
        self._costs[entry.owner] -= entry.cost
        if not self._owned[entry.owner]:
            del self._owned[entry.owner], self._costs[entry.owner]


@dataclass(frozen=True, slots=True)
class Share:
    """An owner's view of a cache: reads see every entry, writes are charged to this owner."""

    cache: ContentCache
    owner: str

    def get(self, key: Hashable) -> object | None:
        """Return the cached value, or None."""
        return self.cache.get(key)

    def put(self, key: Hashable, value: object, *, size: int) -> None:
        """Cache a value of `size` bytes."""
        self.cache.put(key, value, size=size, owner=self.owner)
