"""What became of a run: the driver's word against the timeline, in every combination."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import JOB, NOW, active, at, ended, failed, outcome, snapshot, succeeded

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, TaskResult
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.planning.facts.runs.outcomes import conclude, ended_run
from hudi_operator.planning.model import JobObservation, PodTrouble, TimelineSnapshot, TimelineTrouble

T = "20260310115900000"
COMMITTED = snapshot((JOB, T))
NOT_COMMITTED = snapshot(("flights-ingestion-other", "20260310110000000"))
NO_TABLE = TimelineSnapshot()
UNREADABLE = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="down")

SAYS_SUCCEEDED = ended(outcome=succeeded(), exit_code=0)
SAYS_NOTHING = ended(outcome=outcome(Outcome.NOTHING_TO_DO, message="No new files."), exit_code=0)
SAYS_FAILED = ended(outcome=failed(), exit_code=1)
SAYS_NO_WORD = ended(exit_code=137)
VANISHED = None


@pytest.mark.parametrize(
    ("observed", "seen", "expected"),
    [
        (SAYS_SUCCEEDED, COMMITTED, (Outcome.SUCCEEDED, None, T)),
        (SAYS_SUCCEEDED, NOT_COMMITTED, (Outcome.FAILED, "NotConfirmed", None)),
        (SAYS_SUCCEEDED, NO_TABLE, (Outcome.FAILED, "NotConfirmed", None)),
        (SAYS_SUCCEEDED, UNREADABLE, None),
        (SAYS_NOTHING, NOT_COMMITTED, (Outcome.NOTHING_TO_DO, None, None)),
        (SAYS_NOTHING, NO_TABLE, (Outcome.NOTHING_TO_DO, None, None)),
        (SAYS_NOTHING, UNREADABLE, (Outcome.NOTHING_TO_DO, None, None)),
        (SAYS_FAILED, COMMITTED, (Outcome.SUCCEEDED, None, T)),
        (SAYS_FAILED, NOT_COMMITTED, (Outcome.FAILED, "SourceNotFound", None)),
        (SAYS_FAILED, NO_TABLE, (Outcome.FAILED, "SourceNotFound", None)),
        (SAYS_FAILED, UNREADABLE, None),
        (SAYS_NO_WORD, COMMITTED, (Outcome.SUCCEEDED, None, T)),
        (SAYS_NO_WORD, NOT_COMMITTED, (Outcome.FAILED, "DriverDied", None)),
        (SAYS_NO_WORD, NO_TABLE, (Outcome.FAILED, "DriverDied", None)),
        (SAYS_NO_WORD, UNREADABLE, None),
        (VANISHED, COMMITTED, (Outcome.SUCCEEDED, None, T)),
        (VANISHED, NOT_COMMITTED, (Outcome.FAILED, "JobLost", None)),
        (VANISHED, NO_TABLE, (Outcome.FAILED, "JobLost", None)),
        (VANISHED, UNREADABLE, None),
    ],
)
def test_the_timeline_decides_and_the_drivers_word_explains(
    observed: JobObservation | None, seen: TimelineSnapshot, expected: tuple[Any, ...] | None
) -> None:
    run = conclude(active(), observed=observed, snapshot=seen, now=NOW)
    assert (run and (run.outcome, run.reason, run.instant)) == expected


@pytest.mark.parametrize(
    ("observed", "reason", "sentence"),
    [
        (ended(trouble=PodTrouble.OUT_OF_MEMORY, exit_code=137), "OutOfMemory", "out of memory with 2Gi memory"),
        (ended(exit_code=3), "OutOfMemory", "out of memory with 2Gi memory"),
        (ended(exit_code=3, driver_memory=None), "OutOfMemory", "out of memory with its memory"),
        (ended(trouble=PodTrouble.EVICTED, message="The driver's pod was evicted."), "Evicted", "was evicted"),
        (ended(trouble=PodTrouble.DEADLINE_EXCEEDED, message="Too slow."), "DeadlineExceeded", "Too slow."),
        (ended(trouble=PodTrouble.EVICTED), "Evicted", "The driver's pod ended: Evicted."),
        (ended(exit_code=1), "DriverDied", "exit code 1 and no report"),
        (ended(exit_code=None), "DriverDied", "exit code unknown"),
        (ended(outcome=JobOutcome(truncated=True), exit_code=0), "DriverDied", "exit code 0 and no report"),
    ],
)
def test_driver_without_an_outcome_is_explained_by_how_its_pod_ended(
    observed: JobObservation, reason: str, sentence: str
) -> None:
    run = conclude(active(), observed=observed, snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert run.reason == reason
    assert sentence in run.message


@pytest.mark.parametrize(
    "trouble",
    [PodTrouble.IMAGE_PULL_FAILED, PodTrouble.UNSCHEDULABLE, PodTrouble.CONFIGURATION, PodTrouble.FORBIDDEN],
)
def test_a_job_that_was_given_up_is_explained_by_what_kept_it_from_starting(trouble: PodTrouble) -> None:
    run = conclude(active(state=trouble), observed=None, snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert run.reason == trouble
    assert "could not start in time" in run.message


@pytest.mark.parametrize("trouble", [PodTrouble.EVICTED, PodTrouble.OUT_OF_MEMORY, PodTrouble.DEADLINE_EXCEEDED])
def test_a_vanished_job_that_had_run_is_not_said_to_have_never_started(trouble: PodTrouble) -> None:
    run = conclude(active(state=trouble), observed=None, snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert run.reason == trouble
    assert "could not start" not in run.message


@pytest.mark.parametrize("reported", [None, failed(FailureReason.INTERRUPTED, "Asked to end.")])
def test_a_run_stopped_for_its_executors_fails_for_that_cause(reported: JobOutcome | None) -> None:
    stopped = active(state=PodTrouble.NO_EXECUTORS, message="No executor has started: no room.")
    run = conclude(stopped, observed=ended(outcome=reported), snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert (run.outcome, run.reason) == (Outcome.FAILED, PodTrouble.NO_EXECUTORS)
    assert run.message.endswith("No executor has started: no room.")


def test_the_drivers_own_reason_is_kept_even_when_its_pod_was_evicted_afterwards() -> None:
    observed = ended(outcome=failed(FailureReason.BAD_RECORDS, "Row 7."), trouble=PodTrouble.EVICTED)
    run = conclude(active(), observed=observed, snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert (run.reason, run.message) == ("BadRecords", "Row 7.")


def test_a_failure_without_a_reason_is_an_internal_error() -> None:
    observed = ended(outcome=outcome(Outcome.FAILED))
    run = conclude(active(), observed=observed, snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert run.reason == "InternalError"


def test_the_figures_and_times_of_a_run_are_kept() -> None:
    figures = {"files_read": 2, "bytes_read": 3000, "rows_read": 40, "rows_quarantined": 1}
    run = conclude(active(), observed=ended(outcome=succeeded(**figures)), snapshot=COMMITTED, now=NOW)
    assert run is not None
    assert run.model_dump(include=set(figures)) == figures
    assert (run.started_at, run.finished_at) == (active().started_at, at(NOW))


def test_an_endless_message_is_cut_to_what_the_status_can_hold() -> None:
    run = conclude(active(), observed=ended(outcome=failed(message="x" * 5000)), snapshot=NOT_COMMITTED, now=NOW)
    assert run is not None
    assert len(run.message) == 1000


def test_every_figure_that_a_result_and_a_status_have_is_kept() -> None:
    both = {name for name, one in TaskResult.model_fields.items() if one.annotation == int | None}
    figures = (both & set(RunStatus.model_fields)) - {"batches"}
    result = TaskResult.model_validate({"id": "a", "outcome": "Succeeded", **dict.fromkeys(figures, 7)})
    for job in (active(), active(live={"rows_read": 3})):
        kept = ended_run(job, result, outcome=Outcome.SUCCEEDED, message="", now=NOW).model_dump()
        assert {name: kept[name] for name in figures} == dict.fromkeys(figures, 7)
