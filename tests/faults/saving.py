"""A driver of savepoints without Spark: it makes and removes them, and goes on where one was killed."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.faults.driver import DIES, commit, ended, folder_of
from tests.faults.node import Ended, Work
from tests.faults.operating import Journal

from hudi_jobs.contract import (
    FailureReason,
    JobRequest,
    NamedSavepoint,
    Outcome,
    SavepointTableTask,
    SavepointWork,
    Service,
    TableTask,
    TaskResult,
)
from hudi_operator.jobs.names import REQUEST_ANNOTATION, SERVICE_LABEL
from toolkit.small_table import SmallTable

Document = dict[str, Any]

_STEP_SECONDS = 0.3


async def keep(pod: Document) -> Ended:
    """Make the savepoint of a resource, or remove it, unless that is done."""
    task, named, table = _asked(pod)
    change = _make if named.work is SavepointWork.MAKE else _remove
    return ended(await change(task, named, table))


async def die_midway(pod: Document) -> Ended:
    """Be killed when a savepoint is begun."""
    _, named, table = _asked(pod)
    table.begin_savepoint(named.instant)
    await asyncio.sleep(_STEP_SECONDS)
    return DIES


def working(of_savepoint: Work) -> Work:
    """Return a driver that does this for savepoints, and commits where it is to ingest."""

    async def work(pod: Document) -> Ended:
        is_for_savepoint = pod["metadata"]["labels"][SERVICE_LABEL] == Service.SAVEPOINT
        return await (of_savepoint if is_for_savepoint else commit)(pod)

    return work


def killed_once() -> Work:
    """Return a driver whose first run is killed midway."""
    runs = iter([die_midway])

    async def work(pod: Document) -> Ended:
        return await next(runs, keep)(pod)

    return work


def _asked(pod: Document) -> tuple[TableTask, NamedSavepoint, SmallTable]:
    (task,) = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION]).tasks
    assert isinstance(task, SavepointTableTask)
    return task, task.named_savepoint, SmallTable(folder_of(task.table.base_path))


async def _make(task: TableTask, named: NamedSavepoint, table: SmallTable) -> TaskResult:
    """Make it on its commit, unless an earlier run has made it, on whichever; another's is refused."""
    journal = Journal(table.folder)
    known, saved = journal.read().get(named.uid, {"made": 0}), table.savepoints()
    if known["made"] and known["instant"] in saved:
        return TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, instant=known["instant"])
    if named.instant in saved:
        return _refused(task)
    table.begin_savepoint(named.instant)
    await asyncio.sleep(_STEP_SECONDS)
    journal.keep(named.uid, made=known["made"] + 1, instant=named.instant)
    table.save(named.instant)
    return TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, instant=named.instant)


async def _remove(task: TableTask, named: NamedSavepoint, table: SmallTable) -> TaskResult:
    """Remove it, unless it is gone; one that another has made is removed only where it was adopted."""
    journal = Journal(table.folder)
    known = {"made": 0, "removed": 0} | journal.read().get(named.uid, {})
    if named.instant in table.savepoints():
        if not known["made"] and not named.adopted:
            return _refused(task)
        journal.keep(named.uid, made=known["made"], removed=known["removed"] + 1)
    await asyncio.sleep(_STEP_SECONDS)
    table.release(named.instant)
    return TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, instant=named.instant)


def _refused(task: TableTask) -> TaskResult:
    reason, message = FailureReason.SAVEPOINT_REFUSED, "The savepoint belongs to somebody else."
    return TaskResult(id=task.id, outcome=Outcome.FAILED, reason=reason, message=message)
