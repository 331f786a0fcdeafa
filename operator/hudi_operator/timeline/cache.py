"""A bounded memory of what completed timeline files say, shared by all tables of a process."""

from collections import OrderedDict
from threading import Lock


class ContentCache:
    """Least-recently-used memory, bounded by the bytes of the files that its values came from.

    Completed timeline files never change, and Hudi never uses an instant time twice, so nothing here goes
    stale. Failures and empty files are never put in. Safe to use from several threads.
    """

    def __init__(self, *, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, ...], tuple[object, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[str, ...]) -> object | None:
        """Return what was put in under the key, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: tuple[str, ...], value: object, *, size: int) -> None:
        """Remember a value that came from `size` bytes; beyond the bound, forget the least recently used."""
        # A small value still costs its key and its place in the dictionary.
        cost = max(size, 256)
        if cost > self._max_bytes:
            return
        with self._lock:
            previous = self._entries.pop(key, None)
            self._bytes += cost - (previous[1] if previous else 0)
            self._entries[key] = (value, cost)
            while self._bytes > self._max_bytes:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._bytes -= dropped

    def __len__(self) -> int:
        return len(self._entries)
