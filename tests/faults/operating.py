"""A driver of operations without Spark: it records, changes a small table, and goes on where one was killed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.faults.changes import CHANGES, Asked
from tests.faults.driver import DIES, ended, folder_of
from tests.faults.node import Ended

from hudi_jobs.contract import (
    JobRequest,
    OperationPhase,
    OperationReport,
    OperationTableTask,
    Outcome,
    TableTask,
    TaskResult,
)
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from toolkit.small_table import SmallTable

Document = dict[str, Any]

_STEP_SECONDS = 0.3


class Journal:
    """What operations have recorded, beside the folder of their table, and how often each has changed it."""

    def __init__(self, table: Path) -> None:
        self._file = table.with_name(f"{table.name}.operations")

    def read(self) -> dict[str, Document]:
        """Return the records by the uids of their resources."""
        return dict(json.loads(self._file.read_text())) if self._file.exists() else {}

    def keep(self, uid: str, **changes: Any) -> Document:
        """Write a record, or change one."""
        known = self.read()
        known[uid] = {**known.get(uid, {}), **changes}
        unfinished = self._file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(known))
        unfinished.rename(self._file)
        return known[uid]


async def operate(pod: Document) -> Ended:
    """Carry an operation out to its end."""
    request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
    (task,) = request.tasks
    assert isinstance(task, OperationTableTask)
    if task.operation.dry_run:
        report = _would_do(request.run, task)
    else:
        done = await _go_on(request.run, task, until="done")
        assert done is not None
        report = done
    return ended(TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, message="Did it.", operation=report))


async def die_midway(pod: Document) -> Ended:
    """Be killed when the table has begun to change, and half of that is done."""
    request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
    (task,) = request.tasks
    await _go_on(request.run, task, until="begun")
    return DIES


def _would_do(run: str, task: TableTask) -> OperationReport:
    asked = _asked(run, task)
    change = CHANGES[asked.operation.kind]
    return OperationReport(phase=OperationPhase.CHECKING, **change.report(asked, change.plan(asked)))


def _asked(run: str, task: TableTask) -> Asked:
    assert isinstance(task, OperationTableTask)
    return Asked(table=SmallTable(folder_of(task.table.base_path)), run=run, task=task, operation=task.operation)


async def _go_on(run: str, task: TableTask, *, until: str) -> OperationReport | None:
    """Begin, or go on from the record; nothing is changed by one that an earlier run has finished."""
    asked = _asked(run, task)
    change, journal, uid = CHANGES[asked.operation.kind], Journal(asked.table.folder), asked.operation.uid
    known = journal.read().get(uid)
    if known is None:
        known = journal.keep(uid, changes=0, done=False, **change.plan(asked))
    if not known["done"]:
        if not known["changes"]:
            known = journal.keep(uid, changes=1, **change.begin(asked, known))
        change.half(asked, known)
        await asyncio.sleep(_STEP_SECONDS)
        if until == "begun":
            return None
        change.finish(asked, known)
        await asyncio.sleep(_STEP_SECONDS)
        known = journal.keep(uid, done=True)
    told = {"verified": True, **change.report(asked, known)}
    return OperationReport(phase=OperationPhase.DONE, **told)
