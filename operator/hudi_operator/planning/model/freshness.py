"""How far a table is behind its source, and whether it misses its freshness."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.freshness import FreshnessStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.model.times import parse_time

_LEAST_TARGET = timedelta(minutes=1)
_OLDEST = datetime(1971, 1, 1, tzinfo=UTC)
"""The time that messages without a time have: about the beginning of 1970."""

_SKEW = timedelta(minutes=10)
"""How far the clock of another operator process may be ahead."""


@dataclass(frozen=True, kw_only=True)
class Lag:
    """How far the source has been read, and how far behind the table may be."""

    complete_up_to: datetime
    target: timedelta

    @property
    def missed_at(self) -> datetime:
        """The moment at which the table misses its freshness if no run brings more."""
        return self.complete_up_to + self.target

    def is_missed(self, now: datetime) -> bool:
        """Whether the table misses its freshness."""
        return now >= self.missed_at

    def at_least(self, now: datetime) -> timedelta:
        """Return a lower bound of the delay of a late table: the target, doubled as often as it fits.

        A message with this bound does not change every second.
        """
        behind, found = now - self.complete_up_to, self.target
        while 2 * found <= behind:
            found *= 2
        return found

    def changes_at(self, now: datetime) -> datetime:
        """Return when the passing of time alone changes the message."""
        return self.complete_up_to + 2 * self.at_least(now) if self.is_missed(now) else self.missed_at


def lag_of(spec: HudiTableSpec, known: FreshnessStatus | None, *, now: datetime) -> Lag | None:
    """Return the lag of a table, or None if it declares no freshness or nothing is known."""
    moment = known_up_to(known, now=now)
    if spec.ingestion is None or spec.ingestion.freshness is None or moment is None:
        return None
    return Lag(complete_up_to=moment, target=target_of(spec.ingestion.freshness))


def target_of(freshness: str) -> timedelta:
    """Return how far behind a table may be; at least the minimum that the API server accepts."""
    return max(parse_duration(freshness), _LEAST_TARGET)


def known_up_to(known: FreshnessStatus | None, *, now: datetime) -> datetime | None:
    """Return the time up to which the table holds everything in the source, or None."""
    return believed(known.complete_up_to if known else None, now=now, skew=_SKEW)


def believed(text: str | None, *, now: datetime, skew: timedelta | None = None) -> datetime | None:
    """Return a reported time, at most now; None if it is no plausible time.

    A time further ahead than `skew` is not plausible. Without a skew it counts as now.
    """
    moment = parse_time(text)
    if moment is None or moment < _OLDEST or (skew is not None and moment > now + skew):
        return None
    return min(moment, now)


def source_of(spec: HudiTableSpec) -> str | None:
    """Return a fingerprint of the source in a spec, without how it is read; None without an ingestion."""
    if spec.ingestion is None:
        return None
    document = json.dumps(spec.ingestion.source.what_is_read(), sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()[:16]
