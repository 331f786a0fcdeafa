"""When a table is reconciled in full again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import active, memory, observe, plan_for

from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.planning.decide import ACTIVE_SECONDS, QUIET_SECONDS, requeue_after
from hudi_operator.planning.model import Blocker, BlockerReason
from hudi_operator.planning.outcome.plan import Plan

NOTHING = replace(plan_for(observe()), active_jobs=(), services=ServicesStatus(), changes_in=None)
RUNS = replace(NOTHING, active_jobs=(active(),))
DUE = replace(NOTHING, services=ServicesStatus(ingestion=memory(due=True)))
RIVAL = Blocker(reason=BlockerReason.PATH_CLAIMED, message="Another table has the claim.")


@pytest.mark.parametrize(
    ("plan", "changes", "poll", "seconds"),
    [
        (NOTHING, {}, 10, QUIET_SECONDS),
        (NOTHING, {"blockers": (RIVAL,)}, 10, 10),
        (RUNS, {}, 10, ACTIVE_SECONDS),
        (RUNS, {}, 300, ACTIVE_SECONDS),
        (DUE, {}, 10, 30),
        (DUE, {}, 300, 300),
    ],
    ids=[
        "nothing calls for it",
        "something stands in the way",
        "a Job runs",
        "a Job runs on a quiet table",
        "what is due waits",
        "what is due waits on a quiet table",
    ],
)
def test_a_whole_reconcile_follows_after(plan: Plan, changes: dict[str, Any], poll: float, seconds: float) -> None:
    plan = replace(plan, facts=replace(plan.facts, observation=observe(**changes)))
    assert requeue_after(plan, poll=poll) == seconds


@pytest.mark.parametrize("plan", [NOTHING, RUNS, DUE], ids=["nothing", "a Job runs", "something is due"])
def test_changes_by_time_are_met_to_the_second(plan: Plan) -> None:
    for seconds in (3.0, 29.0):
        assert requeue_after(replace(plan, changes_in=seconds), poll=10, spread=lambda _: 30.0) == seconds
    assert requeue_after(replace(plan, changes_in=10**6), poll=10) == requeue_after(plan, poll=10)


def test_pauses_are_drawn_so_that_tables_drift_apart() -> None:
    assert requeue_after(RUNS, poll=10, spread=lambda seconds: seconds * 1.1) == pytest.approx(33)
