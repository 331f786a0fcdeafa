"""When a run is due by its schedule."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from croniter.croniter import CroniterError

from hudi_operator.api.spec.schedule import Schedule
from hudi_operator.api.values.base import parse_duration

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
