"""Schedules of runs and of savepoints, and the settings of a driver that ingests continuously."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_operator.api.values.base import DefaultsTo, Duration, Model, at_least, duration_or, rules, value_or, words

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


_LONGEST_INTERVAL = "1h"
_LONGEST_RUN = "168h"


class ServicePlacement(StrEnum):
    """Where table services of a Serialized table run while its driver does."""

    INSIDE = "Inside"
    """Inside the driver's process, beside its batches: ingestion continues."""

    ALTERNATING = "Alternating"
    """In Jobs of their own; the driver ends before each of them."""


class Continuous(Model):
    """How a driver keeps reading the source, batch after batch."""

    min_interval: Duration = "10s"
    """Minimum time between the starts of two batches; without new input, between two polls of the source. After a batch
    that reaches a limit and leaves input unread, the next batch starts at once.
    """

    recycle_after: Duration = "12h"
    """Time after which the driver ends between two batches and another driver starts, which releases growing resources
    such as memory.
    """

    progress_deadline: Duration = "15m"
    """Stop the driver as `NoProgress` if it makes no progress and no commit for this long. Must exceed the longest
    batch.
    """

    services: ServicePlacement = ServicePlacement.INSIDE
    """On a Serialized table: whether table services run `Inside` the driver's process, beside its batches and with its
    memory, or `Alternating` with it. If any service is `Inline`, none runs inside the driver.
    """

    service_interval: Duration = "30m"
    """On a Serialized table: minimum time that the driver works before it ends for due table services that do not run
    inside it, such as a service that has failed there.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            at_least("minInterval", "1s"),
            (
                f"{duration_or('minInterval', _LONGEST_INTERVAL)} <= duration('{_LONGEST_INTERVAL}')",
                f"minInterval must not be longer than {_LONGEST_INTERVAL}",
            ),
            at_least("recycleAfter", "10m"),
            (
                f"{duration_or('recycleAfter', _LONGEST_RUN)} <= duration('{_LONGEST_RUN}')",
                f"recycleAfter must not be longer than {_LONGEST_RUN}",
            ),
            at_least("progressDeadline", "2m"),
            (
                f"{duration_or('progressDeadline', _LONGEST_RUN)} <= duration('{_LONGEST_RUN}')",
                f"progressDeadline must not be longer than {_LONGEST_RUN}",
            ),
            at_least("serviceInterval", "1m"),
        )
    )


CONTINUOUS_RULES = (
    (
        "!has(self.continuous) || (has(self.mode) && self.mode == 'Continuous')",
        "continuous is only for mode Continuous",
    ),
    (
        "!has(self.schedule) || !has(self.mode) || self.mode != 'Continuous'",
        "schedule is not for mode Continuous, because its driver runs all the time",
    ),
    (
        "!has(self.mode) || self.mode != 'Continuous' || !has(self.operation) || self.operation != 'InsertOverwrite'",
        "operation InsertOverwrite is not for mode Continuous: each batch would replace the rows of the batch before",
    ),
)
"""Rules of the ingestion that has this section."""
