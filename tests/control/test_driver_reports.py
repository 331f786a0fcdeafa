"""What a driver reports when it ends, read from its pod: the outcome, and when its container ran."""

from __future__ import annotations

import copy

import pytest
from tests.control.job_documents import (
    COLLECTED,
    COMPLETE,
    CREATED,
    EVICTED,
    FAILED,
    NOW,
    OUTCOME,
    TASK,
    Document,
    stamp,
    terminated,
    the_job,
    the_pod,
    view,
    waiting,
)
from tests.planning.world import JOB

from hudi_jobs.contract import JobOutcome, Outcome, TaskResult, encode_outcome
from hudi_operator.planning.model import PodTrouble


@pytest.mark.parametrize("figure", [10**30, -(10**30)])
def test_figures_that_no_status_can_hold_are_no_report(figure: int) -> None:
    said = encode_outcome(JobOutcome(results=(TaskResult(id=TASK, outcome=Outcome.SUCCEEDED, rows_read=figure),)))
    assert view(the_job(status=COMPLETE), terminated(0, "Completed", said))[0].outcome is None


def test_report_of_the_driver_is_read_from_its_termination_message() -> None:
    (found,) = view(the_job(status=COMPLETE), terminated(0, "Completed", encode_outcome(OUTCOME)))
    assert (found.outcome, found.exit_code) == (OUTCOME, 0)


@pytest.mark.parametrize("message", ["", "Killed", "{", '{"version": 2}'])
def test_a_driver_that_said_nothing_readable_said_nothing(message: str) -> None:
    (found,) = view(the_job(status=FAILED), terminated(1, "Error", message))
    assert (found.outcome, found.exit_code) == (None, 1)


def test_only_the_drivers_container_speaks_for_the_run() -> None:
    pod = terminated(0, "Completed", encode_outcome(OUTCOME))
    sidecar = copy.deepcopy(pod["status"]["containerStatuses"][0]) | {"name": "injected"}
    sidecar["state"]["terminated"] |= {"message": "", "exitCode": 9}
    pod["status"]["containerStatuses"].insert(0, sidecar)
    (found,) = view(the_job(status=COMPLETE), pod)
    assert (found.outcome, found.exit_code) == (OUTCOME, 0)


def test_a_pod_that_was_evicted_after_its_report_still_reports() -> None:
    pod = terminated(0, "Completed", encode_outcome(OUTCOME), reason="Evicted")
    (found,) = view(the_job(status=FAILED), pod)
    assert (found.outcome, found.trouble) == (OUTCOME, PodTrouble.EVICTED)


@pytest.mark.parametrize("other", [terminated(137, "OOMKilled"), COLLECTED, EVICTED])
def test_report_of_one_of_two_drivers_is_not_the_whole(other: Document) -> None:
    """The Job controller may start a program twice: the second gives way, and the first may have done half."""
    gave_way = JobOutcome(results=(TaskResult(id=TASK, outcome=Outcome.FENCED),))
    second = terminated(0, "Completed", encode_outcome(gave_way))
    second["metadata"]["name"] = f"{JOB}-second"
    (found,) = view(the_job(status=FAILED), second, other)
    assert found.outcome is None
    (found,) = view(the_job(status=FAILED), second, waiting("ContainerCreating"))
    assert found.outcome == gave_way


def test_times_of_a_driver_are_those_of_its_container_and_of_its_pod_without_a_report() -> None:
    (found,) = view(the_job(status=COMPLETE), terminated(0, "Completed"))
    assert (found.started_at, found.ended_at) == (CREATED, NOW)
    lost = the_pod("Failed", state={}, startTime=stamp(CREATED), reason="Evicted")
    (found,) = view(the_job(status=FAILED), lost)
    assert (found.started_at, found.ended_at) == (CREATED, None)


@pytest.mark.parametrize("time", [7, {}, "yesterday", "9" * 500, "0001-01-01T00:00:00Z"])
def test_times_that_are_none_are_left_out(time: object) -> None:
    state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time}}
    (found,) = view(the_job(status=COMPLETE), the_pod("Succeeded", state=state, startTime=time))
    assert (found.started_at, found.ended_at) == (None, None)
