"""What the operator works on: one table at a time, by its key."""

from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias


class TableKey(NamedTuple):
    """Namespace and name of a HudiTable; who holds the name may change, so compare the uid before acting."""

    namespace: str
    name: str

    @classmethod
    def of_class(cls, name: str) -> "TableKey":
        """Return the key of a HudiTableClass, which has no namespace: the queue holds classes beside tables."""
        return cls("", name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Trigger(IntEnum):
    """Why a key is looked at; of several reasons the greatest counts."""

    POLL = 0
    """Time has passed: nothing says that anything has changed."""

    CHILD = 1
    """A Job or pod of the table has come, changed or gone."""

    EVENT = 2
    """The table or its class has changed, or the last look failed: nothing that was known before counts."""


Reconcile: TypeAlias = Callable[[TableKey, Trigger], Awaitable[float | None]]
"""Bring one table closer to its declaration; return the seconds until the next look, or None to wait for an event.

Raising means that the look failed: the key comes back after its backoff.
"""
