"""A driver that dies at any moment of an operation: the next run finishes it, once, and the rows are compared."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import RESTORE, commits, done, files, operate, pending, request, rows, timeline
from tests.spark_jobs.services.test_services import csv, succeeded
from tests.spark_jobs.trials import IN_FULL, LEASE

from hudi_jobs.contract import FailureReason, NewerSavepoints, OperationPhase, Outcome, Service
from hudi_jobs.driver import Driver
from hudi_jobs.operations.restore_steps import prepare
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

PHASES = ("recorded", "prepared", "restored", "after-commit", "verified", "before-outcome")
MOMENTS = (*PHASES, "requested", "inflight", "undoing")


def fill(lake: Any, first: int, last: int) -> None:
    for number in range(first, last):
        lake.put(f"{number}.csv", csv(0, 2_000, number), at=number)
        succeeded(lake.ingest())


def begun(lake: Any, moment: str) -> Callable[[], bool]:
    """Tell whether Hudi's files show the moment."""

    def happened() -> bool:
        names = [path.name for path in timeline(lake).iterdir()]
        if moment == "undoing":
            return any(name.endswith(".rollback.inflight") for name in names)
        return any(name.endswith(f".restore.{moment}") for name in names)

    return happened


@IN_FULL  # otherwise `test_resumed.py` has a run fail, and not die
@pytest.mark.parametrize("kind", ["MergeOnRead", "CopyOnWrite"])
@pytest.mark.parametrize("reingest", [True, False])
def test_the_next_run_finishes_what_a_killed_one_has_begun(
    lake: Any, program: Callable[..., Any], kind: str, reingest: bool
) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": kind}, True, LEASE
    fill(lake, 0, 2)
    expected, target = rows(lake), commits(lake)[-1]
    number, newest = 2, expected
    for moment in MOMENTS:
        fill(lake, number, number + 2)
        number, newest = number + 2, rows(lake)
        last = commits(lake)[-1]
        with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
            client.savepoint(last, user="somebody", comment="mine")
        asked: dict[str, Any] = {"uid": f"uid-{moment}", "savepoints": NewerSavepoints.REMOVE, "reingest": reingest}
        environment = {"HUDI_JOB_PAUSE_AT": moment} if moment in PHASES else {}
        running = program(request(lake, target, RESTORE, run=f"killed-{moment}", **asked), **environment)
        running.wait_until(running.has_stopped if moment in PHASES else begun(lake, moment))
        running.kill()

        report = done(operate(lake, target, **asked))

        assert rows(lake) == rows(lake, metadata=True) == expected, moment
        assert pending(lake) == [], moment
        assert (report.removed[0], report.savepoints) == (last, (last,)), moment
        assert (lake.folder / "table/.hoodie/metadata/.hoodie/hoodie.properties").exists(), moment
        before = files(lake)
        again = operate(lake, target, **asked)
        assert (again.outcome, again.operation) == (Outcome.SUCCEEDED, report), "it is done once"
        assert {path for path in before if "/.hudi-operator/" not in path} == {
            path for path in files(lake) if "/.hudi-operator/" not in path
        }
        read = [lake.ingest(max_files=1).files_read for _ in range(3)]  # one after another: the last one wins
        assert read == ([1, 1, None] if reingest else [None] * 3), moment
        assert rows(lake) == (newest if reingest else expected), moment
        target = commits(lake)[-1]
        expected = rows(lake)


def test_a_run_that_is_asked_to_end_says_how_far_it_came(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(lake, 0, 3)
    driver = Driver(request(lake, commits(lake)[0]), lambda _: lake.spark)

    def asked_to_end(*given: Any) -> None:
        prepare(*given)
        driver.stop()

    monkeypatch.setattr("hudi_jobs.operations.restore.prepare", asked_to_end)
    (result,) = driver.run().results
    assert result.operation is not None
    assert result.operation.phase in {OperationPhase.RUNNING, OperationPhase.VERIFYING, OperationPhase.DONE}, result
    assert result.outcome is Outcome.SUCCEEDED or result.reason is FailureReason.INTERRUPTED, result
