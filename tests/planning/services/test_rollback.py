"""A clustering plan that failed in itself is rolled back before its service is tried again."""

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.services.test_pending import CLUSTERED, DELTAS, INFLIGHT, MOR, OLD, OPTIMISTIC, REQUESTED, planned
from tests.planning.services.test_pending import launched as launches_of
from tests.planning.world import (
    NOW,
    active,
    ago,
    at,
    ended,
    failed,
    job,
    memory,
    minutes,
    outcome,
    run,
    story,
)

from hudi_jobs.contract import FailureReason, Outcome, RunMode, Service
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.model import JobObservation, JobPhase, PodTrouble
from hudi_operator.planning.model.reasons import RunTrouble
from hudi_operator.planning.outcome.plan import Plan

ROLL_BACK = [("Clustering", "RollBack", OLD)]
ASYNC: dict[str, Any] = {**MOR, **CLUSTERED, "compaction": {"mode": "Disabled"}}
DISABLED: dict[str, Any] = {**ASYNC, "clustering": {"mode": "Disabled"}}
INLINE: dict[str, Any] = {**ASYNC, "clustering": {"mode": "Inline"}}
CAUSE = "The column attrs cannot be sorted."


def after(reason: str = "HudiError", **changes: Any) -> ServiceStatus:
    """What is remembered of a clustering whose last run failed for a reason a moment ago."""
    failure = {"job": "cluster-1", "service": "Clustering", "reason": reason, "message": CAUSE}
    last = run(Outcome.FAILED, finished_at=at(NOW), **failure)
    return memory(last_run=last, failures_generation=1, **{"failures": 1, **changes})


def decided(remembered: ServiceStatus, seen: Any = None, **spec: Any) -> Plan:
    return planned(seen or INFLIGHT["clustering"], remembered={"clustering": remembered}, **{**ASYNC, **spec})


def clusterings(plan: Plan) -> list[tuple[str, str | None, str | None]]:
    return [one for one in launches_of(plan) if one[0] == "Clustering"]


OWN_FAULTS = [
    FailureReason.HUDI_ERROR,
    FailureReason.INTERNAL_ERROR,
    FailureReason.OUT_OF_MEMORY,
    FailureReason.COLUMN_MISSING,
    FailureReason.INVALID_REQUEST,
    PodTrouble.OUT_OF_MEMORY,
    PodTrouble.DEADLINE_EXCEEDED,
    RunTrouble.DRIVER_DIED,
]
OTHER_FAULTS = [
    FailureReason.STORAGE_UNAVAILABLE,
    FailureReason.STORAGE_ACCESS_DENIED,
    FailureReason.LOCK_UNAVAILABLE,
    FailureReason.INTERRUPTED,
    FailureReason.CONFLICT,
    PodTrouble.NODE_LOST,
    PodTrouble.EVICTED,
    RunTrouble.JOB_LOST,
]


@pytest.mark.parametrize("timelines", [REQUESTED, INFLIGHT], ids=["requested", "inflight"])
@pytest.mark.parametrize("concurrency", [{}, OPTIMISTIC], ids=["serialized", "optimistic"])
@pytest.mark.parametrize("spec", [ASYNC, DISABLED, INLINE], ids=["async", "disabled", "inline"])
def test_plan_of_a_failed_clustering_is_rolled_back_ahead_of_the_backoff(
    spec: dict[str, Any], concurrency: dict[str, Any], timelines: dict[str, Any]
) -> None:
    plan = decided(after(), timelines["clustering"], **spec, **concurrency)
    assert clusterings(plan) == ROLL_BACK
    assert launches_of(plan)[0] == ROLL_BACK[0], "The rollback goes before ingestion"
    message = plan.services.clustering.message
    assert f"clustering {OLD} is rolled back" in message
    assert f"cluster-1 failed (HudiError): {CAUSE}" in message


@pytest.mark.parametrize("reason", OWN_FAULTS)
def test_every_cause_in_the_run_itself_leads_to_the_rollback(reason: str) -> None:
    assert clusterings(decided(after(reason))) == ROLL_BACK


@pytest.mark.parametrize("reason", OTHER_FAULTS)
def test_plan_stays_for_the_retry_where_store_node_or_another_writer_was_the_cause(reason: str) -> None:
    plan = decided(after(reason, failures=0, infrastructure_failures=1, conflicts=1))
    assert clusterings(plan) == []
    assert plan.services.clustering.next_attempt_at is not None


def test_plan_is_rolled_back_even_where_the_budget_of_failures_is_used_up() -> None:
    assert clusterings(decided(after(failures=50))) == ROLL_BACK
    assert clusterings(decided(after(failures=50, rollback_of=OLD))) == []
    assert decided(after(failures=50, rollback_of=OLD)).services.clustering.reason == "RetriesExhausted"


def ended_rollback(observed: JobObservation, **changes: Any) -> Plan:
    """The plan in the moment in which the rollback's Job ends; its plan is gone unless `seen` is given."""
    working = active("rollback-1", service="Clustering", pending=(OLD,), instant=OLD, run_mode="RollBack")
    remembered = {"active_jobs": (working,), "clustering": after(**changes.pop("memory", {}))}
    seen = changes.pop("seen", story(*DELTAS))
    return planned(seen, remembered=remembered, jobs=(observed,), **{**ASYNC, **changes})


def rollback_job(**changes: Any) -> JobObservation:
    return ended("rollback-1", service=Service.CLUSTERING, **changes)


ROLLED_BACK = rollback_job(outcome=outcome(Outcome.NOTHING_TO_DO, message="It was rolled back."))


def test_failed_clustering_still_backs_off_after_its_plan_was_rolled_back() -> None:
    plan = ended_rollback(ROLLED_BACK)
    known = plan.services.clustering
    assert clusterings(plan) == []
    assert (known.reason, known.failures, known.rollback_of) == ("WaitingForRetry", 1, OLD)
    assert known.last_run is not None
    assert known.last_run.job == "cluster-1", "The cause stays in sight"
    assert [one.job for one in plan.finished] == ["rollback-1"]
    alone = {**ASYNC, "ingestion": None}
    later = planned(story(*DELTAS), now=NOW + minutes(30), remembered={"clustering": known}, **alone)
    assert clusterings(later) == [("Clustering", "ScheduleAndExecute", None)]


def test_rollback_that_did_not_remove_the_plan_is_not_tried_again() -> None:
    """A driver may leave a plan alone: then the service waits for its retry, and no Job follows the other."""
    for observed in (ROLLED_BACK, rollback_job(outcome=failed(FailureReason.HUDI_ERROR)), rollback_job(exit_code=137)):
        plan = ended_rollback(observed, seen=INFLIGHT["clustering"])
        known = plan.services.clustering
        assert clusterings(plan) == [], observed
        assert (known.reason, known.rollback_of) == ("WaitingForRetry", OLD), observed
        later = planned(INFLIGHT["clustering"], now=NOW + minutes(30), remembered={"clustering": known}, **ASYNC)
        assert clusterings(later) == [("Clustering", "Execute", OLD)], observed


def test_failed_rollback_counts_as_a_failure_of_its_service() -> None:
    plan = ended_rollback(rollback_job(outcome=failed(FailureReason.HUDI_ERROR, "The lock file is damaged.")))
    assert plan.services.clustering.failures == 2


def test_each_plan_that_failed_is_rolled_back_once() -> None:
    newer = ago(40.5)
    seen = story(*DELTAS, f"{newer}.clustering.requested", f"{newer}.clustering.inflight", clusterings=[newer])
    assert clusterings(decided(after(rollback_of=OLD), seen)) == [("Clustering", "RollBack", newer)]


def test_rollback_of_a_disabled_service_forgets_its_failures() -> None:
    plan = ended_rollback(ROLLED_BACK, clustering={"mode": "Disabled"})
    assert plan.services.clustering.failures == 0


def test_plan_of_another_tool_is_not_rolled_back_for_a_failure_of_ours() -> None:
    remembered = {"clustering": after(), "left_behind": ()}
    for concurrency in ({}, OPTIMISTIC):
        plan = planned(INFLIGHT["clustering"], remembered=remembered, **ASYNC, **concurrency)
        assert clusterings(plan) == []


def test_plan_is_not_rolled_back_while_a_job_works_on_it() -> None:
    working = active("cluster-2", service="Clustering", pending=(), started_at=at(NOW - minutes(46)))
    remembered = {"active_jobs": (working,), "clustering": after(), "left_behind": ()}
    alive = job("cluster-2", service=Service.CLUSTERING, phase=JobPhase.RUNNING)
    plan = planned(INFLIGHT["clustering"], remembered=remembered, jobs=(alive,), **ASYNC)
    assert clusterings(plan) == []


def test_clustering_that_was_killed_is_rolled_back_at_once() -> None:
    working = active("cluster-1", service="Clustering", pending=(), started_at=at(NOW - minutes(46)))
    remembered = {"active_jobs": (working,), "left_behind": ()}
    died = replace(job("cluster-1", service=Service.CLUSTERING), phase=JobPhase.OVER, exit_code=137)
    plan = planned(INFLIGHT["clustering"], remembered=remembered, jobs=(died,), **ASYNC)
    assert clusterings(plan) == ROLL_BACK
    assert plan.services.clustering.failures == 1


def test_plan_of_a_failed_compaction_waits_for_the_retry() -> None:
    """Hudi can only execute it: log files already lie behind it, and writers go on beside it."""
    last = run(Outcome.FAILED, service="Compaction", reason="HudiError", finished_at=at(NOW))
    known = {"compaction": memory(last_run=last, failures=1, failures_generation=1)}
    plan = planned(INFLIGHT["compaction"], remembered=known, **MOR)
    assert all(mode != RunMode.ROLL_BACK for _, mode, _ in launches_of(plan))
    assert plan.services.compaction.reason in {"WaitingForRetry", "WaitingForHeartbeat"}


def test_message_of_a_rollback_has_a_length() -> None:
    last = run(Outcome.FAILED, service="Clustering", reason="HudiError", message="x" * 1024, finished_at=at(NOW))
    plan = decided(memory(last_run=last, failures=1, failures_generation=1))
    assert clusterings(plan) == ROLL_BACK
    assert len(plan.services.clustering.message) < 700
