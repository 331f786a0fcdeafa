"""What carries the plan of a living table out, and what follows when a Job of it is refused."""

from __future__ import annotations

from tests.planning.world import JOB, NOW, active, ended, minutes, observe, outcome, plan_for, status, table

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import LaunchJob
from hudi_operator.planning.outcome.life import refused_step, step_of
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.step import Step


def refuse(plan: Plan, written: HudiTableStatus, *, later: float = 0) -> Step:
    (launch,) = (action for action in plan.actions if isinstance(action, LaunchJob))
    now = NOW + minutes(later)
    return refused_step(plan, launch.job, message="exceeded quota", written=written, now=now)


def test_a_run_that_ended_in_the_same_reconcile_is_counted_once_although_the_next_one_is_refused() -> None:
    remembered = status(active_jobs=(active(),))
    seen = observe(table(status=remembered), jobs=(ended(outcome=outcome(Outcome.NOTHING_TO_DO)),))
    plan = plan_for(seen, now=NOW + minutes(6))
    first = step_of(plan)
    after = refuse(plan, first.status, later=6)
    assert [run.job for run in first.finished] == [JOB]
    assert [run.reason for run in after.finished] == ["JobRefused"]


def test_events_of_the_intent_are_not_repeated_when_the_job_is_refused() -> None:
    suspended = observe(table(suspend=True))
    seen = observe(table(status=step_of(plan_for(suspended)).status))
    plan = plan_for(seen)
    first = step_of(plan)
    after = refuse(plan, first.status)
    assert "Resumed" in [notice.reason for notice in first.notices]
    assert [notice.reason for notice in after.notices] == ["JobRefused"]
