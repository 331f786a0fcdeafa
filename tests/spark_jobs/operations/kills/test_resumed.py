"""A run that fails midway says how far it came, and the next one of the same operation goes on from there."""

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, done, operate, refusal, report_of, rows, timeline
from tests.spark_jobs.services.test_services import fill
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import FailureReason, OperationPhase
from hudi_jobs.failures import TaskFailed
from hudi_jobs.operations.restore.history import History
from hudi_jobs.services.timeline import Timeline
from hudi_jobs.table import HudiTable

pytestmark = [pytest.mark.spark]


def fail(*_: Any) -> Any:
    raise TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "The store does not answer.")


def restores(lake: Any) -> int:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return len(History(lake.spark, Timeline(lake.spark, table)).restores())


STEPS = ("prepare", "restore", "roll_back_what_stayed", "commit_checkpoint", "rows_now")
TRIED = STEPS if ALL else ("restore", "rows_now")


def test_the_next_run_goes_on_from_the_step_that_failed(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.metadata_table = True
    fill(lake, 2)
    expected = rows(lake)
    for number, step in enumerate(TRIED, start=1):
        target = commits(lake)[-1]
        fill(lake, 1, first=1 + number)
        with monkeypatch.context() as patch:
            patch.setattr(f"hudi_jobs.operations.restore.going_back.{step}", fail)
            result = operate(lake, target, uid=f"uid-{number}")
        assert result.reason is FailureReason.STORAGE_UNAVAILABLE, result
        phase = report_of(result).phase
        assert phase is (OperationPhase.VERIFYING if step == "rows_now" else OperationPhase.RUNNING), step
        done(operate(lake, target, uid=f"uid-{number}"))
        assert rows(lake) == rows(lake, metadata=True) == expected, step
        assert restores(lake) == number, "it is restored once"


def test_a_run_that_cannot_be_checked_says_that_an_earlier_one_has_recorded(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 2)
    target = commits(lake)[0]

    def break_off(*_: Any) -> Any:
        raise ValueError("Odd.")

    checking = operate_with(lake, target, monkeypatch, "check.rows_at", fail)
    assert checking is OperationPhase.CHECKING
    assert operate_with(lake, target, monkeypatch, "restore.going_back.restore", fail) is OperationPhase.RUNNING
    for broken in (fail, break_off):
        assert operate_with(lake, target, monkeypatch, "check.rows_at", broken) is OperationPhase.RUNNING


def operate_with(lake: Any, target: str, monkeypatch: pytest.MonkeyPatch, step: str, what: Any) -> OperationPhase:
    """Have a step of an operation fail, and return how far its run says to have come."""
    with monkeypatch.context() as patch:
        patch.setattr(f"hudi_jobs.operations.{step}", what)
        return report_of(operate(lake, target)).phase


def test_a_restore_without_a_plan_is_begun_anew_by_its_own_operation_alone(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lake, 3)
    target, newest = commits(lake)[0], commits(lake)[-1]
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.restore.going_back.restore", fail)
        operate(lake, target)
    begun = timeline(lake) / f"{int(newest) + 1}.restore.requested"
    begun.touch()
    assert "is pending" in refusal(operate(lake, target, uid="uid-of-another"))
    done(operate(lake, target))
    assert not begun.exists()
    assert {row[1] for row in rows(lake)} == {"0"}
