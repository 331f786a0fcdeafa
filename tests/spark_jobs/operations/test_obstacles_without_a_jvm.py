"""A run ends with the first obstacle, a dry run with all of them: in order, once each, and as an outcome has room."""

import pytest

from hudi_jobs.contract import FailureReason, JobOutcome, OperationPhase, OperationReport, Outcome, TaskResult
from hudi_jobs.contract.operations.operation import LONGEST_OBSTACLE, MOST_OBSTACLES
from hudi_jobs.contract.outcome import decode_outcome, encode_outcome
from hudi_jobs.operations.refusal import Obstacles, refused
from hudi_jobs.spark.failures import TaskFailed


def test_a_run_ends_with_the_first() -> None:
    obstacles = Obstacles()
    with pytest.raises(TaskFailed, match="one"), obstacles.each():
        raise refused("one")
    obstacles.require_none()


def test_a_dry_run_names_each_once_and_counts_those_that_follow_the_first() -> None:
    obstacles = Obstacles(gathers=True)
    for sentence in ("One.", "Two.", "One.", "Three."):
        with obstacles.each():
            raise refused(sentence)
    with pytest.raises(TaskFailed, match="One") as failure:
        obstacles.require_none()
    obstacles.ended_by(failure.value)
    assert obstacles.named() == ("One.", "Two.", "Three.")
    said = obstacles.failure(failure.value)
    assert said.reason is FailureReason.OPERATION_REFUSED
    assert said.message == "One. The report names 2 more obstacles. Nothing was changed."


def test_failure_behind_an_obstacle_is_named_after_it() -> None:
    obstacles = Obstacles(gathers=True)
    with obstacles.each():
        raise refused("A file is missing.")
    broken = TaskFailed(FailureReason.HUDI_ERROR, "The rows cannot be read.")
    obstacles.ended_by(broken)
    assert obstacles.named() == ("A file is missing.", "The rows cannot be read.")
    assert obstacles.failure(broken).reason is FailureReason.OPERATION_REFUSED


def test_a_failure_without_an_obstacle_is_none() -> None:
    obstacles = Obstacles(gathers=True)
    lost = TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "The store does not answer.")
    with pytest.raises(TaskFailed, match="does not answer"), obstacles.each():
        raise lost
    obstacles.ended_by(lost)
    assert (obstacles.named(), obstacles.failure(lost)) == ((), lost)


def test_obstacles_of_any_length_fit_into_an_outcome_beside_everything_else() -> None:
    obstacles = Obstacles(gathers=True)
    for number in range(MOST_OBSTACLES + 5):
        with obstacles.each():
            raise refused(f"{number} {chr(0x1F600) * 500}")
    named = obstacles.named()
    assert len(named) == MOST_OBSTACLES
    assert all(len(one.encode()) <= LONGEST_OBSTACLE for one in named)
    instants = tuple(f"202601010000000{number:02}" for number in range(20))
    report = OperationReport(
        phase=OperationPhase.CHECKING, removed=instants, savepoints=instants, obstacles=named, count=2**40, bytes=2**53
    )
    result = TaskResult(id="one", outcome=Outcome.FAILED, message="x" * 2000, operation=report)
    (read,) = decode_outcome(encode_outcome(JobOutcome(results=(result,)))).results
    assert read.operation == report
    assert read.message
