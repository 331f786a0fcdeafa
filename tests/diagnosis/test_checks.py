"""Each check on a small timeline that has its problem, and on one just inside the limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.world import NOW, ago, done, story

from hudi_jobs.contract.table.facts import TableFacts
from hudi_jobs.contract.table.zone import ShownZone
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Evidence, Examined, Undoing
from hudi_operator.diagnosis.check_registry import CHECKS, NEED_THE_CLUSTER, check_of
from hudi_operator.timeline import Action, CleanSummary, CommitMetadata, Instant, State, TableType, WriteStat
from hudi_operator.timeline.content.plans import CleanResult
from hudi_operator.timeline.model import Problem, TimelineZone

DAY, HOUR = 24 * 60, 60
COPY = TableType.COPY_ON_WRITE


def examined(*names: str, facts: dict[str, Any] | None = None, **changes: Any) -> Examined:
    """A table whose timeline holds these files; `facts` are told to the counters."""
    return Examined(timeline=story(*names, **(facts or {})), now=NOW, **changes)


def deltas(number: int, *, first: float, step: float = 10) -> tuple[str, ...]:
    """So many delta commits, the first so many minutes ago."""
    return tuple(done("deltacommit", first - step * one) for one in range(number))


def found(code: FindingCode, table: Examined) -> Evidence | None:
    return check_of(code).find(table)


def codes(table: Examined) -> list[str]:
    return [one.code.value for one in CHECKS if one.find(table) is not None]


def milliseconds(minutes_ago: float) -> int:
    return int((NOW - timedelta(minutes=minutes_ago)).timestamp() * 1000)


def rollbacks(action: str, times: Iterable[float]) -> tuple[Undoing, ...]:
    return tuple(
        Undoing(
            instant=Instant(ago(time - 1), Action.ROLLBACK, State.COMPLETED, ago(time - 2)),
            targets=(ago(time),),
            actions=(action,),
        )
        for time in times
    )


HEALTHY = examined(*deltas(3, first=60))
PENDING_ROLLBACK = Undoing(instant=Instant(ago(1), Action.ROLLBACK, State.INFLIGHT), targets=(ago(9),))
INFLIGHT = f"{ago(5 * HOUR)}.deltacommit.inflight"
PLAN = f"{ago(3 * DAY)}.compaction.requested"
PLANS = tuple(f"{ago(3 * DAY - one)}.compaction.requested" for one in range(5))
UPDATE = CommitMetadata(operation="UPSERT", write_stats=(WriteStat("f", "p/f.parquet", "p", updates=3),))
COMMIT = Instant(ago(5), Action.COMMIT, State.COMPLETED, ago(4))
METADATA = story(*deltas(2, first=30, step=1))
KEPT = CleanSummary(earliest_retained=ago(3 * DAY), last_completed_commit=ago(10))
NOTHING = CleanResult(earliest_retained=ago(3 * DAY))
SAVED = f"{ago(8 * DAY)}.savepoint"
OLD_COMMITS = (f"{ago(8 * DAY)}_{ago(8 * DAY - 1)}.commit", *(done("commit", 7 * DAY - one) for one in range(101)))
CLEANS = (*deltas(40, first=3 * DAY + 10), done("clean", 5), done("clean", 4), done("clean", 3))

CASES: dict[FindingCode, tuple[Examined, Examined]] = {
    FindingCode.TABLE_VERSION_UNSUPPORTED: (
        examined(*deltas(1, first=9), facts={"version": 5}),
        examined(*deltas(1, first=9), facts={"version": 6}),
    ),
    FindingCode.FILE_SLICES_UNCERTAIN: (replace(HEALTHY, facts=TableFacts(early_compaction=ago(9))), HEALTHY),
    FindingCode.UPGRADE_UNFINISHED: (replace(HEALTHY, facts=TableFacts(moved="20260101000000000.commit")), HEALTHY),
    FindingCode.TABLE_VERSION_BEHIND: (examined(*deltas(1, first=9), facts={"version": 8}), HEALTHY),
    FindingCode.TIMELINE_CORRUPT: (replace(HEALTHY, damaged=(Problem("x.commit", "It is empty."),)), HEALTHY),
    FindingCode.TIMELINE_DAMAGED: (
        replace(HEALTHY, timeline=replace(HEALTHY.timeline, problems=(Problem("x.clean", "It is empty."),))),
        HEALTHY,
    ),
    FindingCode.ROLLBACK_OF_SAVEPOINT: (
        examined(*deltas(1, first=9), f"{ago(9)}.savepoint", undoings=(PENDING_ROLLBACK,)),
        examined(*deltas(1, first=9), undoings=(PENDING_ROLLBACK,)),
    ),
    FindingCode.RESTORE_PENDING: (
        examined(*deltas(1, first=9), f"{ago(1)}.restore.requested"),
        examined(*deltas(1, first=9), done("restore", 1)),
    ),
    FindingCode.WRITES_FAIL: (
        examined(*deltas(1, first=9), undoings=rollbacks("deltacommit", (8, 7, 6))),
        examined(*deltas(1, first=9), undoings=rollbacks("deltacommit", (8, 7, 10))),
    ),
    FindingCode.CLUSTERING_FAILS: (
        examined(*deltas(1, first=9), undoings=rollbacks("clustering", (8, 7, 6))),
        examined(done("replacecommit", 7.5), undoings=rollbacks("clustering", (8, 7, 6))),
    ),
    FindingCode.PENDING_INSTANT_OVERDUE: (
        examined(f"{ago(61)}.clean.requested", *deltas(1, first=9)),
        examined(f"{ago(59)}.clean.requested", *deltas(1, first=9)),
    ),
    FindingCode.WRITER_STOPPED: (
        examined(INFLIGHT, heartbeats={ago(5 * HOUR): milliseconds(11)}),
        examined(INFLIGHT, heartbeats={ago(5 * HOUR): milliseconds(9)}),
    ),
    FindingCode.PLAN_PINS_HISTORY: (
        examined(PLAN, *deltas(31, first=2 * DAY)),
        examined(PLAN, *deltas(30, first=2 * DAY)),
    ),
    FindingCode.PLANS_NOT_EXECUTED: (examined(*PLANS), examined(*PLANS[1:])),
    FindingCode.SAVEPOINT_PINS_HISTORY: (
        examined(SAVED, *deltas(1, first=8 * DAY), *deltas(31, first=2 * DAY)),
        examined(SAVED, *deltas(1, first=8 * DAY), *deltas(30, first=2 * DAY)),
    ),
    FindingCode.ARCHIVAL_BEHIND: (
        examined(*deltas(1, first=8 * DAY), *deltas(300, first=2 * DAY, step=5)),
        examined(*deltas(1, first=6 * DAY), *deltas(300, first=2 * DAY, step=5)),
    ),
    FindingCode.TIMELINE_TOO_LONG: (
        replace(HEALTHY, timeline=replace(HEALTHY.timeline, files=1_001)),
        replace(HEALTHY, timeline=replace(HEALTHY.timeline, files=1_000)),
    ),
    FindingCode.COMPACTION_BEHIND: (
        examined(*deltas(51, first=2 * DAY)),
        examined(*deltas(51, first=20 * HOUR)),
    ),
    FindingCode.CLEANING_BEHIND: (
        examined(*OLD_COMMITS, facts={"kind": COPY}, commits=((COMMIT, UPDATE),)),
        examined(*OLD_COMMITS, facts={"kind": COPY}, commits=((COMMIT, CommitMetadata(operation="INSERT")),)),
    ),
    FindingCode.CLEANING_REMOVES_NOTHING: (
        examined(*CLEANS, facts={"clean": KEPT}, cleans=(NOTHING, NOTHING, NOTHING)),
        examined(*CLEANS, facts={"clean": KEPT}, cleans=(NOTHING, NOTHING, replace(NOTHING, files_deleted=1))),
    ),
    FindingCode.METADATA_TABLE_BEHIND: (
        examined(*deltas(3, first=30, step=1), metadata=METADATA),
        examined(*deltas(2, first=30, step=1), metadata=METADATA),
    ),
    FindingCode.METADATA_COMPACTION_BEHIND: (
        replace(HEALTHY, metadata=story(*deltas(101, first=DAY))),
        replace(HEALTHY, metadata=story(*deltas(100, first=DAY))),
    ),
    FindingCode.CLOCKS_DIFFER: (examined(*deltas(1, first=-11)), examined(*deltas(1, first=-9))),
    FindingCode.WRITERS_OVERLAP: (
        replace(HEALTHY, commits=((Instant(ago(9), Action.COMMIT, State.COMPLETED, ago(4)), UPDATE), (COMMIT, UPDATE))),
        replace(HEALTHY, commits=((Instant(ago(9), Action.COMMIT, State.COMPLETED, ago(6)), UPDATE), (COMMIT, UPDATE))),
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_check_finds_its_problem_and_not_a_table_just_inside_the_limits(code: FindingCode) -> None:
    broken, sound = CASES[code]
    evidence = found(code, broken)
    assert evidence is not None
    assert evidence.message.endswith(".")
    assert found(code, sound) is None


def test_each_check_has_a_case_and_says_what_is_blocked_and_what_helps() -> None:
    assert {one.code for one in CHECKS} == set(CASES)
    assert all(one.blocks.endswith(".") and one.remedy.endswith(".") for one in CHECKS)
    assert len(CHECKS) >= 15
    assert {one.code for one in CHECKS}.isdisjoint(NEED_THE_CLUSTER)


def test_message_of_a_check_is_the_same_a_minute_later() -> None:
    for code, (broken, _) in CASES.items():
        later = replace(broken, now=NOW + timedelta(minutes=1))
        first, second = found(code, broken), found(code, later)
        assert first is not None
        assert second is None or first.message == second.message, code


def test_healthy_table_has_no_finding() -> None:
    assert codes(HEALTHY) == []
    assert codes(examined()) == []


def test_dead_writer_is_said_once() -> None:
    table = examined(*deltas(2, first=9 * HOUR), INFLIGHT, heartbeats={ago(5 * HOUR): None})
    assert codes(table) == ["WriterStopped"]
    assert found(FindingCode.WRITER_STOPPED, replace(table, heartbeats={})) is None


def test_writer_with_a_heartbeat_is_overdue_and_not_stopped() -> None:
    table = examined(INFLIGHT, heartbeats={ago(5 * HOUR): milliseconds(1)})
    assert codes(table) == ["PendingInstantOverdue"]


def test_age_of_an_instant_in_an_unknown_zone_is_the_least_it_can_be() -> None:
    facts = {"zone": TimelineZone.LOCAL}
    young = examined(f"{ago(12 * HOUR)}.clean.requested", facts=facts)
    assert codes(young) == []
    assert codes(replace(young, written={ago(12 * HOUR): milliseconds(61)})) == ["PendingInstantOverdue"]
    known = TableFacts(zone=ShownZone(offset=timedelta(hours=-5), newest_ms=0))
    assert codes(replace(examined(f"{ago(6 * HOUR + 30)}.clean.requested", facts=facts), facts=known)) == [
        "PendingInstantOverdue"
    ]


def test_savepoint_that_a_resource_declares_is_no_finding() -> None:
    pinned, _ = CASES[FindingCode.SAVEPOINT_PINS_HISTORY]
    assert "SavepointPinsHistory" not in codes(replace(pinned, ours=frozenset({ago(8 * DAY)})))


def test_clock_of_the_store_that_agrees_with_the_writers_is_no_finding_and_a_copy_is_none_either() -> None:
    times = [60 - 2 * one for one in range(10)]
    agree = tuple((ago(one), milliseconds(one) + 300) for one in times)
    apart = tuple((ago(one), milliseconds(one) + 200_000) for one in times)
    copied = tuple((ago(one), milliseconds(1)) for one in times)
    assert codes(replace(HEALTHY, dated=agree)) == codes(replace(HEALTHY, dated=copied)) == []
    assert codes(replace(HEALTHY, dated=apart)) == ["ClocksDiffer"]


@pytest.mark.parametrize("time", ["0", "9" * 32, "20261345999999999", "20260310115900"])
def test_made_up_times_and_hostile_numbers_harm_no_check(time: str) -> None:
    names = (
        f"{time}.compaction.requested",
        f"{time}.deltacommit.inflight",
        f"{time}.savepoint",
        *deltas(40, first=DAY),
    )
    for zone in TimelineZone:
        table = examined(
            *names,
            facts={"zone": zone},
            written={time: 2**62},
            heartbeats={time: -(2**62)},
            dated=((time, 2**62), (time, 0)),
            metadata=story(*names),
        )
        for check in CHECKS:
            check.find(table)


def test_worst_severity_is_kept_for_what_loses_rows() -> None:
    critical = {one.code.value for one in CHECKS if one.severity is Severity.CRITICAL}
    assert critical == {
        "TableVersionUnsupported",
        "FileSlicesUncertain",
        "UpgradeUnfinished",
        "RollbackOfSavepoint",
        "RestorePending",
        "TimelineCorrupt",
        "MetadataTableBehind",
    }
