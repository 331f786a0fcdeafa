"""Decides how often each timeline is polled, and when a reconcile may end early.

A changing table is read within seconds, a quiet table rarely: the pause grows with the quiet time, with random
variation, so that polls spread evenly. The state per table is a few numbers, never a document.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hudi_jobs.contract import Location
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.kube.keys import TableKey
from hudi_operator.planning.model import NamespaceObservation

_PAUSE_PER_UNMOVED_SECOND = 0.1
_JITTER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReconcile:
    """The state kept from a whole reconcile; times are seconds of the event loop's clock.

    `fingerprint` is None if the timeline could not be read. Until `whole_at`, reading the timeline and the namespace is
    enough, as long as both are unchanged and no event came.
    """

    location: Location | None
    store: ObjectStore | None
    fingerprint: int | None
    namespace: NamespaceObservation | None
    moved_at: float
    whole_at: float


class Polling:
    """The last reconcile of each table, and the time of its next poll."""

    def __init__(self, *, least: float, most: float, draw: Callable[[], float] = random.random) -> None:
        self._least = least
        self._most = max(least, most)
        self._draw = draw
        self._last: dict[TableKey, LastReconcile] = {}
        self._interrupted: dict[TableKey, LastReconcile] = {}

    def quick(self, key: TableKey, *, now: float) -> LastReconcile | None:
        """Return the last reconcile to compare a timeline with; None if the whole table must be observed."""
        last = self._last.get(key)
        return last if last is not None and last.fingerprint is not None and now < last.whole_at else None

    def begin_reconcile(self, key: TableKey) -> None:
        """Require a whole observation of the table until a reconcile succeeds."""
        last = self._last.pop(key, None)
        if last is not None:
            self._interrupted[key] = last

    def end_reconcile(self, key: TableKey, last: LastReconcile, *, moved: bool) -> None:
        """Remember a reconcile; an unchanged fingerprint counts as no movement, unless `moved`."""
        before = self._interrupted.pop(key, None)
        if before is not None and before.fingerprint == last.fingerprint and not moved:
            last = replace(last, moved_at=before.moved_at)
        self._last[key] = last

    def reconcile_from(self, key: TableKey, at: float) -> None:
        """Require a whole observation of the table from this time on."""
        self._last[key] = replace(self._last[key], whole_at=at)

    def tables_in(self, namespace: str) -> tuple[TableKey, ...]:
        """Return the tables of a namespace that have been reconciled."""
        return tuple(key for key in self._last if key.namespace == namespace)

    def forget(self, key: TableKey) -> None:
        """Forget a table."""
        self._last.pop(key, None)
        self._interrupted.pop(key, None)

    def pause(self, key: TableKey, *, now: float) -> float:
        """Return the seconds until the next poll of a table's timeline."""
        last = self._last.get(key)
        unmoved = now - last.moved_at if last is not None else 0.0
        return self.spread(min(max(unmoved * _PAUSE_PER_UNMOVED_SECOND, self._least), self._most))

    def spread(self, seconds: float) -> float:
        """Return about as many seconds, varied randomly so that tables drift apart."""
        return seconds * (1 + _JITTER * (self._draw() - 0.5))


def age_of(instant_time: str, *, now: datetime) -> timedelta:
    """Return the age of an instant by its time; zero if unknown or in the future.

    Instants may be named in the writer's own zone, so the age can be wrong by hours.
    """
    try:
        moment = datetime.strptime(instant_time[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return timedelta()
    return max(now - moment, timedelta())
