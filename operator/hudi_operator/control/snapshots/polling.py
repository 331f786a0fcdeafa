"""How often each timeline is polled, and what lets a reconcile end early.

A table that moves is read within seconds, one that has not moved for long rarely: the pause grows with the time
for which nothing has moved, and is drawn around that, so that polls spread evenly. What is kept per table is a few
numbers, never a document.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.keys import TableKey

_PAUSE_PER_UNMOVED_SECOND = 0.1
_JITTER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReconcile:
    """What a reconcile of a whole table left behind; times are seconds of the event loop's clock.

    `fingerprint` is None where the timeline could not be read. Until `whole_at` a read of the timeline is enough, as
    long as that has not moved and nothing has happened.
    """

    base_path: str
    store: ObjectStore | None
    fingerprint: int | None
    moved_at: float
    whole_at: float


class Polling:
    """The last reconcile of each table, and when the next poll is."""

    def __init__(self, *, least: float, most: float, draw: Callable[[], float] = random.random) -> None:
        self._least = least
        self._most = max(least, most)
        self._draw = draw
        self._last: dict[TableKey, LastReconcile] = {}
        self._interrupted: dict[TableKey, LastReconcile] = {}

    def quick(self, key: TableKey, *, now: float) -> LastReconcile | None:
        """Return what a read of the timeline alone can be compared with; None when the whole table has to be seen."""
        last = self._last.get(key)
        return last if last is not None and last.fingerprint is not None and now < last.whole_at else None

    def begin_reconcile(self, key: TableKey) -> None:
        """Have the whole table observed until a reconcile has succeeded."""
        last = self._last.pop(key, None)
        if last is not None:
            self._interrupted[key] = last

    def end_reconcile(self, key: TableKey, last: LastReconcile, *, moved: bool) -> None:
        """Remember a reconcile; unless something else has moved, a timeline that is as it was before has not."""
        before = self._interrupted.pop(key, None)
        if before is not None and before.fingerprint == last.fingerprint and not moved:
            last = replace(last, moved_at=before.moved_at)
        self._last[key] = last

    def reconcile_from(self, key: TableKey, at: float) -> None:
        """Have the whole table observed from this time on."""
        self._last[key] = replace(self._last[key], whole_at=at)

    def forget(self, key: TableKey) -> None:
        """Drop a table."""
        self._last.pop(key, None)
        self._interrupted.pop(key, None)

    def pause(self, key: TableKey, *, now: float) -> float:
        """Return the seconds until the next poll of a table's timeline."""
        last = self._last.get(key)
        unmoved = now - last.moved_at if last is not None else 0.0
        return self.spread(min(max(unmoved * _PAUSE_PER_UNMOVED_SECOND, self._least), self._most))

    def spread(self, seconds: float) -> float:
        """Return about as many seconds, drawn so that tables drift apart."""
        return seconds * (1 + _JITTER * (self._draw() - 0.5))


def age_of(instant_time: str, *, now: datetime) -> timedelta:
    """Return how long ago an instant was, as far as its time says; nothing where that cannot be.

    Instants may be named in the writer's own zone, so this can be wrong by hours.
    """
    try:
        moment = datetime.strptime(instant_time[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return timedelta()
    return max(now - moment, timedelta())
