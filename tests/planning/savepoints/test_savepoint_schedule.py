"""Savepoints by a schedule: which HudiSavepoints are created and deleted, and which are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.operations.operations import allowing, operation
from tests.planning.savepoints.savepoints import entry, later, saved, savepoint, works, world
from tests.planning.world import NOW, ago, at, done, minutes, plan_for

from hudi_operator.api.resources import (
    SAVEPOINTS,
    SCHEDULED_LABEL,
    HudiSavepoint,
    OwnerReference,
    parse_savepoint,
)
from hudi_operator.api.spec.schedule import SavepointSchedule, Schedule
from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.savepoints import RetainedStatus, TableSavepoint
from hudi_operator.jobs.resources import build_savepoint
from hudi_operator.planning.facts.savepoints.scheduled import is_scheduled, kept
from hudi_operator.planning.model import CreateSavepoint, DeleteSavepoint, Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.model.times import latest_due

HOURLY = {"schedule": {"every": "1h"}, "keepLast": 2}
FIRST = datetime(2025, 12, 20, tzinfo=UTC)
MOMENTS = st.sets(st.integers(0, 52 * 24).map(lambda hours: FIRST + timedelta(hours=hours)), max_size=40)
COUNTS = st.fixed_dictionaries({f"keep_{one}": st.integers(0, 12) for one in ("last", "daily", "weekly", "monthly")})


def schedule(**changes: Any) -> SavepointSchedule:
    return SavepointSchedule(schedule=Schedule(every="1h"), **changes)


@given(MOMENTS, COUNTS)
def test_each_rule_keeps_the_newest_of_as_many_as_it_counts(made: set[datetime], counts: dict[str, int]) -> None:
    found = kept(made, schedule(**counts))
    assert found <= made
    last = counts["keep_last"]
    assert set(sorted(made)[-last:] if last else ()) <= found
    days = sorted({one.date() for one in made})[-counts["keep_daily"] :] if counts["keep_daily"] else []
    assert {max(one for one in made if one.date() == day) for day in days} <= found
    assert len(found) <= sum(counts.values())
    if any(counts.values()) and made:
        assert max(made) in found


@given(MOMENTS, MOMENTS, COUNTS)
def test_incomplete_list_keeps_all_moments_that_the_complete_list_keeps(
    seen: set[datetime], unseen: set[datetime], counts: dict[str, int]
) -> None:
    assert kept(seen | unseen, schedule(**counts)) & seen <= kept(seen, schedule(**counts))


@given(MOMENTS, COUNTS)
def test_kept_moments_are_kept_again(made: set[datetime], counts: dict[str, int]) -> None:
    found = kept(made, schedule(**counts))
    assert kept(found, schedule(**counts)) == found


def test_days_weeks_and_months_are_kept_as_a_grandfather_a_father_and_a_son() -> None:
    made = {datetime(2026, 1, 1, hour, tzinfo=UTC) + timedelta(days=day) for day in range(60) for hour in (1, 13)}
    found = sorted(kept(made, schedule(keep_last=2, keep_daily=3, keep_weekly=2, keep_monthly=3)))
    assert [f"{one:%m-%d %H}" for one in found] == [
        "01-31 13",
        "02-22 13",
        "02-27 13",
        "02-28 13",
        "03-01 01",
        "03-01 13",
    ]


@given(st.integers(0, 10**7), st.sampled_from(["7m", "1h", "24h", "168h"]))
def test_a_moment_by_every_is_the_same_for_all_who_ask_until_the_next(seconds: int, every: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    moment = latest_due(Schedule(every=every), now=now)
    assert moment <= now < latest_due(Schedule(every=every), now=moment) + timedelta(days=8)
    assert latest_due(Schedule(every=every), now=moment) == moment
    assert latest_due(Schedule(every=every), now=moment - timedelta(seconds=1)) < moment


@pytest.mark.parametrize(
    ("cron", "zone", "expected"),
    [
        ("0 3 * * *", None, "2026-03-10T03:00:00Z"),
        ("0 12 * * *", None, "2026-03-10T12:00:00Z"),
        ("1 12 * * *", None, "2026-03-09T12:01:00Z"),
        ("0 3 * * *", "Asia/Tokyo", "2026-03-09T18:00:00Z"),
    ],
)
def test_a_moment_by_cron_is_the_last_one_that_has_come(cron: str, zone: str | None, expected: str) -> None:
    assert at(latest_due(Schedule(cron=cron, time_zone=zone), now=NOW.replace(microsecond=999999))) == expected


def scheduled(name: str, created: datetime, **changes: Any) -> HudiSavepoint:
    """One that the table has asked for by its schedule."""
    one = savepoint(name, created=created, deletionPolicy="Delete", **changes)
    owner = OwnerReference(kind="HudiTable", uid=world().table.metadata.uid, controller=True)
    metadata = one.metadata.copy_with(labels={SCHEDULED_LABEL: "true"}, owner_references=(owner,))
    return one.copy_with(metadata=metadata)


def kept_entry(name: str, commit: float) -> TableSavepoint:
    return entry(name, instant=ago(commit), since=at(NOW), state="Kept")


def asked(seen: Observation, **more: Any) -> list[tuple[str, str]]:
    actions = [one for one in plan_for(seen, **more).actions if isinstance(one, CreateSavepoint | DeleteSavepoint)]
    return [("create" if isinstance(one, CreateSavepoint) else "delete", one.name) for one in actions]


def test_a_resource_is_created_for_the_newest_moment_under_a_name_that_says_it() -> None:
    seen = world(savepoints=HOURLY)
    assert asked(seen) == asked(seen, now=later(59)) == [("create", "flights-20260310120000")]
    assert asked(seen, now=later(60)) == [("create", "flights-20260310130000")]
    assert plan_for(seen).changes_in == 3600
    assert asked(world()) == []


def test_none_is_created_where_that_of_the_moment_is_there_or_one_before_it_waits() -> None:
    there = scheduled("now", NOW + minutes(1))
    assert asked(world(there, savepoints=HOURLY), now=later(30)) == []
    waits = scheduled("before", NOW - minutes(90))
    assert asked(world(waits, savepoints=HOURLY)) == []
    assert works(world(waits, savepoints=HOURLY)), "it is made like any other"


def test_none_is_created_without_a_commit_that_has_no_savepoint() -> None:
    seen = world(savepoints=HOURLY, files=(saved(10),))
    assert asked(seen) == []
    assert asked(world(savepoints=HOURLY, files=(saved(10), done("commit", 2)))) == [
        ("create", "flights-20260310120000")
    ]


@pytest.mark.parametrize("changes", [{"suspend": True}, {"managementPolicy": "Observe"}], ids=["suspended", "observed"])
def test_nothing_is_created_or_deleted_while_nothing_may_start(changes: dict[str, Any]) -> None:
    assert asked(many(**changes)) == []


def many(**changes: Any) -> Observation:
    """Three that are kept, of 3, 2 and 1 hours ago, of which the schedule keeps two."""
    hours = {"a": 30, "b": 20, "c": 10}
    own = [scheduled(name, NOW - minutes(6 * commit)) for name, commit in hours.items()]
    known = tuple(kept_entry(name, commit) for name, commit in hours.items())
    files = tuple(saved(commit) for commit in hours.values())
    return world(*own, remembered=known, files=files, savepoints=HOURLY, **changes)


def test_savepoint_outside_the_schedule_is_deleted_by_its_uid() -> None:
    assert asked(many()) == [("delete", "a")]
    (action,) = [one for one in plan_for(many()).actions if isinstance(one, DeleteSavepoint)]
    assert action.uid == "uid-of-a"


def test_nothing_is_deleted_twice_or_without_the_label_or_of_another_table() -> None:
    seen = many()
    first, *others = seen.related.savepoints
    assert isinstance(first, HudiSavepoint)
    changes: tuple[dict[str, Any], ...] = (
        {"deletion_timestamp": at(NOW)},
        {"labels": {}},
        {"labels": {SCHEDULED_LABEL: "false"}},
        {"owner_references": ()},
        {"owner_references": (OwnerReference(kind="HudiTable", uid="another", controller=True),)},
        {"owner_references": (OwnerReference(kind="HudiTable", uid=seen.table.metadata.uid),)},
    )
    for change in changes:
        other = first.copy_with(metadata=first.metadata.copy_with(**change))
        assert asked(replace(seen, related=Related.of({SAVEPOINTS: (other, *others)}))) == []


def test_broken_scheduled_savepoint_goes_after_a_newer_whole_one_and_takes_no_place() -> None:
    own = [scheduled(name, NOW - minutes(age)) for name, age in (("a", 300), ("b", 200), ("lost", 100), ("now", 0))]
    lost = entry("lost", instant=ago(15), since=at(NOW), state="Lost")
    known = (kept_entry("a", 30), kept_entry("b", 20), lost)
    files = (saved(30), saved(20))
    assert asked(world(*own, remembered=known, files=files, savepoints=HOURLY)) == [("delete", "lost")]
    assert asked(world(*own[:3], remembered=known, files=files, savepoints=HOURLY)) == [
        ("create", "flights-20260310120000")
    ]


def test_whole_savepoints_lose_no_place_to_those_that_lack_files() -> None:
    whole = [kept_entry(name, commit) for name, commit in (("a", 30), ("b", 20), ("c", 10))]
    broken = [one.copy_with(retained=RetainedStatus(missing=3)) for one in whole]
    cleaned = [one.copy_with(data_complete=ConditionStatus.FALSE) for one in whole]
    seen = many()

    def with_known(*known: TableSavepoint) -> list[tuple[str, str]]:
        status = seen.table.status.copy_with(savepoints=known)
        return asked(replace(seen, table=seen.table.copy_with(status=status)))

    assert with_known(whole[0], broken[1], cleaned[2]) == []
    assert with_known(*broken) == [("delete", "a")], "they are not kept without end either"
    assert with_known(broken[0], whole[1], whole[2]) == [("delete", "a")]
    assert with_known(broken[0], cleaned[1], whole[2]) == [("delete", "a"), ("delete", "b")]


def test_savepoint_of_an_unfinished_restore_is_not_deleted() -> None:
    seen = many(table_class=allowing(approval="Manual"))
    for restore in ({"savepoint": "a"}, {"instant": ago(30)}):
        asks = operation(restore=restore)
        assert asked(replace(seen, related=replace(seen.related, operations=(asks,)))) == []
    asks = operation(restore={"savepoint": "b"})
    assert asked(replace(seen, related=replace(seen.related, operations=(asks,)))) == [("delete", "a")]


def test_a_day_is_that_of_the_moment_whatever_the_clock_of_the_api_server() -> None:
    midnights = [datetime(2026, 3, day, tzinfo=UTC) for day in (8, 9, 10)]
    names = [f"flights-{one:%Y%m%d%H%M%S}" for one in midnights]
    skews = (timedelta(seconds=1), timedelta(seconds=-1), timedelta(seconds=1))
    own = [scheduled(name, one + skew) for name, one, skew in zip(names, midnights, skews, strict=True)]
    known = tuple(kept_entry(name, commit) for name, commit in zip(names, (30, 20, 10), strict=True))
    daily = {"schedule": {"every": "24h"}, "keepDaily": 3}
    files = (saved(30), saved(20), saved(10))
    assert asked(world(*own, remembered=known, files=files, savepoints=daily)) == []


def test_scheduled_savepoints_stay_without_the_schedule() -> None:
    seen = many()
    spec = seen.table.spec.copy_with(savepoints=None)
    assert asked(replace(seen, table=seen.table.copy_with(spec=spec))) == []


def test_created_savepoint_is_the_tables_own_and_goes_with_it() -> None:
    table = world().table
    manifest = build_savepoint(table, "flights-20260310120000")
    read = parse_savepoint(manifest)
    assert isinstance(read, HudiSavepoint)
    assert is_scheduled(read, table)
    assert (read.spec.latest, read.spec.keep_forever, read.spec.deletion_policy) == (True, True, "Delete")


def test_a_cron_expression_that_names_no_time_asks_for_nothing() -> None:
    seen = world(savepoints={"schedule": {"cron": "61 * * * *"}, "keepLast": 1})
    assert asked(seen) == []
