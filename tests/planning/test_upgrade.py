"""What an earlier release has left behind: its status is memory that must not be lost, and its runs continue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.planning.world import NOW, ended, job, minutes, observe, plan_for, snapshot, succeeded

from hudi_jobs.contract import Outcome
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.api.status.memory import joined
from hudi_operator.planning.model import JobObservation
from hudi_operator.planning.outcome.plan import Plan

OLD_TABLES = sorted((Path(__file__).parents[1] / "fixtures" / "stored").glob("huditable-*.json"))
RUNNING = "flights-ingestion-268a8f3e8b"
LATER = NOW + minutes(2)
BEFORE = ("flights-ingestion-aaaaaaaaaa", "20260310113000000")

pytestmark = pytest.mark.parametrize("path", OLD_TABLES, ids=lambda path: path.stem)


def stored(path: Path) -> HudiTable:
    parsed = parse_table(json.loads(path.read_text()))
    assert isinstance(parsed, HudiTable)
    return parsed


def plan(table: HudiTable, *jobs: JobObservation, runs: tuple[tuple[str, str], ...] = (BEFORE,)) -> Plan:
    return plan_for(observe(table, snapshot=snapshot(*runs), jobs=jobs), now=LATER)


def holds(new: Any, old: Any) -> bool:
    """Whether a document still says all that an older one said."""
    if isinstance(old, dict):
        return all(key in new and holds(new[key], value) for key, value in old.items())
    return bool(new == old)


def test_its_status_is_read_whole(path: Path) -> None:
    document = json.loads(path.read_text())
    assert holds(joined(stored(path).status.to_document()), joined(document["status"]))


def test_a_run_that_is_under_way_is_neither_launched_again_nor_forgotten(path: Path) -> None:
    after = plan(stored(path), job(RUNNING))
    assert after.actions == ()
    assert [active.name for active in after.active_jobs] == [RUNNING]


def test_a_run_that_ended_during_the_upgrade_is_counted_once(path: Path) -> None:
    table, done = stored(path), ended(RUNNING, outcome=succeeded())
    runs = ((RUNNING, "20260310120100000"), BEFORE)
    first = plan(table, done, runs=runs)
    assert [(run.job, run.outcome) for run in first.finished] == [(RUNNING, Outcome.SUCCEEDED)]

    status = first.status
    second = plan(table.copy_with(status=status), done, runs=runs)
    assert second.finished == ()
    assert len(status.history) == len(table.status.history) + 1


def test_a_request_that_was_answered_is_not_answered_again(path: Path) -> None:
    assert plan(stored(path), job(RUNNING)).answered is None
