"""A bounded memory of what completed timeline files say, shared fairly by all tables of a process."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Protocol


def memory_of(texts: Mapping[str, str]) -> int:
    """Return what a mapping of texts takes in memory, in bytes, about."""
    return sum(150 + len(key) + len(value) for key, value in texts.items())


class Memory(Protocol):
    """What a reader remembers from one read to the next."""

    def get(self, key: Hashable) -> object | None:
        """Return what was put in under the key, or None."""
        ...

    def put(self, key: Hashable, value: object, *, size: int) -> None:
        """Remember a value that takes `size` bytes."""
        ...


@dataclass(frozen=True, slots=True)
class _Entry:
    value: object
    cost: int
    owner: str


class ContentCache:
    """Least-recently-used memory, bounded by the bytes that its values take.

    Completed timeline files never change, and Hudi never uses an instant time twice, so nothing here goes
    stale. Empty files are never put in, and failures only with what shows that the file has changed. Beyond the bound,
    the owner who holds most forgets first, so that nobody's values push out those of somebody who has fewer. Safe to
    use from several threads.
    """

    def __init__(self, *, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._owned: dict[str, OrderedDict[Hashable, None]] = {}
        self._costs: dict[str, int] = {}
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = Lock()

    def get(self, key: Hashable) -> object | None:
        """Return what was put in under the key, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._owned[entry.owner].move_to_end(key)
            return entry.value

    def put(self, key: Hashable, value: object, *, size: int, owner: str = "") -> None:
        """Remember a value that takes `size` bytes; beyond the bound, forget the oldest of who holds most."""
        # A small value still costs its key and its place in the dictionary.
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
        """Return this memory as one owner uses it."""
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
    """A memory as one owner uses it: what others have put in is seen, what is put in counts as the owner's."""

    cache: ContentCache
    owner: str

    def get(self, key: Hashable) -> object | None:
        """Return what was put in under the key, or None."""
        return self.cache.get(key)

    def put(self, key: Hashable, value: object, *, size: int) -> None:
        """Remember a value that takes `size` bytes."""
        self.cache.put(key, value, size=size, owner=self.owner)
