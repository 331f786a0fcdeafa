"""Which call meets which fault: plain functions of a call, so that a seed gives the same faults again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_OBJECT_PATH = re.compile(
    r"^/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<part>[a-z]+))?)?$"
)


class Fault(StrEnum):
    """What happens to a call instead of a plain answer."""

    CRASH_BEFORE = "killed before it took effect"
    CRASH_AFTER = "killed after it took effect"
    LOST_REPLY = "applied, and the connection closed without an answer"
    CONFLICT = "409 Conflict"
    EXPIRED = "410 Gone"
    THROTTLED = "429 with Retry-After"
    SERVER_ERROR = "500"
    STALL = "stalled, and applied afterwards"


KILLS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
"""The faults at which the operator is killed."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call to the API server; `write` is its number among the writes, from 1, or None for a read."""

    method: str
    path: str
    write: int | None = None

    @property
    def target(self) -> str:
        """The kind of object, without names: what two runs of one scenario have in common."""
        found = _OBJECT_PATH.match(self.path)
        if found is None:
            return self.path
        return f"{found['kind']}/{found['part']}" if found["part"] else found["kind"]

    @property
    def names_an_object(self) -> bool:
        """Whether it is about one object and not about a collection."""
        found = _OBJECT_PATH.match(self.path)
        return found is not None and found["name"] is not None

    @property
    def is_listing(self) -> bool:
        """Whether it reads a collection."""
        found = _OBJECT_PATH.match(self.path)
        return self.method == "GET" and found is not None and found["name"] is None

    def __str__(self) -> str:
        number = "" if self.write is None else f"write {self.write}, "
        return f"{number}{self.method} {self.target}"


Rule = Callable[[Call], Fault | None]


def none(_: Call) -> None:
    """Let every call through."""


def at_write(number: int, fault: Fault) -> Rule:
    """Let one write meet a fault, and no other call."""

    def rule(call: Call) -> Fault | None:
        return fault if call.write == number else None

    return rule


def sometimes(faults: Sequence[Fault], *, probability: float, seed: int) -> Rule:
    """Let calls meet faults that the API server could give them, drawn again for each.

    The draw depends on the seed and on how many calls of the same kind came before, not on how calls of different
    kinds happen to be interleaved.
    """
    seen: Counter[str] = Counter()

    def rule(call: Call) -> Fault | None:
        kind = f"{call.method} {call.target}"
        seen[kind] += 1
        draw = Random(f"{seed} {kind} {seen[kind]}")
        fitting = [fault for fault in faults if fits(fault, call)]
        return draw.choice(fitting) if fitting and draw.random() < probability else None

    return rule


def fits(fault: Fault, call: Call) -> bool:
    """Whether the API server could answer this call so."""
    if fault is Fault.CONFLICT:
        return call.method in WRITES and call.names_an_object
    if fault is Fault.EXPIRED:
        return call.is_listing
    return True


@dataclass(frozen=True, kw_only=True)
class WatchFaults:
    """What happens to the events of watches; probabilities are from 0 to 1."""

    cut_after_seconds: float | None = None
    drop: float = 0.0
    duplicate: float = 0.0
    late: float = 0.0
    late_seconds: float = 2.0
    expire: float = 0.0
    """How likely a watch says 410 Gone instead of its next event."""
