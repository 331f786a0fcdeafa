"""The Job of a request of two tables: each table reads its own result from the one termination message."""

from __future__ import annotations

import pytest
from tests.control.job_documents import FAILED, NOW, terminated, the_job

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, Service, TaskResult, encode_outcome, task_id
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.control.jobs.job_view import observe_jobs
from hudi_operator.planning.facts.runs.outcomes import conclude
from hudi_operator.planning.model import TimelineSnapshot

HOTELS_FAILED = TaskResult(
    id=task_id("team-a/hotels", Service.INGESTION),
    outcome=Outcome.FAILED,
    reason=FailureReason.SOURCE_NOT_FOUND,
    message="s3a://landing/hotels is not there.",
)
FLIGHTS_HAD_NONE = TaskResult(
    id=task_id("team-a/flights", Service.INGESTION), outcome=Outcome.NOTHING_TO_DO, message="No new files."
)


@pytest.mark.parametrize("results", [(HOTELS_FAILED, FLIGHTS_HAD_NONE), (FLIGHTS_HAD_NONE, HOTELS_FAILED)])
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("team-a/hotels", (Outcome.FAILED, FailureReason.SOURCE_NOT_FOUND, HOTELS_FAILED.message)),
        ("team-a/flights", (Outcome.NOTHING_TO_DO, None, FLIGHTS_HAD_NONE.message)),
    ],
)
def test_each_table_concludes_its_run_from_its_own_result(
    table: str, expected: tuple[Outcome, FailureReason | None, str], results: tuple[TaskResult, ...]
) -> None:
    pod = terminated(1, "Error", encode_outcome(JobOutcome(results=results)))
    (found,) = observe_jobs([the_job(status=FAILED)], [pod], table=table, now=NOW)
    job = ActiveJob(
        name=found.name, service=Service.INGESTION, uid=found.uid, attempt=1, started_at="2026-03-10T11:59:00Z"
    )
    run = conclude(job, observed=found, snapshot=TimelineSnapshot(), now=NOW)
    assert run is not None
    assert (run.outcome, run.reason, run.message) == expected


def test_table_whose_result_is_missing_takes_no_other() -> None:
    pod = terminated(0, "Completed", encode_outcome(JobOutcome(results=(HOTELS_FAILED,))))
    (found,) = observe_jobs([the_job(status=FAILED)], [pod], table="team-a/flights", now=NOW)
    assert (found.outcome is None, found.result) == (False, None)
