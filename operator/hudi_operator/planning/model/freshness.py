"""How far a table is behind its source at a moment, and whether that is further than its spec asks."""

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
"""Messages without a time have one about the beginning of 1970."""

_SKEW = timedelta(minutes=10)
"""How far the clock of another process of the operator may be ahead."""


@dataclass(frozen=True, kw_only=True)
class Lag:
    """How far the source has been read, and how far behind the table may be."""

    complete_up_to: datetime
    target: timedelta

    @property
    def missed_at(self) -> datetime:
        """From when on the table is too far behind, as long as no run brings more."""
        return self.complete_up_to + self.target

    def is_missed(self, now: datetime) -> bool:
        """Whether the table is too far behind."""
        return now >= self.missed_at

    def at_least(self, now: datetime) -> timedelta:
        """Return how far behind a table is that is too far behind: the target, doubled as often as it fits.

        So a sentence that says it need not be written anew with every second.
        """
        behind, found = now - self.complete_up_to, self.target
        while 2 * found <= behind:
            found *= 2
        return found

    def changes_at(self, now: datetime) -> datetime:
        """Return when time alone changes what there is to say."""
        return self.complete_up_to + 2 * self.at_least(now) if self.is_missed(now) else self.missed_at


def lag_of(spec: HudiTableSpec, known: FreshnessStatus | None, *, now: datetime) -> Lag | None:
    """Return how far a table is behind that has a freshness; None where it has none, or nothing is known."""
    moment = known_up_to(known, now=now)
    if spec.ingestion is None or spec.ingestion.freshness is None or moment is None:
        return None
    return Lag(complete_up_to=moment, target=target_of(spec.ingestion.freshness))


def target_of(freshness: str) -> timedelta:
    """Return how far behind a table may be; never less than the API server lets through."""
    return max(parse_duration(freshness), _LEAST_TARGET)


def known_up_to(known: FreshnessStatus | None, *, now: datetime) -> datetime | None:
    """Return up to when everything in the source is known to be in the table, or None."""
    return believed(known.complete_up_to if known else None, now=now, skew=_SKEW)


def believed(text: str | None, *, now: datetime, skew: timedelta | None = None) -> datetime | None:
    """Return a time that was said, at most now, or None for what is no such time.

    What is further ahead than `skew` is none either; without a skew it counts as now.
    """
    moment = parse_time(text)
    if moment is None or moment < _OLDEST or (skew is not None and moment > now + skew):
        return None
    return min(moment, now)


def source_of(spec: HudiTableSpec) -> str | None:
    """Return a fingerprint of what the source of a spec holds, however it is read; None without an ingestion."""
    if spec.ingestion is None:
        return None
    document = json.dumps(spec.ingestion.source.what_is_read(), sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()[:16]
