"""A bounded cache of recent reads, shared by the reconciles of many tables."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_MAX_AGE_SECONDS = 60.0
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Known(Generic[Value]):
    value: Value
    asked_at: float


class Recent(Generic[Key, Value]):
    """Values by key as of their last read; beyond the bound, the oldest read is dropped."""

    def __init__(self, read: Callable[[Key], Awaitable[Value]]) -> None:
        self._read = read
        self._known: dict[Key, _Known[Value]] = {}

    def __len__(self) -> int:
        return len(self._known)

    async def get(self, key: Key, *, since: float | None = None) -> Value:
        """Return a value read at `since` (seconds of the event loop) or later.

        Concurrent reconciles share values read since they began. Without `since`, the value is at most a minute old.
        """
        now = asyncio.get_running_loop().time()
        known = self._known.get(key)
        if known is None or known.asked_at < (now - _MAX_AGE_SECONDS if since is None else since):
            known = _Known(await self._read(key), now)
            self._known.pop(key, None)
            self._known[key] = known
            while len(self._known) > _MOST_KEPT:
                del self._known[next(iter(self._known))]
        return known.value
