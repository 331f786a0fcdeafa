"""The checks on timelines of five releases of Hudi: no alarm on a healthy one, the right one after a kill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.diagnosis.recorded import NAMES, StoreLikeS3, just_after, recorded

from hudi_jobs.contract import Location
from hudi_operator.diagnosis.check import Examined
from hudi_operator.diagnosis.check_registry import CHECKS
from hudi_operator.diagnosis.examine import REQUESTS, Examination, examine

WHOLE = [name for name in NAMES if "-with-" not in name]
KILLED = {"write": "WriterStopped", "compaction": "PendingInstantOverdue", "clustering": "PendingInstantOverdue"}
RELEASES = sorted({name.partition("-")[0] for name in NAMES})


def examination(name: str, *, later: timedelta) -> Examination:
    """The facts of a recorded table, read so long after its newest instant."""
    base = Location.parse(str(recorded(name)))
    now = datetime(2026, 11, 21, tzinfo=UTC)
    first = examine(StoreLikeS3(), base, now=now).examined
    return examine(StoreLikeS3(), base, now=just_after(first.timeline, first.offset) + later)


def codes(table: Examined) -> list[str]:
    return [one.code.value for one in CHECKS if one.find(table) is not None and one.code != "TableVersionBehind"]


@pytest.mark.parametrize("name", WHOLE)
def test_table_that_hudi_has_just_written_has_no_finding(name: str) -> None:
    assert codes(examination(name, later=timedelta(minutes=5)).examined) == []


@pytest.mark.parametrize("name", WHOLE)
def test_only_pending_instants_become_findings_of_a_table_that_rests(name: str) -> None:
    table = examination(name, later=timedelta(days=30)).examined
    found = codes(table)
    assert set(found) <= ({"PendingInstantOverdue", "WriterStopped"} if table.timeline.pending else set())
    assert bool(found) is bool(table.timeline.pending)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("what", KILLED)
def test_what_a_killed_action_leaves_is_named(release: str, what: str) -> None:
    table = examination(f"{release}-killed-{what}", later=timedelta(hours=2)).examined
    assert codes(table) == [KILLED[what]]


@pytest.mark.parametrize("name", [name for name in NAMES if "-with-" in name])
def test_damage_to_a_file_is_named_with_the_file(name: str) -> None:
    table = examination(name, later=timedelta(minutes=5)).examined
    found = codes(table)
    assert ("TimelineDamaged" in found) is bool(table.timeline.problems)
    assert set(found) <= {"TimelineDamaged", "TimelineCorrupt", "RestorePending", "RollbackOfSavepoint", "ClocksDiffer"}


@pytest.mark.parametrize("name", NAMES)
def test_table_costs_at_most_twenty_requests(name: str) -> None:
    found = examination(name, later=timedelta(days=30))
    assert found.requests <= REQUESTS
