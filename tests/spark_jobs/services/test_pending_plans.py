"""Plans that dead runs have left: what waits for them, what the operator says, and that the table comes out of it."""

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.planning.world import at, memory, observe, run, status, status_of, table
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import ConcurrencyMode, FailureReason, Location, Outcome, RunMode, Service
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader
from hudi_operator.timeline.facts import read_metadata_table

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
"""Enough where the writers of a test come one after another."""

SCHEMA = {"files": {"schemaDdl": "id STRING, v INT"}}


def services_status(lake: Any, *, now: datetime | None = None, **remembered: Any) -> ServicesStatus:
    """What the operator writes into the status of this table, from the files of its timeline, which runs have left."""
    reader = TimelineReader(LocalFileSystem())
    timeline = reader.read(Location.parse(lake.base_path))
    metadata = read_metadata_table(reader, Location.parse(lake.base_path), timeline)
    snapshot = TimelineSnapshot(timeline=timeline, metadata=metadata)
    left = tuple(one.time for one in timeline.pending)
    one = table(status=status(left_behind=left, **remembered), ingestion=None, **lake.table, **lake.spec)
    return status_of(observe(one, snapshot=snapshot), now=now or datetime.now(UTC)).services


@IN_FULL  # otherwise `continuous/test_services_inside.py` waits for a heartbeat
def test_an_inflight_compaction_is_finished_when_the_heartbeat_of_its_dead_run_has_expired(
    trial: Callable[[Service, str], Any],
    program: Callable[..., Any],
    beside: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    tried = trial(Service.COMPACTION, "local")
    tried.lake.spec |= {"concurrency": {"mode": "Optimistic"}}
    tried.lake.options = LOCK
    tried.plan()
    dead = tried.start(program, "dead", concurrency=ConcurrencyMode.OPTIMISTIC)
    dead.wait_until(lambda: tried.has_reached("writing"))
    dead.kill()
    died = datetime.now(UTC).replace(microsecond=0)
    heartbeat = tried.lake.folder / "table/.hoodie/.heartbeat" / tried.instant
    assert heartbeat.exists()

    last = memory(last_run=run(Outcome.FAILED, service="Compaction", finished_at=at(died), reason="DriverDied"))
    waiting = services_status(tried.lake, compaction=last).compaction
    assert (waiting.due, waiting.reason) == (False, "WaitingForHeartbeat")
    assert waiting.next_attempt_at == at(died + timedelta(minutes=2))
    later = services_status(tried.lake, compaction=last, now=died + timedelta(minutes=2)).compaction
    assert (later.due, later.reason) == (True, "PendingPlan")

    caplog.set_level(logging.INFO)
    following = beside(tried.request("following", concurrency=ConcurrencyMode.OPTIMISTIC))
    following.wait_until(lambda: "waiting for the heartbeat" in caplog.text)
    assert not tried.completed()
    os.utime(heartbeat, (died.timestamp() - 150,) * 2)
    result = following.finish()
    assert (result.outcome, result.instant) == (Outcome.SUCCEEDED, tried.instant), result
    assert tried.found() == tried.expected


@pytest.mark.parametrize(("mode", "begun"), [("Inline", False), pytest.param("Async", True, marks=IN_FULL)])
def test_a_rejected_ingestion_goes_on_when_the_pending_clustering_has_been_dealt_with(
    trial: Callable[[Service, str], Any], program: Callable[..., Any], mode: str, *, begun: bool
) -> None:
    tried = trial(Service.CLUSTERING, "local")
    lake = tried.lake
    lake.spec["clustering"] = {"mode": mode}
    tried.plan()
    if begun:
        dead = tried.start(program, "dead")
        dead.wait_until(lambda: tried.has_reached("writing"))
        dead.kill()
    rows, keys, total = tried.expected
    lake.put("update.csv", "id,v\n0,7\n")

    for _ in range(2):
        rejected = lake.ingest(**SCHEMA)
        assert (rejected.outcome, rejected.reason) == (Outcome.FAILED, FailureReason.CONFLICT), rejected
        assert tried.found() == tried.expected
    evaluated = services_status(lake).clustering
    assert (evaluated.due, evaluated.reason, evaluated.pending[0].time) == (True, "PendingPlan", tried.instant)

    done = lake.serve(Service.CLUSTERING, mode=RunMode.EXECUTE, instant=tried.instant)
    assert done.outcome is Outcome.SUCCEEDED, done
    assert (done.instant != tried.instant) is begun
    assert lake.ingest(**SCHEMA).outcome is Outcome.SUCCEEDED
    assert tried.found() == (rows, keys, total + 7)
    assert not services_status(lake).clustering.pending


def test_a_compaction_that_an_inline_writer_left_is_finished_by_the_next(trial: Callable[[Service, str], Any]) -> None:
    tried = trial(Service.COMPACTION, "local")
    tried.plan()
    tried.lake.spec["compaction"] = {"mode": "Inline"}
    rows, keys, total = tried.expected
    tried.lake.put("update.csv", "id,v\n0,7\n")

    assert tried.lake.ingest(**SCHEMA).outcome is Outcome.SUCCEEDED
    assert any(name.startswith(f"{tried.instant}_") for name in tried.completed())
    assert tried.found() == (rows, keys, total + 7 - 2)
    assert not services_status(tried.lake).compaction.pending


@IN_FULL
def test_an_archival_that_the_metadata_table_blocks_says_so_and_goes_on_afterwards(lake: Any) -> None:
    lake.spec = {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    lake.metadata_table = True
    for number in range(12):
        write(lake, number)
    unfinish_metadata_compaction(lake)

    for _ in range(2):
        held = lake.serve(Service.ARCHIVAL)
        assert held.outcome is Outcome.NOTHING_TO_DO, held
        assert "metadata table" in held.message
    evaluated = services_status(lake).archival
    assert (evaluated.due, evaluated.reason) == (False, "NothingToDo")
    assert evaluated.blocked_by == "Commits from the first on stay: the metadata table was not compacted since."

    write(lake, 12)
    assert services_status(lake).archival.due
    assert lake.serve(Service.ARCHIVAL).outcome is Outcome.SUCCEEDED
    assert lake.rows("v") == [("12",)]


def write(lake: Any, number: int) -> None:
    """Write the one row again, as a commit that costs less than a whole run."""
    options = lake.hudi_options(Service.INGESTION)
    rows = lake.spark.sql(f"SELECT '1' AS id, '{number}' AS v")
    rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)


def unfinish_metadata_compaction(lake: Any) -> None:
    """Leave the metadata table as a writer does that dies before its compaction there completes."""
    timeline: Path = lake.folder / "table/.hoodie/metadata/.hoodie/timeline"
    (completed,) = timeline.glob("*.commit")
    completed.unlink()
