"""Table services beside the batches of a continuous ingestion, in its own process: rows stay exact whatever happens."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from tests.spark_jobs.continuous.test_continuous import has_committed, progress_file, progress_of
from tests.spark_jobs.trials import IN_FULL, LEASE

from hudi_jobs.contract import Effect, FailureReason, JobRequest, Outcome, Service, TaskResult
from hudi_jobs.driver import Driver
from hudi_jobs.ingestion.batches import continuous
from hudi_jobs.inline_services.inline_server import InlineQueue
from hudi_jobs.table_services import clustering, preparation

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUICK = {"min_interval_seconds": 0.2, "recycle_after_seconds": 900, "drain_seconds": 120}
KEYS = 2_000
"""Each batch gives all of these keys another version, so that every clustering rewrites what a batch changes."""
SERVED = (Service.COMPACTION, Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL)


def versions(number: int) -> str:
    return "id,v\n" + "".join(f"{key},{number}\n" for key in range(KEYS))


class Stream:
    """A table with a continuous driver, and the files that arrive for it."""

    def __init__(self, lake: Any) -> None:
        self.lake = lake
        self._files = 0
        lake.lease = LEASE
        lake.table = {"type": "MergeOnRead", "orderingFields": ["v"]}
        lake.ingestion = {"files": {"schemaDdl": "id STRING, v STRING"}}
        lake.spec = {"cleaning": {"retainCommits": 1}, "compaction": {"trigger": {"deltaCommits": 1}}}
        # So small that any two files are worth a clustering, and a dead writer is taken for dead before long.
        lake.options = {"hoodie.client.heartbeat.interval_in_ms": "2000"}

    def request(self) -> JobRequest:
        """What the continuous driver is told."""
        request: JobRequest = self.lake.request(operation="Upsert", continuous=QUICK)
        served = tuple(self.lake.service_request(one).tasks[0] for one in SERVED)
        self.run = request.run
        return request.copy_with(inline_services=served)

    def start(self, how: Callable[..., Any]) -> None:
        """Start the continuous driver, as a program of its own or in a thread of this one."""
        self.running = how(self.request())

    def arrive(self) -> None:
        self._files += 1
        self.lake.put(f"{self._files}.csv", versions(self._files), at=self._files)

    def order(self, service: Service, **planned: Any) -> JobRequest:
        request: JobRequest = self.lake.service_request(service, abandoned=(), **planned)
        asked: Any = request.tasks[0]
        task = asked.copy_with(inside=self.run)
        return request.copy_with(tasks=(task,))

    def ask(self, service: Service) -> TaskResult:
        """What the Job of a service reports, which starts no Spark."""
        return Driver(self.order(service), _no_session).run().results[0]

    def follow(self, request: JobRequest, *, is_dead: bool = True) -> TaskResult:
        """Run what follows a driver that was killed, as the operator does that has seen its process end, or has not."""
        left = tuple(name.partition(".")[0] for name in self.pending("") if not name.endswith(".requested"))
        dead = tuple(time for time in left if time in progress_of(self.lake).made) if is_dead else ()
        task = request.tasks[0].copy_with(abandoned=left, dead=dead)
        result: TaskResult = self.lake.drive(request.copy_with(tasks=(task,)))
        return result

    def spread(self) -> None:
        """Put the keys into two file groups, which a clustering makes one of."""
        self.lake.spec |= {"fileSizing": {"smallFileLimit": "0"}}
        half = KEYS // 2
        for first in (0, half):
            rows = "".join(f"{key},0\n" for key in range(first, first + half))
            self.lake.put(f"part-{first}.csv", f"id,v\n{rows}")
            assert self.lake.ingest(operation="Upsert").outcome is Outcome.SUCCEEDED

    def pending(self, ending: str) -> list[str]:
        """Files of instants that have not completed."""
        timeline = self.lake.folder / "table/.hoodie/timeline"
        names = {file.name for file in timeline.glob("2*")}
        done = {name.partition("_")[0] for name in names if "_" in name}
        return sorted(
            name for name in names if name.partition(".")[0] not in done and name.endswith(ending) and "_" not in name
        )

    def wait_for(self, batches: int) -> None:
        self.running.wait_until(has_committed(self.lake, batches))

    def end(self) -> TaskResult:
        result: TaskResult = self.running.end()
        return result

    def require_exact(self) -> None:
        rows = self.lake.rows("id", "v")
        assert len(rows) == KEYS, f"{len(rows)} rows"
        assert {int(row[1]) for row in rows} == {self._files}


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 240
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _no_session(_: object) -> Any:
    pytest.fail("a Job that hands its service over starts no Spark")


@pytest.fixture
def stream(lake: Any) -> Stream:
    return Stream(lake)


def test_ingestion_goes_on_while_services_run_beside_it_and_when_one_fails(
    stream: Stream, beside: Callable[..., Any]
) -> None:
    stream.lake.options["hoodie.clustering.plan.strategy.sort.columns"] = "nowhere"
    stream.arrive()
    stream.start(beside)
    stream.wait_for(1)
    assert progress_of(stream.lake).takes
    results = {}
    for number, service in enumerate(SERVED, start=2):
        stream.arrive()
        results[service] = stream.ask(service)
        stream.wait_for(number)
    found = stream.end()

    failed = results[Service.CLUSTERING]
    assert (failed.outcome, failed.reason) == (Outcome.FAILED, FailureReason.COLUMN_MISSING), failed
    assert {results[one].outcome for one in (Service.COMPACTION, Service.CLEANING)} == {Outcome.SUCCEEDED}, results
    assert results[Service.ARCHIVAL].outcome is Outcome.NOTHING_TO_DO, "so few instants stay"
    assert (found.outcome, found.batches) == (Outcome.SUCCEEDED, 1 + len(SERVED)), found
    stream.require_exact()


@IN_FULL  # otherwise `services/test_service_kill.py` kills drivers
@pytest.mark.parametrize("service", [Service.COMPACTION, Service.CLUSTERING])
def test_a_driver_that_is_killed_within_a_service_leaves_a_plan_that_the_next_run_settles_once(
    stream: Stream, program: Callable[..., Any], service: Service
) -> None:
    inflight = f"{service.lower()}.inflight"
    if service is Service.CLUSTERING:
        stream.spread()
    stream.arrive()
    stream.start(program)
    stream.wait_for(1)
    stream.arrive()
    stream.wait_for(2)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(stream.ask, service)
        stream.arrive()  # a batch is under way too
        stream.running.wait_until(lambda: bool(stream.pending(inflight)))
        stream.running.kill()
        result = asked.result(timeout=120)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INTERRUPTED), result

    [left] = stream.pending(inflight)
    finished = stream.follow(stream.lake.service_request(service, instant=left.partition(".")[0]))
    assert finished.outcome is Outcome.SUCCEEDED, finished
    ingested = stream.follow(stream.lake.request(operation="Upsert"))
    assert ingested.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
    assert stream.pending("") == []
    stream.require_exact()


def test_a_write_that_a_killed_driver_had_named_is_rolled_back_at_once_and_waits_for_its_heartbeat_otherwise(
    stream: Stream, program: Callable[..., Any]
) -> None:
    del stream.lake.options["hoodie.client.heartbeat.interval_in_ms"]
    stream.arrive()
    stream.start(program)
    stream.wait_for(1)
    stream.arrive()
    stream.running.wait_until(lambda: bool(stream.pending("deltacommit.inflight")))
    stream.running.kill()
    [left] = stream.pending("deltacommit.inflight")
    assert left.partition(".")[0] in progress_of(stream.lake).made

    waits = stream.follow(stream.lake.request(operation="Upsert"), is_dead=False)
    assert (waits.outcome, "has a heartbeat" in waits.message) == (Outcome.CONFLICT, True), waits
    assert stream.pending("deltacommit.inflight") == [left]
    goes_on = stream.follow(stream.lake.request(operation="Upsert"))
    assert goes_on.outcome is Outcome.SUCCEEDED, goes_on
    assert [one.effect for one in goes_on.affected] == [Effect.ROLLED_BACK]
    assert stream.pending("") == []
    stream.require_exact()


def test_a_batch_that_updates_file_groups_of_a_pending_clustering_is_repeated_after_it(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, gave_way = threading.Event(), threading.Event()
    cluster, roll_back = clustering._Clustering.execute, preparation.roll_back_writes

    def execute(self: Any, *given: Any) -> None:
        planned.set()
        assert gave_way.wait(120), "no batch gave way"
        cluster(self, *given)

    def rolling_back(context: Any, made: Any) -> None:
        roll_back(context, made)
        gave_way.set()

    monkeypatch.setattr(clustering._Clustering, "execute", execute)
    monkeypatch.setattr(continuous, "roll_back_writes", rolling_back)
    stream.spread()
    with ThreadPoolExecutor() as pool:
        driver = Driver(stream.request(), lambda _: stream.lake.spark)
        driving = pool.submit(driver.run)
        try:
            wait_until(lambda: (found := progress_file(stream.lake)) is not None and found.takes)
            asked = pool.submit(stream.ask, Service.CLUSTERING)
            assert planned.wait(120)
            stream.arrive()
            result = asked.result(timeout=240)
            wait_until(has_committed(stream.lake, 1))
        finally:
            gave_way.set()
            driver.stop()
        [ingested] = driving.result(timeout=240).results

    assert result.outcome is Outcome.SUCCEEDED, result
    assert result.file_groups == 2, "what it was to rewrite was not changed meanwhile"
    assert (ingested.outcome, ingested.batches, ingested.rows_read) == (Outcome.SUCCEEDED, 1, KEYS), ingested
    assert stream.pending("") == [], "nothing is left of the attempt"
    stream.require_exact()


def test_batch_that_commits_after_a_compaction_has_written_and_before_it_commits_keeps_its_rows(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, committed = threading.Event(), threading.Event()
    at_rest = InlineQueue.at_rest

    @contextmanager
    def after_a_batch(queue: InlineQueue) -> Iterator[None]:
        if stream.pending("compaction.inflight"):
            written.set()
            assert committed.wait(120), "no batch committed beside the compaction"
        with at_rest(queue):
            yield

    monkeypatch.setattr(InlineQueue, "at_rest", after_a_batch)
    with ThreadPoolExecutor() as pool:
        driver = Driver(stream.request(), lambda _: stream.lake.spark)
        driving = pool.submit(driver.run)
        try:
            for number in (1, 2):
                stream.arrive()
                wait_until(has_committed(stream.lake, number))
            asked = pool.submit(stream.ask, Service.COMPACTION)
            assert written.wait(120)
            stream.arrive()
            wait_until(has_committed(stream.lake, 3))
            stream.require_exact()
            committed.set()
            result = asked.result(timeout=240)
            stream.require_exact()
            stream.arrive()
            wait_until(has_committed(stream.lake, 4))
        finally:
            committed.set()
            driver.stop()
        [ingested] = driving.result(timeout=240).results

    assert (result.outcome, result.files_written) == (Outcome.SUCCEEDED, 1), result
    assert (ingested.outcome, ingested.batches) == (Outcome.SUCCEEDED, 4), ingested
    assert stream.pending("") == []
    stream.require_exact()


def test_keys_that_come_back_beside_a_compaction_are_there_once(stream: Stream, beside: Callable[..., Any]) -> None:
    marked = "SELECT id, v, gone = 'yes' AS _hoodie_is_deleted FROM source"
    stream.lake.ingestion = {"files": {"schemaDdl": "id STRING, v STRING, gone STRING"}, "transformSql": marked}

    def arrive(number: int, gone: str) -> None:
        rows = "".join(f"{key},{number},{gone}\n" for key in range(KEYS))
        stream.lake.put(f"{number}.csv", f"id,v,gone\n{rows}", at=number)

    stream.lake.spec |= {"fileSizing": {"smallFileLimit": "0"}}
    arrive(1, "no")
    stream.start(beside)
    stream.wait_for(1)
    arrive(2, "yes")
    stream.wait_for(2)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(stream.ask, Service.COMPACTION)
        stream.running.wait_until(lambda: bool(stream.pending("compaction.requested")))
        arrive(3, "no")
        stream.wait_for(3)
        compacted = asked.result(timeout=120)
    assert compacted.outcome is Outcome.SUCCEEDED, compacted
    arrive(4, "no")
    stream.wait_for(4)
    stream.end()
    rows = stream.lake.rows("id", "v")
    assert len(rows) == KEYS, f"{len(rows)} rows"
    assert {int(row[1]) for row in rows} == {4}
