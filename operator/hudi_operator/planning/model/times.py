"""Points in time, delays between retries, schedules of runs, and how far a table is behind its source."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from croniter.croniter import CroniterError

from hudi_operator.api.spec.schedule import Schedule
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.api.values.base import parse_duration

_REMEMBERED = 4096
"""The size of the caches of times: each reconcile parses the same times of the status and the timeline again."""

_LONGEST = 64
_FIRST_YEAR, _LAST_YEAR = 1900, 3000
"""The years for arithmetic: adding the longest duration, 292 years, stays within Python's range."""


@lru_cache(maxsize=_REMEMBERED)
def format_time(moment: datetime) -> str:
    """Return RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None) -> datetime | None:
    """Read RFC 3339; return None for an empty text and for a text that is no time.

    Also return None for a time too far away for arithmetic, and for a text longer than a time.
    """
    return _parse_time(text) if text and len(text) <= _LONGEST else None


@lru_cache(maxsize=_REMEMBERED)
def _parse_time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not _FIRST_YEAR <= moment.year < _LAST_YEAR:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=_REMEMBERED)
def instant_time(text: str) -> datetime | None:
    """Read a Hudi instant time, to the second, as UTC; return None for the made-up times of the metadata table.

    The operator's own jobs, which run in UTC, read the times of a table in local time as UTC too.
    """
    try:
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def retry_delay(failures: int, settings: RetrySettings) -> timedelta:
    """Return the wait after this many failures in a row: doubling from the initial delay up to the ceiling."""
    initial, ceiling = parse_duration(settings.initial_delay), parse_duration(settings.max_delay)
    growth: int = 2 ** min(max(failures - 1, 0), 30)
    # Divided, not multiplied: a long delay doubled thirty times is longer than any timedelta.
    return ceiling if initial >= ceiling / growth else initial * growth


_CHANCE = frozenset({"h", "r"})
"""Letters that make croniter draw a random time; no month or weekday begins with them."""


class InvalidSchedule(ValueError):
    """A schedule without a next time; the message is a sentence for the table's owner."""


def check_schedule(schedule: Schedule) -> None:
    """Raise `InvalidSchedule` if the schedule cannot be followed."""
    next_run(schedule, previous=datetime(2000, 1, 1, tzinfo=UTC), first=False)


def next_run(schedule: Schedule, *, previous: datetime, first: bool) -> datetime:
    """Return when the next run is due after `previous`: the start of the last run, or when the table was first seen.

    With `every` the first run is due at once; with `cron` it waits for the first match.
    """
    if schedule.every is not None:
        return previous if first else previous + parse_duration(schedule.every)
    return _next_match(schedule.cron or "", previous=previous, zone=_zone(schedule.time_zone))


def latest_due(schedule: Schedule, *, now: datetime) -> datetime:
    """Return the newest moment of a schedule that has passed; `every` counts from 1970, so that it never drifts."""
    if schedule.every is not None:
        distance = parse_duration(schedule.every)
        return now - (now - datetime(1970, 1, 1, tzinfo=UTC)) % distance
    zone = _zone(schedule.time_zone)
    _next_match(schedule.cron or "", previous=now, zone=zone)  # refuses what is no schedule
    after = now.replace(microsecond=0) + timedelta(seconds=1)
    match = croniter(schedule.cron or "", after.astimezone(zone)).get_prev(datetime)
    return match.astimezone(UTC)


def _next_match(expression: str, *, previous: datetime, zone: ZoneInfo) -> datetime:
    if len(expression.split()) != 5:
        raise InvalidSchedule(f"schedule.cron {expression!r} must have five fields, for example '*/15 * * * *'")
    if any(part[:1] in _CHANCE for field in expression.lower().split() for part in field.split(",")):
        raise InvalidSchedule(f"schedule.cron {expression!r} must name its times: H and R stand for random times")
    try:
        match = croniter(expression, previous.astimezone(zone)).get_next(datetime)
    except (CroniterError, ValueError) as error:
        raise InvalidSchedule(f"schedule.cron {expression!r} names no point in time: {error}") from error
    return match.astimezone(UTC)


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidSchedule(f"schedule.timeZone {name!r} is no IANA time zone, for example Europe/Berlin") from error


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
