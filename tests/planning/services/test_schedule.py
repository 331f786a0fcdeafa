"""When runs are due: fixed distances, cron expressions, time zones, and what no schedule can say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.api.spec.schedule import Schedule
from hudi_operator.planning.model.times import InvalidSchedule, check_schedule, next_run


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(expression: str, zone: str | None = None) -> Schedule:
    # Built without validation: what an older CRD let through must not crash the operator.
    return Schedule.model_construct(every=None, cron=expression, time_zone=zone)


def following(schedule: Schedule, start: str, count: int) -> list[str]:
    moment, found = utc(start), []
    for _ in range(count):
        moment = next_run(schedule, previous=moment, first=False)
        found.append(f"{moment:%m-%d %H:%M}")
    return found


def test_the_first_run_at_a_fixed_distance_is_due_at_once() -> None:
    seen = utc("2026-03-10T12:00")
    assert next_run(Schedule(every="6h"), previous=seen, first=True) == seen


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("30s", "2026-03-10T12:00:30"),
        ("5m", "2026-03-10T12:05"),
        ("1h30m", "2026-03-10T13:30"),
        ("0.5h", "2026-03-10T12:30"),
        ("48h", "2026-03-12T12:00"),
    ],
)
def test_later_runs_are_due_one_distance_after_the_last_start(every: str, expected: str) -> None:
    assert next_run(Schedule(every=every), previous=utc("2026-03-10T12:00"), first=False) == utc(expected)


@pytest.mark.parametrize(
    ("expression", "zone", "start", "expected"),
    [
        ("*/15 * * * *", None, "2026-03-10T12:01", ["03-10 12:15", "03-10 12:30"]),
        ("0 3 * * 1", None, "2026-03-10T12:00", ["03-16 03:00", "03-23 03:00"]),
        ("0 0 29 2 *", None, "2026-03-10T12:00", ["02-29 00:00"]),
        ("0 12 * * *", "Asia/Kolkata", "2026-03-10T12:00", ["03-11 06:30"]),
        # Noon stays noon on the wall, whatever the clocks do in between.
        ("0 12 * * *", "Europe/Berlin", "2026-03-27T12:00", ["03-28 11:00", "03-29 10:00", "03-30 10:00"]),
        ("0 12 * * *", "Europe/Berlin", "2026-10-23T12:00", ["10-24 10:00", "10-25 11:00", "10-26 11:00"]),
        # 02:30 does not exist on 29 March: the run comes when the gap ends, not a day later.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["03-29 01:00", "03-30 00:30"]),
        # Half-hourly work continues without a gap or a repetition when an hour is skipped or comes twice.
        ("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:10", ["03-29 00:30", "03-29 01:00", "03-29 01:30"]),
        ("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:40", ["10-25 00:00", "10-25 00:30", "10-25 01:00"]),
        # Lord Howe moves by half an hour.
        ("0 * * * *", "Australia/Lord_Howe", "2026-04-04T13:40", ["04-04 14:00", "04-04 15:30"]),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", ["11-04 03:00", "11-05 02:00"]),
    ],
)
def test_cron_follows_the_wall_clock_of_its_zone(
    expression: str, zone: str | None, start: str, expected: list[str]
) -> None:
    assert following(cron(expression, zone), start, len(expected)) == expected


def test_the_first_run_by_cron_waits_for_a_match() -> None:
    assert next_run(cron("0 6 * * *"), previous=utc("2026-03-10T12:00"), first=True) == utc("2026-03-11T06:00")


def test_a_run_that_started_on_a_match_waits_for_the_next_one() -> None:
    assert next_run(cron("0 6 * * *"), previous=utc("2026-03-10T06:00"), first=False) == utc("2026-03-11T06:00")


@pytest.mark.parametrize("schedule", [Schedule(every="5m"), Schedule(cron="*/5 * * * *")])
def test_runs_missed_during_an_outage_are_made_up_for_by_one_run(schedule: Schedule) -> None:
    missed = next_run(schedule, previous=utc("2026-03-10T12:00"), first=False)
    late_start = utc("2026-03-10T18:02")

    assert missed == utc("2026-03-10T12:05")
    assert next_run(schedule, previous=late_start, first=False) > late_start


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 31 2 *",
        "60 * * * *",
        "0 24 * * *",
        "a b c d e",
        "*/0 * * * *",
        "0 0 0 * *",
        "* * * *",
        "* * * * * *",
        "@daily",
        "",
        "H * * * *",
        "R * * * *",
        "0 r(2-5) * * *",
        "0,R * * * *",
    ],
)
def test_a_cron_expression_that_names_no_certain_time_is_refused_with_a_sentence(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match=r"^schedule\.cron '.*' [a-z]"):
        check_schedule(cron(expression))


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "Europe", "europe/berlin", "../../etc/passwd", "/etc/passwd", "A" * 300]
)
def test_a_time_zone_that_does_not_exist_is_refused_with_a_sentence(zone: str) -> None:
    with pytest.raises(InvalidSchedule, match="is no IANA time zone, for example Europe/Berlin"):
        check_schedule(cron("0 0 * * *", zone))


@pytest.mark.parametrize(
    "schedule", [Schedule(every="1s"), Schedule(every="2562047h"), Schedule(cron="0 0 29 2 *"), cron("0 0 * MAR THU")]
)
def test_an_unusual_schedule_that_can_be_followed_is_accepted(schedule: Schedule) -> None:
    check_schedule(schedule)


@given(
    expression=st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 * * 0", "15 1-3 * * *", "0 0 1 */3 *"]),
    zone=st.sampled_from(
        ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
    ),
    seconds=st.integers(0, 15 * 366 * 86400),
)
def test_the_next_run_by_cron_is_later_in_utc_the_same_each_time_and_at_a_whole_minute(
    expression: str, zone: str, seconds: int
) -> None:
    schedule, previous = cron(expression, zone), utc("2020-01-01") + timedelta(seconds=seconds)
    found = next_run(schedule, previous=previous, first=False)

    assert found > previous
    assert found - previous < timedelta(days=100)
    assert found.utcoffset() == timedelta(0)
    assert (found.second, found.microsecond) == (0, 0)
    assert found == next_run(schedule, previous=previous, first=False)
