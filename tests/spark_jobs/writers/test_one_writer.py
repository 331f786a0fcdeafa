"""One ingestion at a time, whoever starts it: drivers of two operators, first runs, and a driver that was overtaken."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE

from hudi_jobs.contract import FailureReason, Outcome
from hudi_jobs.exclusive import with_lease
from hudi_jobs.ingestion import run as ingestion_module
from hudi_jobs.phases import Phase

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

FIRST, SECOND = "id,carrier\n1,AA\n2,UA\n", "id,carrier\n3,DL\n4,DL\n"
ROWS = [("1", "AA"), ("2", "UA"), ("3", "DL"), ("4", "DL")]


@pytest.fixture
def table(lake: Any) -> Any:
    """A Serialized table of inserts with one commit, and files that no run has read yet."""
    lake.lease = LEASE
    lake.put("a.csv", FIRST)
    assert lake.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    lake.put("b.csv", SECOND, at=1)
    return lake


@IN_FULL  # otherwise a checkpoint moves without a driver, and a driver is frozen in `test_fencing.py`
def test_a_driver_that_was_overtaken_after_it_read_the_checkpoint_writes_nothing(
    table: Any, program: Callable[..., Any]
) -> None:
    delayed = program(table.request(operation="Insert", run="delayed"), HUDI_JOB_PAUSE_AT="read")
    delayed.wait_until(delayed.has_stopped)
    os.killpg(delayed.process.pid, signal.SIGSTOP)

    second = table.ingest(operation="Insert")
    assert second.outcome is Outcome.SUCCEEDED, second
    assert table.rows() == ROWS

    os.killpg(delayed.process.pid, signal.SIGCONT)
    result = delayed.finish().results[0]
    assert result.outcome is Outcome.FENCED, result
    assert table.rows() == ROWS


@IN_FULL
def test_a_driver_that_runs_on_after_its_pod_was_deleted_by_force_keeps_the_table(
    table: Any, program: Callable[..., Any]
) -> None:
    slow = program(table.request(operation="Insert", run="slow"), HUDI_JOB_PAUSE_AT="read")
    slow.wait_until(slow.has_stopped)
    os.kill(slow.process.pid, signal.SIGCONT)
    second = table.ingest(operation="Insert", run="second")
    outcomes = [slow.finish().results[0].outcome, second.outcome]
    assert outcomes.count(Outcome.SUCCEEDED) == 1, (outcomes, second)
    assert set(outcomes) <= {Outcome.SUCCEEDED, Outcome.FENCED, Outcome.NOTHING_TO_DO}, second
    assert table.rows() == ROWS


@pytest.mark.parametrize("mode", ["Serialized", "Optimistic"])
def test_a_checkpoint_that_moved_before_the_write_is_noticed_without_any_lease(
    table: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """As by a driver of an earlier release, which takes none."""
    table.spec = {"concurrency": {"mode": mode}}
    if mode == "Optimistic":
        table.options = {"hoodie.write.lock.provider": IN_PROCESS_LOCK}
    original = with_lease

    def overtaken(phase: Phase) -> None:
        if phase is not Phase.READ:
            return
        monkeypatch.setattr(ingestion_module, "reach", lambda _: None)
        monkeypatch.setattr(ingestion_module, "with_lease", without_lease)
        assert table.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
        monkeypatch.setattr(ingestion_module, "with_lease", original)

    monkeypatch.setattr(ingestion_module, "reach", overtaken)
    result = table.ingest(operation="Insert")
    assert (result.outcome, result.reason) == (Outcome.CONFLICT, FailureReason.CONFLICT), result
    assert "nothing was written" in result.message
    assert table.rows() == ROWS
    assert table.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO


IN_PROCESS_LOCK = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"


def unfinished(table: Any) -> set[str]:
    """Instants that have begun to write and have not completed; the files of completed ones stay for a while."""
    timeline = table.folder / "table/.hoodie/timeline"
    begun = {path.name.partition(".")[0] for path in timeline.glob("[0-9]*inflight")}
    return begun - {path.name.partition("_")[0] for path in timeline.glob("[0-9]*_*")}


def without_lease(_: Any, work: Callable[[Any], Any], *, before: Callable[[], None]) -> Any:
    before()
    return work(None)


def test_a_write_that_an_overtaken_driver_has_begun_can_not_complete_after_the_next_run_has_looked(
    table: Any, program: Callable[..., Any]
) -> None:
    """It is rolled back before the checkpoint is read again, and Hudi completes nothing that is not inflight."""
    frozen = program(table.request(operation="Insert", run="frozen"))
    frozen.wait_until(lambda: bool(unfinished(table)))
    os.killpg(frozen.process.pid, signal.SIGSTOP)
    begun = unfinished(table)
    assert begun

    assert table.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    assert not unfinished(table)

    os.killpg(frozen.process.pid, signal.SIGCONT)
    assert frozen.finish().results[0].outcome is Outcome.FENCED
    assert table.rows() == ROWS


@pytest.mark.parametrize("store", ["local", "s3"] if ALL else ["local"])
def test_only_one_of_two_simultaneous_first_runs_makes_the_table(
    lake: Any, program: Callable[..., Any], request: pytest.FixtureRequest, store: str
) -> None:
    lake.put("a.csv", FIRST)
    conf: dict[str, str] = {}
    if store == "s3":
        server = request.getfixturevalue("s3")
        server.create_bucket(Bucket="race")
        server.put_object(Bucket="race", Key="in/a.csv", Body=FIRST)
        conf = lake.use_store("race", server.meta.endpoint_url)
    runs = [program(lake.request(operation="Insert", run=run, conf=conf)) for run in ("first", "second")]
    outcomes = [running.finish().results[0].outcome for running in runs]
    assert outcomes.count(Outcome.SUCCEEDED) == 1, outcomes
    assert set(outcomes) <= {Outcome.SUCCEEDED, Outcome.FENCED, Outcome.NOTHING_TO_DO}, outcomes
    assert lake.rows() == ROWS[:2]
