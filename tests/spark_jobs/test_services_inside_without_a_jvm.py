"""Table services beside the batches of a continuous ingestion, as far as that takes no JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_jobs.beside.turns import Turns
from hudi_jobs.contract import JobRequest, Outcome, Service, TableDefinition, TableTask, TableType, TaskResult
from hudi_jobs.driver import Driver
from hudi_jobs.services import planned
from hudi_jobs.services.compaction import _Compaction
from hudi_jobs.services.timeline import InstantState, Pending


def task(**options: str) -> TableTask:
    table = TableDefinition(name="t", base_path="s3a://b/t", type=TableType.MERGE_ON_READ, record_key=("id",))
    return TableTask(id="t", service=Service.COMPACTION, table=table, hudi_options=options)


@pytest.mark.parametrize(("state", "rests"), [(InstantState.INFLIGHT, True), (InstantState.REQUESTED, False)])
def test_what_an_earlier_compaction_has_written_is_rolled_back_while_no_batch_is_under_way(
    monkeypatch: pytest.MonkeyPatch, state: InstantState, *, rests: bool
) -> None:
    """A rollback by listing removes the log files that a batch is just writing behind the plan."""
    turns, found = Turns(), list[bool]()
    context: Any = SimpleNamespace(task=task(), run="r", spark=None, turns=turns, at_rest=turns.at_rest)
    run = planned._Run(context, _Compaction(), begun_elsewhere=False)

    def commit(_: str) -> TaskResult:
        found.append(turns._resting is not None)
        return TaskResult(id="t", outcome=Outcome.SUCCEEDED)

    monkeypatch.setattr(run, "_commit", commit)
    monkeypatch.setattr(run._others, "is_ours", lambda _: True)
    monkeypatch.setattr(planned, "load_timeline", lambda _: SimpleNamespace(has_writes_after=lambda _: False))
    run._execute(Pending("20260101000000000", state))
    assert found == [rests]


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
    result = driver._host(spark)._perform(task(), run="s", lease=cast("Any", None), turns=Turns())
    assert secret not in result.message
