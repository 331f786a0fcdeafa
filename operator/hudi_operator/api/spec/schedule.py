"""Schedules of runs and of savepoints, with the number of savepoints to keep."""

from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_operator.api.values.base import Duration, Model, at_least, rules, words
from hudi_operator.api.values.defaults import DefaultsTo, duration_or, value_or

MOST_SCHEDULED = 40
"""The most savepoints that the schedule of a table keeps: fewer than the HudiSavepoints that a reconcile considers."""

_NOTHING = 0
_KEPT = " + ".join(value_or(one, _NOTHING) for one in ("keepLast", "keepDaily", "keepWeekly", "keepMonthly"))


class Schedule(Model):
    """When a run is due: at a fixed distance or by a cron expression."""

    every: Duration | None = None
    """Time between the starts of two runs."""

    cron: (
        Annotated[
            str,
            Field(
                pattern=r"^[^\s]+( +[^\s]+){4}$",
                max_length=100,
                json_schema_extra=words(
                    "must be a cron expression of five fields: minute, hour, day, month and weekday"
                ),
            ),
        ]
        | None
    ) = None
    """Five-field cron expression."""

    time_zone: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$",
                max_length=64,
                json_schema_extra=words("must be a time zone of IANA such as UTC or Europe/Berlin"),
            ),
        ]
        | None,
        DefaultsTo("UTC"),
    ] = None
    """IANA time zone of the cron expression."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("has(self.every) != has(self.cron)", "exactly one of every and cron must be set"),
            ("!has(self.timeZone) || has(self.cron)", "timeZone is only for cron"),
            at_least("every", "1s"),
        )
    )


Keep = Annotated[int, Field(ge=0, le=MOST_SCHEDULED)]


class SavepointSchedule(Model):
    """When a savepoint is made, and which savepoints are kept; the rest is removed from the table."""

    schedule: Schedule
    """When a HudiSavepoint of the latest commit is created; `every` counts from 1970 on, so `24h` is midnight UTC."""

    keep_last: Keep = _NOTHING
    """Number of the newest savepoints that are kept."""

    keep_daily: Keep = _NOTHING
    """Number of days (UTC) with a savepoint of which the newest savepoint is kept."""

    keep_weekly: Keep = _NOTHING
    """Number of weeks, from Monday on, with a savepoint of which the newest savepoint is kept."""

    keep_monthly: Keep = _NOTHING
    """Number of months with a savepoint of which the newest savepoint is kept."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (f"{_KEPT} >= 1", "at least one of keepLast, keepDaily, keepWeekly and keepMonthly must be set"),
            (f"{_KEPT} <= {MOST_SCHEDULED}", f"at most {MOST_SCHEDULED} savepoints can be kept"),
            (
                f"{duration_or('schedule.every', '1m')} >= duration('1m')",
                "schedule.every must be at least 1m",
            ),
        )
    )
