"""What follows when the Kubernetes API refuses a Job."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.planning.world import NOW, active, again, done, job, minutes, observe, plan_for, status, story, table

from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.life import refused
from hudi_operator.planning.outcome.plan import Plan

REQUEST = {"hudi-operator.io/requested-at": "2026-03-10T11:59:30Z"}


def refuse(observation: Observation, *, now: datetime = NOW, message: str = "exceeded quota") -> Plan:
    plan = plan_for(observation, now=now)
    (launch,) = plan.actions
    assert isinstance(launch, LaunchJob)
    return refused(plan, launch.job, message=message, now=now)


def condition(after: HudiTableStatus, kind: ConditionType) -> Any:
    return find_condition(after.conditions, kind)


def test_a_refused_job_counts_as_a_failed_run_that_is_tried_again_later() -> None:
    plan = refuse(observe())
    (done,) = plan.finished
    assert (done.outcome, done.reason) == ("Failed", "JobRefused")
    assert done.message == "The Kubernetes API refused the Job: exceeded quota"
    assert (plan.actions, plan.active_jobs, plan.history) == ((), (), (done,))
    assert (plan.services.ingestion.infrastructure_failures, plan.services.ingestion.due) == (1, False)


def test_the_status_after_a_refusal_is_the_one_that_the_next_reconcile_confirms() -> None:
    world = observe()
    first = refuse(world).status
    following = again(world, first)
    assert plan_for(following).status == first


def test_the_status_after_a_refusal_names_the_next_attempt() -> None:
    world = observe()
    after = refuse(world).status
    assert after.services.ingestion.next_attempt_at == "2026-03-10T12:00:10Z"
    assert condition(after, ConditionType.READY).reason == "JobRefused"
    assert condition(after, ConditionType.RECONCILING).message == (
        "Failed once (JobRefused); the next attempt is at 2026-03-10T12:00:10Z."
    )


def test_a_request_whose_job_was_refused_is_answered_and_backs_off_like_any_failure() -> None:
    world = observe(table(annotations=REQUEST))
    after = refuse(world).status
    following = plan_for(again(world, after))

    assert after.last_handled_reconcile_at == REQUEST["hudi-operator.io/requested-at"]
    assert following.actions == ()
    assert following.services.ingestion.reason == "WaitingForRetry"


def test_refusals_back_off_further_each_time() -> None:
    world = observe()
    waits: list[Any] = []
    for _ in range(4):
        plan = refuse(world, now=NOW + minutes(600) * len(waits))
        world = observe(table(status=status(ingestion=plan.services.ingestion)))
        waits.append(plan.services.ingestion.next_attempt_at)
    assert [str(wait)[11:] for wait in waits] == ["12:00:10Z", "22:00:20Z", "08:00:40Z", "18:01:20Z"]


def test_an_endless_refusal_is_cut_to_what_the_status_can_hold() -> None:
    plan = refuse(observe(), message="x" * 10**5)
    assert len(plan.finished[0].message) == 1000


def test_a_request_outlasts_the_refusal_of_another_service() -> None:
    """Beside a running ingestion a compaction is refused; the ingestion that was asked for is still to come."""
    optimistic = {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}
    one = table(
        annotations=REQUEST,
        index={"type": "Bucket"},
        type="MergeOnRead",
        concurrency=optimistic,
        status=status(active_jobs=(active(),)),
    )
    seen = TimelineSnapshot(timeline=story(*(done("deltacommit", 50 - number) for number in range(5))))
    world = observe(one, jobs=(job(),), snapshot=seen)
    plan = refuse(world)

    assert [run.service for run in plan.finished] == ["Compaction"]
    assert plan.services.ingestion.message.startswith("Requested at")
    assert plan.services.compaction.infrastructure_failures == 1
    after = plan.status
    assert after.last_handled_reconcile_at is None
    assert plan_for(again(world, after)).status == after
