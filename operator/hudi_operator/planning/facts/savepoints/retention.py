"""Chooses the scheduled savepoints to keep: the newest of each day, week and month, as in `restic forget`."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from hudi_operator.api.spec.schedule import SavepointSchedule

_Bucket = Callable[[datetime], object]


def kept(made: Iterable[datetime], schedule: SavepointSchedule) -> frozenset[datetime]:
    """Return the moments with savepoints to keep.

    An additional moment never saves another moment: so an incomplete list keeps no fewer of its own moments.
    """
    newest_first = sorted({one.astimezone(UTC) for one in made}, reverse=True)
    rules: tuple[tuple[int, _Bucket], ...] = (
        (schedule.keep_last, lambda one: one),
        (schedule.keep_daily, lambda one: one.date()),
        (schedule.keep_weekly, lambda one: tuple(one.isocalendar())[:2]),
        (schedule.keep_monthly, lambda one: (one.year, one.month)),
    )
    return frozenset(one for count, bucket in rules for one in _newest_of_each(newest_first, bucket)[:count])


def _newest_of_each(newest_first: Iterable[datetime], bucket: _Bucket) -> list[datetime]:
    found: dict[object, datetime] = {}
    for one in newest_first:
        found.setdefault(bucket(one), one)
    return list(found.values())
