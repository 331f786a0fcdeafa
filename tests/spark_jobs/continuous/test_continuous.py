"""A driver that ingests batch after batch: each batch is one commit, and nothing is lost or doubled between them."""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import LEASE, sampled
from tests.spark_jobs.writers.test_kill import unfinished

from hudi_jobs import existing_table
from hudi_jobs.contract import FailureReason, Outcome, Progress, ProgressState, decode_progress
from hudi_jobs.driver import Driver
from hudi_jobs.ingestion import write
from hudi_jobs.ingestion.batches import continuous
from hudi_jobs.phases import Phase
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import open_sockets

pytestmark = pytest.mark.spark

QUICK = {"min_interval_seconds": 0.3, "recycle_after_seconds": 300, "drain_seconds": 120}


def csv(*numbers: int) -> str:
    return "id,carrier\n" + "".join(f"{number},AA\n" for number in numbers)


def progress_file(lake: Any) -> Progress | None:
    file = lake.folder / "table/.hudi-operator/progress.json"
    return decode_progress(file.read_bytes()) if file.exists() else None


def progress_of(lake: Any) -> Progress:
    found = progress_file(lake)
    assert found is not None
    return found


def has_committed(lake: Any, batches: int) -> Callable[[], bool]:
    return lambda: (found := progress_file(lake)) is not None and found.batches >= batches


def ids(lake: Any) -> list[str]:
    return sorted((row[0] for row in lake.rows("id")), key=int)


def sequences(lake: Any) -> list[int]:
    """The numbers of the checkpoints in the table's commits, oldest first."""
    timeline: Path = lake.folder / "table/.hoodie/timeline"
    found = []
    for file in sorted(timeline.glob("*_*")):
        content = file.read_bytes()
        begin = content.find(b'{"version"')
        if begin >= 0:
            found.append(json.JSONDecoder().raw_decode(content[begin:].decode(errors="replace"))[0]["sequence"])
    return found


def test_each_batch_is_one_commit_and_waiting_makes_none(lake: Any, program: Callable[..., Any]) -> None:
    lake.lease = LEASE
    lake.put("1.csv", csv(1, 2), at=1)
    running = program(lake.request(operation="Insert", continuous=QUICK))
    running.wait_until(has_committed(lake, 1))
    for number in (2, 3):
        lake.put(f"{number}.csv", csv(number * 10), at=number)
        running.wait_until(has_committed(lake, number))

    polls = progress_of(lake).polls
    before = lake.instants()
    time.sleep(3)
    result = running.end()

    assert lake.instants() == before, "waiting makes no commit"
    assert (result.outcome, result.batches, result.rows_read, result.files_read) == (Outcome.SUCCEEDED, 3, 4, 3)
    assert (len(before), result.instant) == (3, before[-1].partition("_")[0])
    assert sequences(lake) == [1, 2, 3]
    found = progress_of(lake)
    assert (found.state, found.batches, found.rows_read) == (ProgressState.ENDING, 3, 4)
    assert found.instant == result.instant
    assert found.polls > polls
    assert found.usage is not None
    assert found.usage.driver is not None
    assert found.usage.bytes_written
    assert ids(lake) == ["1", "2", "20", "30"]


@pytest.mark.parametrize(("drain", "survives"), sampled((0, False), (120, True)))
def test_a_batch_that_is_under_way_may_end_when_the_pod_is_asked_to(
    lake: Any, monkeypatch: pytest.MonkeyPatch, drain: float, survives: bool
) -> None:
    # Jobs are cancelled twice a second, so what is to be cancelled has to take longer than that.
    second = (2,) if survives else range(10, 100_010)
    for number, ids_of_file in ((1, (1,)), (2, second), (3, (3,))):
        lake.put(f"{number}.csv", csv(*ids_of_file), at=number)
    driver = Driver(lake.request(maxFiles=1, continuous={**QUICK, "drain_seconds": drain}), lambda _: lake.spark)
    reached: list[Phase] = []

    def asked_in_the_second_batch(phase: Phase) -> None:
        reached.append(phase)
        if phase is Phase.READ and reached.count(phase) == 2:
            driver.stop()

    monkeypatch.setattr("hudi_jobs.ingestion.run.reach", asked_in_the_second_batch)
    [result] = driver.run().results

    if survives:
        assert (result.outcome, result.batches) == (Outcome.SUCCEEDED, 2), result
        assert ids(lake) == ["1", "2"], "no further batch begins"
    else:
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INTERRUPTED), result
        assert result.batches == 1, "what was committed before stays counted"
        assert result.instant is not None
        assert unfinished(lake) <= set(result.made), "what it leaves is named"
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert ids(lake) == [str(number) for number in sorted((1, 3, *second))]


def test_a_driver_is_recycled_before_it_has_no_connection_left(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.put("1.csv", csv(1), at=1)
    assert open_sockets() > 0, "those between Python and the JVM are seen"
    monkeypatch.setattr(continuous, "open_sockets", lambda: 501)
    result = lake.ingest(continuous=QUICK)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert "recycled because it had more than 500 connections open, after 1 batch" in result.message


def test_a_driver_is_recycled_when_its_time_is_over(lake: Any, caplog: pytest.LogCaptureFixture) -> None:
    lake.put("1.csv", csv(1), at=1)
    short = {"min_interval_seconds": 0.2, "recycle_after_seconds": 3}
    with caplog.at_level(logging.INFO):
        first = lake.ingest(continuous=short)
        came_to = came_to_in(caplog)
        caplog.clear()
        second = lake.ingest(continuous=short)
    assert (first.outcome, first.batches) == (Outcome.SUCCEEDED, 1)
    assert (second.outcome, second.batches, second.instant) == (Outcome.NOTHING_TO_DO, 0, None)
    assert "recycled because recycleAfter had elapsed" in second.message
    assert "after 1 batch in this run. The last batch: Read 1 row of 1 file, 0 quarantined." in first.message
    assert came_to in (["Read 1"], ["Read 1", "No new"]), "a slow batch leaves no time for another look"
    assert came_to_in(caplog) == ["No new"], "looks that find the same are told once"
    assert len(lake.instants()) == 1


def came_to_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    told = [vars(one)["fields"]["came_to"] for one in caplog.records if one.message == "the batch has ended"]
    return [one[:6] for one in told]


def test_a_batch_that_fails_ends_the_run_and_what_was_committed_stays_counted(lake: Any) -> None:
    lake.put("1.csv", csv(1), at=1)
    lake.put("2.csv", csv(2, 3), at=2)
    lake.put("3.csv", "id,carrier\n,AA\n", at=3)
    result = lake.ingest(max_files=1, continuous=QUICK)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.RECORD_KEY_NULL)
    assert (result.batches, result.rows_read) == (2, 3)
    assert result.instant == lake.instants()[-1].partition("_")[0]
    assert ids(lake) == ["1", "2", "3"]


def test_a_write_that_fails_is_not_taken_for_the_commit_of_the_batch_before(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commits of a run carry its name, so the name alone would confirm a write that never was."""
    real, calls = existing_table.existing_options, list[int]()

    def failing(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise TaskFailed(FailureReason.HUDI_ERROR, "The second write fails.")
        return real(*given)

    monkeypatch.setattr(write, "existing_options", failing)
    lake.put("1.csv", csv(1), at=1)
    lake.put("2.csv", csv(2), at=2)
    result = lake.ingest(max_files=1, continuous=QUICK)
    assert (result.outcome, result.message, result.batches) == (Outcome.FAILED, "The second write fails.", 1)
    assert ids(lake) == ["1"]
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert ids(lake) == ["1", "2"]


def test_every_batch_keeps_the_rows_that_it_quarantined(lake: Any) -> None:
    for number in (1, 2):
        lake.put(f"{number}.csv", f"id,carrier\n{number},AA\n,B{number}\n", at=number)
    quarantine = {"bad_records": "Quarantine", "quarantine_path": f"{lake.root}/bad"}
    result = lake.ingest(max_files=1, continuous={**QUICK, "recycle_after_seconds": 12}, **quarantine)
    assert (result.batches, result.rows_quarantined) == (2, 2), result
    kept = sorted(
        json.loads(row.record)["carrier"] for row in lake.spark.read.json(f"{lake.root}/bad/*/*/*/*").collect()
    )
    assert kept == ["B1", "B2"]


def test_a_second_run_leaves_the_table_to_the_first(lake: Any, beside: Callable[..., Any]) -> None:
    lake.lease = LEASE
    lake.put("1.csv", csv(1), at=1)
    running = beside(lake.request(continuous=QUICK))
    running.wait_until(has_committed(lake, 1))
    assert lake.ingest().outcome is Outcome.FENCED
    assert running.end().outcome is Outcome.SUCCEEDED
