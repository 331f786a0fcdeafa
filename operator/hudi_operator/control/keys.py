"""What the operator works on: one table at a time, by its key."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias


class TableKey(NamedTuple):
    """Namespace and name of a HudiTable; who holds the name may change, so compare the uid before acting."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


Reconcile: TypeAlias = Callable[[TableKey], Awaitable[float | None]]
"""Bring one table closer to its declaration; return the seconds until the next look, or None to wait for an event.

Raising means that the look failed: the key comes back after its backoff.
"""
