"""How soon the next batch of a continuous ingestion begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.tasks import task_of

from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import ContinuousTask, Outcome, Service, TaskResult
from hudi_jobs.ingestion.batches import continuous


def test_only_a_batch_that_has_read_all_is_followed_by_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the longest interval a table would never catch up with a source that brings more than a limit meanwhile."""
    task = task_of(Service.INGESTION)
    monkeypatch.setattr(continuous, "newest_of", lambda _: lambda: "")
    quiet: Any = SimpleNamespace(write=lambda *_, **__: True, polled=lambda **_: None, tell_made=lambda: True)
    context: Any = TaskContext(spark=cast("Any", None), run="r", task=task)
    loop = continuous._Loop(
        context, cast("Any", SimpleNamespace(continuous=ContinuousTask())), quiet, commits=CommitStats(), made=[]
    )
    left, pauses, batches = [True, True, False, True, False], list[int](), list[bool]()

    def batch() -> TaskResult:
        batches.append(left[len(batches)])
        if len(batches) == len(left):
            context.stopping.set()
        return TaskResult(id="t", outcome=Outcome.SUCCEEDED, instant=str(len(batches)), more_input=batches[-1])

    monkeypatch.setattr(loop, "_batch", batch)
    monkeypatch.setattr(loop, "_tidy", lambda: None)
    monkeypatch.setattr(loop, "_wait", lambda _: pauses.append(len(batches)))
    loop.run()
    assert pauses == [3, 5]
