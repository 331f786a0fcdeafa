"""What a failed run reports nevertheless: its failure carries the fields of the result."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.tasks import task_of

from hudi_jobs import driver
from hudi_jobs.contract import (
    FailureReason,
    JobRequest,
    OperationPhase,
    OperationReport,
    Outcome,
    Service,
    TaskResult,
)
from hudi_jobs.driver import Driver
from hudi_jobs.operations import run
from hudi_jobs.operations.operation_run import Reports
from hudi_jobs.spark.failures import TaskFailed, Unfinished

REPORT = OperationReport(phase=OperationPhase.VERIFYING)
CONTINUOUS = {"source": {"kind": "files", "path": "s3a://landing/in", "format": "csv"}, "continuous": {}}


def failed() -> TaskFailed:
    return TaskFailed(FailureReason.HUDI_ERROR, "Odd.")


def result_of(monkeypatch: pytest.MonkeyPatch, error: Exception, task: Any) -> TaskResult:
    """Return the result of a task whose work raises an error."""

    def raises(_: Any) -> TaskResult:
        raise error

    for name, replacement in (("run_task", raises), ("_newest_made", lambda _: None), ("require_lock", lambda _: None)):
        monkeypatch.setattr(driver, name, replacement)
    session: Any = SimpleNamespace(newSession=lambda: None)
    return Driver(JobRequest(run="trips-1", tasks=(task,)), lambda _: session).run().results[0]


@pytest.mark.parametrize("error", [failed(), ValueError("Odd.")])
def test_failed_operation_carries_its_last_report(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(_: Any, reports: Reports) -> TaskResult:
        reports.last = REPORT
        raise error

    monkeypatch.setattr(run, "_operate", fails)
    with pytest.raises(Unfinished) as found:
        run.operate(cast("Any", None))
    assert (found.value.cause, found.value.reported) == (error, {"operation": REPORT})


def test_operation_that_failed_before_its_first_report_raises_the_failure_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> TaskResult:
        raise failed()

    monkeypatch.setattr(run, "_operate", fails)
    with pytest.raises(TaskFailed):
        run.operate(cast("Any", None))


def test_driver_reports_the_fields_of_an_unfinished_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(monkeypatch, Unfinished(failed(), operation=REPORT), task_of(Service.OPERATION))
    assert (result.outcome, result.reason, result.message) == (Outcome.FAILED, FailureReason.HUDI_ERROR, "Odd.")
    assert result.operation == REPORT


def test_driver_reports_the_commits_of_an_unfinished_continuous_run(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(Service.INGESTION, ingestion=CONTINUOUS)
    result = result_of(monkeypatch, Unfinished(failed(), batches=3, rows_read=7, made=("1",)), task)
    assert (result.reason, result.batches, result.rows_read, result.made) == (FailureReason.HUDI_ERROR, 3, 7, ("1",))


def test_continuous_run_that_failed_before_its_first_batch_reports_no_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    result = result_of(monkeypatch, failed(), task_of(Service.INGESTION, ingestion=CONTINUOUS))
    assert (result.outcome, result.batches, result.rows_read, result.made) == (Outcome.FAILED, 0, 0, ())
