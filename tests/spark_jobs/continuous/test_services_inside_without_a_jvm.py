"""Table services beside the batches of a continuous ingestion, as far as that takes no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.tasks import task_of

from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    ContinuousTask,
    FailureReason,
    JobRequest,
    Outcome,
    Service,
    TaskResult,
)
from hudi_jobs.driver import Driver
from hudi_jobs.ingestion.batches import continuous
from hudi_jobs.inline_services.inline_server import InlineQueue
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table_services import planned, preparation
from hudi_jobs.table_services.compaction import _Compaction
from hudi_jobs.table_services.timeline import InstantState, Pending


def task(**options: str) -> Any:
    return task_of(Service.COMPACTION, hudi_options=options)


@pytest.mark.parametrize(("state", "rests"), [(InstantState.INFLIGHT, True), (InstantState.REQUESTED, False)])
def test_what_an_earlier_compaction_has_written_is_rolled_back_while_no_batch_is_under_way(
    monkeypatch: pytest.MonkeyPatch, state: InstantState, *, rests: bool
) -> None:
    """A rollback by listing removes the log files that a batch is just writing behind the plan."""
    turns, found = InlineQueue(), list[bool]()
    rests_with: dict[str, Any] = {"inline_queue": turns, "at_rest": turns.at_rest}
    context: Any = SimpleNamespace(task=task(), run="r", spark=None, asked_operation=None, **rests_with)
    table: Any = SimpleNamespace(properties={"hoodie.table.version": "9"})
    run = planned._Run(context, _Compaction(), table, begun_elsewhere=False)

    def commit(_: str) -> TaskResult:
        found.append(turns._resting is not None)
        return TaskResult(id="t", outcome=Outcome.SUCCEEDED)

    monkeypatch.setattr(run, "_commit", commit)
    monkeypatch.setattr(run._others, "is_ours", lambda _: True)
    monkeypatch.setattr(planned, "load_timeline", lambda _: SimpleNamespace(has_writes_after=lambda _: False))
    run._execute(Pending("20260101000000000", state))
    assert found == [rests]


def test_a_batch_that_gives_way_ends_what_it_has_begun_and_nothing_of_another_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may give way before it has looked whether anybody else is at work, and the other tool's write may live."""
    rolled_back = list[str]()

    @contextmanager
    def client(*_: Any) -> Iterator[Any]:
        yield SimpleNamespace(rollback=rolled_back.append)

    begun = ["20260101000000001", "20260101000000003", "20260101000000004"]
    monkeypatch.setattr(preparation, "write_client", client)
    monkeypatch.setattr(preparation, "HudiTable", SimpleNamespace(open=lambda *_: True))
    monkeypatch.setattr(preparation, "Timeline", lambda *_: SimpleNamespace(unfinished_writes=lambda: begun))
    monkeypatch.setattr(continuous, "newest_of", lambda _: lambda: "")
    context: Any = TaskContext(spark=cast("Any", None), run="r", task=task())
    quiet: Any = SimpleNamespace(tell_made=lambda: True)
    loop = continuous._Loop(
        context, cast("Any", SimpleNamespace(continuous=ContinuousTask())), quiet, commits=CommitStats(), made=[]
    )

    def ingest() -> TaskResult:
        loop._made.of_the_last[:] = ["20260101000000002", "20260101000000003"]
        raise TaskFailed(FailureReason.CONFLICT, "A table service is at work.")

    monkeypatch.setattr(loop, "_ingest", ingest)
    with pytest.raises(TaskFailed):
        loop._attempt()
    assert rolled_back == ["20260101000000003"]


class Served:
    """A host whose service is under way until a test ends it."""

    def __init__(self) -> None:
        self.takes, self.is_idle, self.waited = True, False, 0

    def take_no_more(self) -> None:
        self.takes = False

    def wait_until_idle(self, seconds: float) -> bool:
        if seconds:
            self.waited, self.is_idle = self.waited + 1, True
        return self.is_idle


def recycled(
    monkeypatch: pytest.MonkeyPatch, *, sockets: int, ends_after: int, most: int = 5
) -> tuple[Served, list[bool], TaskResult | None]:
    """A run whose time is over while its host serves; the service ends after so many batches."""
    host, batches = Served(), list[bool]()
    monkeypatch.setattr(continuous, "open_sockets", lambda: sockets)
    monkeypatch.setattr(continuous, "newest_of", lambda _: lambda: "")
    quiet: Any = SimpleNamespace(write=lambda *_, **__: True, polled=lambda **_: None, tell_made=lambda: True)
    table = task().copy_with(service=Service.INGESTION)
    context: Any = TaskContext(spark=cast("Any", None), run="r", task=table, inline_server=cast("Any", host))
    settings = ContinuousTask(min_interval_seconds=0.001, recycle_after_seconds=0.001 if sockets < 500 else 900)
    loop = continuous._Loop(
        context, cast("Any", SimpleNamespace(continuous=settings)), quiet, commits=CommitStats(), made=[]
    )

    def batch() -> TaskResult:
        batches.append(host.takes)
        host.is_idle = len(batches) >= ends_after
        if len(batches) == most:
            context.stopping.set()
        return TaskResult(id="t", outcome=Outcome.SUCCEEDED, instant=str(len(batches)))

    monkeypatch.setattr(loop, "_batch", batch)
    monkeypatch.setattr(loop, "_tidy", lambda: None)
    return host, batches, loop.run()


@pytest.mark.parametrize("sockets", [10, 501])
def test_a_driver_that_is_recycled_takes_no_more_and_goes_on_until_its_service_has_ended(
    monkeypatch: pytest.MonkeyPatch, sockets: int
) -> None:
    """Cut off, the service would be a failed run and its work be done again, although nothing went wrong."""
    host, batches, result = recycled(monkeypatch, sockets=sockets, ends_after=3)
    assert (host.takes, host.waited, len(batches)) == (False, 0, 3)
    assert batches[-1] is False, "nothing is taken any more while the service comes to its end"
    assert result is not None
    assert "The driver was recycled because" in result.message


def test_a_driver_with_few_connections_left_leaves_them_to_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    host, batches, result = recycled(monkeypatch, sockets=751, ends_after=9)
    assert (host.takes, host.waited, len(batches)) == (False, 1, 1)
    assert result is not None
    assert "more than 500 connections" in result.message


def test_the_answer_in_the_table_s_folder_holds_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "a-secret-of-the-store"
    conf = {"spark.hadoop.fs.s3a.secret.key": secret}
    driver = Driver(
        JobRequest(run="r", spark_conf=conf, tasks=(task(),), beside=(task(),)), lambda _: cast("Any", None)
    )
    failed = TaskResult(id="t", outcome=Outcome.FAILED, message=f"{secret} was refused")
    monkeypatch.setattr(driver, "_run_in", lambda _: failed)
    spark: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(setLocalProperty=lambda *_: None, cancelAllJobs=lambda: None)
    )
    result = driver._host(spark)._perform(task(), run="s", lease=cast("Any", None), queue=InlineQueue())
    assert secret not in result.message
