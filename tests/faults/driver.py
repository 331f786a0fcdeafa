"""What the containers of the fake node do: a driver that reads its request and commits, without Spark."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.node import Ended
from tests.faults.skew import NO_SKEW, Skew

from hudi_jobs.commit_metadata import commit_metadata
from hudi_jobs.contract import JobOutcome, JobRequest, Outcome, Service, TaskResult, encode_outcome
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from toolkit.small_table import SmallTable

Document = dict[str, Any]


CLEANED = b'{"earliestCommitToRetain": ""}'
"""What a clean says that has removed nothing that anybody needs."""

_AT_WORK_SECONDS = 0.3
"""For how long a commit is inflight: the operator now and then sees it then."""


async def commit(pod: Document, skew: Skew = NO_SKEW, *, version: int = 6) -> Ended:
    """Ingest as a real driver would: one commit that carries the run's name, and an outcome that names the instant.

    It commits whenever it is run, so that a run too many shows as a commit too many. A cleaning finishes what was left
    of a clean; other services find nothing to do.
    """
    request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
    (task,) = request.tasks
    table = SmallTable(folder_of(task.table.base_path), writer_ahead=skew.drivers, store_ahead=skew.store)
    if task.service is Service.CLEANING and (left := table.pending("clean")):
        await asyncio.to_thread(table.complete_action, left[0], "clean", CLEANED)
        return ended(TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, instant=left[0]))
    if task.service is not Service.INGESTION:
        return ended(TaskResult(id=task.id, outcome=Outcome.NOTHING_TO_DO))
    await asyncio.to_thread(partial(table.create, task.table.name, version=version))
    instant = await asyncio.to_thread(table.begin)
    await asyncio.sleep(_AT_WORK_SECONDS)
    await asyncio.to_thread(table.complete, instant, commit_metadata(request.run, task))
    return ended(TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, instant=instant, files_read=1))


async def never_end(_: Document) -> Ended:
    """Run until the pod is deleted."""
    await asyncio.Event().wait()
    raise AssertionError("nothing sets the event")


def folder_of(base_path: str) -> Path:
    """The folder of a base path on local files."""
    return Path(base_path.removeprefix("file://"))


DIES = Ended(exit_code=137)
"""A driver that is killed and says nothing."""


def ended(result: TaskResult) -> Ended:
    """Report a result as a driver does."""
    return Ended(message=encode_outcome(JobOutcome(results=(result,))))
