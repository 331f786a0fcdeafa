"""Which failed runs the operator reads the end of the log of, and what the status keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.continuous_world import VERSION, a_table, running, seen
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    ago,
    at,
    done,
    ended,
    failed,
    job,
    minutes,
    observe,
    outcome,
    plan_for,
    snapshot,
    status,
    story,
    succeeded,
    table,
)

from hudi_jobs.contract import JobOutcome, OperationKind, Outcome, Service
from hudi_operator.api.status.runs import FAILED_LOG_BYTES, FailedRunLog
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.runs.continuous import DRAINING
from hudi_operator.planning.model import JobObservation, Observation, PodTrouble
from hudi_operator.planning.outcome.life import with_logs
from hudi_operator.planning.outcome.status.failed_logs import runs_with_wanted_log

POD = "flights-pod"
OLD = FailedRunLog(service=Service.INGESTION, job="the-run-before", read_at=at(NOW - minutes(60)), text="row 7: Alice")


def failed_run(**changes: Any) -> JobObservation:
    return ended(**{"outcome": failed(), "pods": (POD,), "has_run": True, **changes})


def after(
    found: JobObservation, *, known: Any = None, kept: tuple[FailedRunLog, ...] = (), **changes: Any
) -> Observation:
    """A table whose remembered run is this Job, and whose operator keeps logs."""
    here = table(status=status(active_jobs=(known or active(),), failed_logs=kept))
    return observe(here, jobs=(found,), **{"logs": {}, **changes})


def wanted(observation: Observation) -> list[str]:
    return [one.name for one in runs_with_wanted_log(plan_for(observation))]


def kept_after(observation: Observation, text: str = "the reason") -> dict[str, str]:
    """What the status keeps once the logs that are wanted have been read."""
    plan = plan_for(observation)
    read = dict.fromkeys((one.name for one in runs_with_wanted_log(plan)), text)
    return {one.job: one.text for one in with_logs(plan, read).status.failed_logs}


def test_log_of_a_failed_run_is_wanted_once() -> None:
    observation = after(failed_run())
    assert wanted(observation) == [JOB]
    stored = again(observation, with_logs(plan_for(observation), {JOB: "the reason"}).status)
    assert wanted(stored) == []
    assert kept_after(stored) == {JOB: "the reason"}


def test_logs_change_nothing_of_a_plan_but_the_logs_in_its_status() -> None:
    observation, read = after(failed_run()), {JOB: "the reason"}
    plan = with_logs(plan_for(observation), read)
    assert plan == plan_for(replace(observation, logs=read))
    assert plan.status.copy_with(failed_logs=()) == plan_for(observation).status


@pytest.mark.parametrize(
    "found",
    [
        ended(outcome=outcome(Outcome.NOTHING_TO_DO), pods=(POD,), has_run=True),
        failed_run(has_run=False),
        failed_run(pods=()),
        job(pods=(POD,), has_run=True),
    ],
    ids=["without failure", "never ran", "without a pod", "still runs"],
)
def test_no_log_is_wanted_of_a_run(found: JobObservation) -> None:
    assert wanted(after(found)) == []


def test_no_log_is_wanted_where_the_operator_keeps_none() -> None:
    observation = after(failed_run(), kept=(OLD,), logs=None)
    assert wanted(observation) == []
    assert plan_for(observation).status.failed_logs == ()


def test_newest_failed_run_of_a_service_replaces_the_log_of_the_one_before() -> None:
    assert kept_after(after(failed_run(), kept=(OLD,))) == {JOB: "the reason"}
    other = OLD.copy_with(service=Service.CLEANING)
    assert kept_after(after(failed_run(), kept=(other,))) == {"the-run-before": "row 7: Alice", JOB: "the reason"}


def test_failed_run_without_a_log_leaves_the_log_of_the_one_before() -> None:
    assert kept_after(after(failed_run(pods=()), kept=(OLD,))) == {"the-run-before": "row 7: Alice"}


def test_log_of_a_run_that_is_stopped_for_its_executors_is_read_before_its_pod_goes() -> None:
    waits = job(
        trouble=PodTrouble.EXECUTORS_WAITING,
        message="No executor has started: no room.",
        executors_wait_since=NOW - minutes(6),
        pods=(POD,),
        has_run=True,
    )
    assert kept_after(after(waits)) == {JOB: "the reason"}
    assert wanted(after(replace(waits, executors_wait_since=NOW - minutes(1)))) == []


@pytest.mark.parametrize(("waited", "names"), [(120, [JOB]), (1, [])])
def test_log_of_a_driver_without_progress_is_read_before_its_pod_goes(waited: float, names: list[str]) -> None:
    found = job(class_version=VERSION, generation=1, pods=(POD,), has_run=True)
    still = seen(found=found, logs={})
    moved = plan_for(still).active_jobs[0].live
    assert moved is not None
    known = running(live=moved.copy_with(moved_at=at(NOW - minutes(waited))))
    assert wanted(seen(found=found, known=known, logs={})) == names


def test_log_of_a_driver_that_is_stopped_for_a_change_is_not_wanted() -> None:
    found = job(class_version=VERSION, generation=1, pods=(POD,), has_run=True)
    stopped = seen(a_table(generation=2), found=found, logs={})
    assert plan_for(stopped).active_jobs[0].state == DRAINING
    assert wanted(stopped) == []


def operation(kind: OperationKind, told: JobOutcome, *, dry_run: bool = False) -> Observation:
    """A table whose operation has ended."""
    named = NamedOperationJob(kind=kind, resource="back", uid="uid-op", dry_run=dry_run)
    found = failed_run(service=Service.OPERATION, outcome=told)
    known = active(service="Operation", operation=named, pending=())
    made = snapshot(timeline=story(done("commit", 6), done("commit", 1)))
    return after(found, known=known, kept=(OLD,), snapshot=made)


def test_log_of_an_operation_is_kept_and_that_of_an_erasure_never() -> None:
    assert wanted(operation(OperationKind.RUN_SERVICE, failed())) == [JOB]
    assert wanted(operation(OperationKind.ERASE, failed())) == []


def test_log_of_an_operation_that_the_status_does_not_know_is_not_wanted() -> None:
    observation = operation(OperationKind.RUN_SERVICE, failed())
    forgotten = status(active_jobs=(active(service="Operation"),))
    assert wanted(replace(observation, table=table(status=forgotten))) == []


@pytest.mark.parametrize(("dry_run", "left"), [(False, {}), (True, {"the-run-before": "row 7: Alice"})])
def test_erasure_removes_the_kept_logs_of_all_services(dry_run: bool, left: dict[str, str]) -> None:
    done_at = succeeded(instant=ago(1))
    observation = operation(OperationKind.ERASE, done_at, dry_run=dry_run)
    assert kept_after(observation) == left


def test_kept_logs_of_all_services_are_bounded_lines_of_the_object() -> None:
    text = ("é" * 40 + "\n") * 50 + "x" * 46
    assert len(text.encode()) == FAILED_LOG_BYTES
    logs = tuple(OLD.copy_with(service=one, text=text) for one in Service)
    before, after_all = (status(failed_logs=one).to_document() for one in ((), logs))
    line = after_all["memory"]["failedLogs"]
    assert "memory" not in before
    assert line.count("\n") == 1
    assert len(line.encode()) < len(logs) * (FAILED_LOG_BYTES + 300)
