"""Failures in classes: budgets, backoff, and what resets them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    ago,
    at,
    class_spec,
    done,
    ended,
    failed,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    snapshot,
    status,
    status_of,
    story,
    table,
)
from tests.planning.world import table_class as a_class

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.facts.runs.failures import FailureKind, after_failures, failure_kind
from hudi_operator.planning.facts.runs.memory import remember_runs
from hudi_operator.planning.model import LaunchJob, PodTrouble, TimelineSnapshot
from hudi_operator.planning.model.reasons import RunTrouble
from hudi_operator.planning.outcome.plan import Plan

JOB, OUTSIDE, CONFLICT = FailureKind.JOB, FailureKind.INFRASTRUCTURE, FailureKind.CONFLICT
REQUEST = {"hudi-operator.io/requested-at": "2026-03-10T11:59:30Z"}

KINDS: dict[StrEnum, FailureKind] = {
    **dict.fromkeys(FailureReason, JOB),
    **dict.fromkeys(PodTrouble, OUTSIDE),
    FailureReason.INTERRUPTED: OUTSIDE,
    FailureReason.SOURCE_UNAVAILABLE: OUTSIDE,
    FailureReason.STORAGE_UNAVAILABLE: OUTSIDE,
    FailureReason.STORAGE_FULL: OUTSIDE,
    FailureReason.LOCK_UNAVAILABLE: OUTSIDE,
    FailureReason.CATALOG_UNAVAILABLE: OUTSIDE,
    FailureReason.CLOCK_BEHIND: OUTSIDE,
    FailureReason.CONFLICT: CONFLICT,
    FailureReason.OWNED_ELSEWHERE: CONFLICT,
    FailureReason.OUT_OF_MEMORY: JOB,
    PodTrouble.DEADLINE_EXCEEDED: JOB,
    RunTrouble.DRIVER_DIED: JOB,
    RunTrouble.NOT_CONFIRMED: JOB,
    RunTrouble.JOB_LOST: OUTSIDE,
    RunTrouble.JOB_REFUSED: OUTSIDE,
}


@pytest.mark.parametrize("reason", sorted(KINDS, key=str), ids=str)
def test_every_reason_has_a_cause(reason: StrEnum) -> None:
    assert failure_kind(run(Outcome.FAILED, reason=str(reason))) is KINDS[reason]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Outcome.SUCCEEDED, None),
        (Outcome.NOTHING_TO_DO, None),
        (Outcome.CONFLICT, CONFLICT),
        (Outcome.FENCED, CONFLICT),
    ],
)
def test_run_without_a_failure_has_no_cause(kind: Outcome, expected: FailureKind | None) -> None:
    assert failure_kind(run(kind, reason=None)) is expected


def remembered(*runs: RunStatus, before: ServiceStatus | None = None, generation: int = 1) -> ServiceStatus:
    return remember_runs(before or memory(), runs, table=table(generation=generation), table_class=class_spec())


def counts(found: ServiceStatus) -> tuple[int, int, int]:
    return found.failures, found.infrastructure_failures, found.conflicts


BAD, EVICTED, LOST = (
    run(Outcome.FAILED),
    run(Outcome.FAILED, reason="Evicted"),
    run(Outcome.CONFLICT, reason="Conflict"),
)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((BAD, EVICTED, LOST, BAD), (2, 1, 1)),
        ((BAD, EVICTED, LOST, run()), (0, 0, 0)),
        ((BAD, EVICTED, LOST, run(Outcome.NOTHING_TO_DO, reason=None)), (0, 0, 0)),
    ],
)
def test_each_kind_is_counted_apart_until_a_run_succeeds(runs: Any, expected: tuple[int, int, int]) -> None:
    assert counts(remembered(*runs)) == expected


def test_an_eviction_does_not_grow_the_delay_of_a_bad_input() -> None:
    before = memory(failures=4, failures_generation=1)
    found = after_failures(remembered(EVICTED, before=before), class_spec().retry, now=NOW)
    assert found is not None
    assert found.at == NOW - minutes(1) + minutes(10 / 60)


def waiting(
    kind: Outcome = Outcome.FAILED, reason: str | None = "HudiError", classes: Any = None, **counted: int
) -> Plan:
    last = run(kind, reason=reason, finished_at=at(NOW))
    before = memory(last_run=last, failures_generation=1, **counted)
    one = table(status=status(ingestion=before))
    return plan_for(observe(one, table_class=a_class(**(classes or {}))), now=NOW + minutes(59))


@pytest.mark.parametrize(
    ("plan", "exhausted"),
    [
        (waiting(failures=9), False),
        (waiting(failures=10), True),
        (waiting(failures=2, classes={"retry": {"maxAttempts": 2}}), True),
        (waiting(reason="Evicted", infrastructure_failures=19), False),
        (waiting(reason="Evicted", infrastructure_failures=20), True),
        (
            waiting(reason="Evicted", infrastructure_failures=3, classes={"retry": {"maxInfrastructureAttempts": 3}}),
            True,
        ),
        (waiting(reason="Evicted", failures=9, infrastructure_failures=19), False),
        (waiting(Outcome.CONFLICT, reason="Conflict", conflicts=1000), False),
    ],
    ids=range(8),
)
def test_a_service_gives_up_when_a_budget_is_used_up(plan: Plan, *, exhausted: bool) -> None:
    assert (plan.services.ingestion.reason == "RetriesExhausted") is exhausted
    assert any(isinstance(action, LaunchJob) for action in plan.actions) is not exhausted


def given_up(**changes: Any) -> Any:
    last = run(Outcome.FAILED, finished_at=at(NOW - minutes(30)), reason="HudiError", message="It broke.")
    before = memory(last_run=last, failures=10, failures_generation=1)
    return observe(table(status=status(ingestion=before), **changes))


def test_a_service_that_has_given_up_is_tried_again_after_an_hour() -> None:
    assert not plan_for(given_up(), now=NOW + minutes(29)).active_jobs
    plan = plan_for(given_up(), now=NOW + minutes(30))
    assert [one.attempt for one in plan.active_jobs] == [11]


def test_a_service_that_has_given_up_stalls_the_table_and_says_what_to_do() -> None:
    after = status_of(given_up())
    stalled = find_condition(after.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.reason == "HudiError"
    assert after.services.ingestion.reason == "RetriesExhausted"
    assert stalled.message == (
        "It broke. Failed 10 times in a row, the limit of the class; the last reason is HudiError. Remove the cause, "
        "then change the spec or the class, or set the annotation hudi-operator.io/requested-at; otherwise it is "
        f"retried at {at(NOW + minutes(30))}."
    )
    assert find_condition(after.conditions, ConditionType.RECONCILING) is None
    assert after.services.ingestion.next_attempt_at == at(NOW + minutes(30))


@pytest.mark.parametrize("remedy", [{"generation": 2}, {"annotations": REQUEST}])
def test_a_service_that_has_given_up_starts_anew_by_the_remedies_that_it_names(remedy: dict[str, Any]) -> None:
    plan = plan_for(given_up(**remedy))
    assert [one.attempt for one in plan.active_jobs] == [1]
    assert plan.services.ingestion.failures == 0


def test_a_request_gives_table_services_a_new_start_too() -> None:
    last = run(Outcome.FAILED, service="Compaction", finished_at=at(NOW), reason="HudiError")
    before = {
        "ingestion": memory(last_run=run(started_at=at(NOW))),
        "compaction": memory(last_run=last, failures=10, failures_generation=1),
    }
    seen = TimelineSnapshot(timeline=story(*(done("deltacommit", 50 - number) for number in range(5))))
    spec: dict[str, Any] = {"type": "MergeOnRead", "ingestion": None}

    resting = plan_for(observe(table(status=status(**before), **spec), snapshot=seen))
    asked = plan_for(observe(table(status=status(**before), annotations=REQUEST, **spec), snapshot=seen))
    assert resting.services.compaction.reason == "RetriesExhausted"
    assert [one.service for one in asked.active_jobs] == ["Compaction"]


def test_a_failure_that_is_no_longer_due_is_forgotten() -> None:
    """Another tool has compacted meanwhile."""
    last = run(Outcome.FAILED, service="Compaction", finished_at=at(NOW), reason="HudiError")
    before = status(compaction=memory(last_run=last, failures=3, failures_generation=1))
    seen = TimelineSnapshot(timeline=story(done("deltacommit", 50)))
    found = plan_for(observe(table(status=before, type="MergeOnRead", ingestion=None), snapshot=seen))
    assert (found.services.compaction.failures, found.services.compaction.reason) == (0, "BelowThreshold")


def test_a_clustering_that_lost_to_a_writer_backs_off_and_leaves_the_table_ready() -> None:
    seen = story(*(done("deltacommit", 50 - number) for number in range(4)))
    spec: dict[str, Any] = {"type": "MergeOnRead", "clustering": {"mode": "Async"}, "ingestion": None}
    over = ended("clustered", outcome=outcome(Outcome.CONFLICT, message="A writer won."))
    one = table(status=status(active_jobs=(active("clustered", service="Clustering"),)), **spec)
    observation = observe(one, jobs=(over,), snapshot=TimelineSnapshot(timeline=seen))
    plan, after = plan_for(observation), status_of(observation)

    assert [(done.outcome, done.message) for done in plan.finished] == [("Conflict", "A writer won.")]
    assert (plan.services.clustering.conflicts, plan.services.clustering.reason) == (1, "WaitingForRetry")
    words = {str(one.type): f"{one.status} {one.reason}" for one in after.conditions}
    assert (words["Ready"], words["Healthy"]) == ("True Succeeded", "True NoFindings")
    assert after.services.clustering.last_run is not None
    assert after.services.clustering.last_run.outcome == "Conflict"
    assert "Gave way to another run once (Conflict)" in plan.services.clustering.message


def test_a_service_that_fails_makes_the_table_not_ready_and_is_named() -> None:
    seen = story(*(done("deltacommit", 50 - number) for number in range(5)))
    one = table(
        status=status(active_jobs=(active("compacted", service="Compaction", base_instant=ago(46)),)),
        type="MergeOnRead",
        ingestion=None,
    )
    over = ended("compacted", outcome=failed(FailureReason.HUDI_ERROR, "It broke."))
    after = status_of(observe(one, jobs=(over,), snapshot=TimelineSnapshot(timeline=seen)))
    ready = find_condition(after.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason, ready.message) == ("False", "HudiError", "Compaction: It broke.")


def test_memory_grows_for_the_service_that_ran_out_of_it_and_for_no_other() -> None:
    seen = story(*(done("deltacommit", 50 - number) for number in range(5)))
    one = table(status=status(active_jobs=(active("compacted", service="Compaction"),)), type="MergeOnRead")
    plan = plan_for(
        observe(
            one, jobs=(ended("compacted", trouble=PodTrouble.OUT_OF_MEMORY),), snapshot=TimelineSnapshot(timeline=seen)
        )
    )
    assert plan.services.compaction.driver_memory == "3072Mi"
    assert plan.services.ingestion.driver_memory is None


def test_an_ingestion_that_gave_way_is_tried_again_and_not_said_to_be_ready() -> None:
    one = table(status=status(active_jobs=(active(),)))
    after = status_of(
        observe(one, jobs=(ended(outcome=outcome(Outcome.CONFLICT, message="Lost.")),), snapshot=snapshot())
    )
    ready = find_condition(after.conditions, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "Conflict")
