"""A driver of operations without Spark: it records, restores a small table, and goes on where one was killed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.faults.driver import DIES, ended, folder_of
from tests.faults.node import Ended
from tests.timeline.hostile import avro_file, number, record

from hudi_jobs.contract import JobRequest, OperationPhase, OperationReport, Outcome, TableOperation, TaskResult
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from toolkit.small_table import SmallTable

Document = dict[str, Any]

_UNDONE = record("Restore", instantsToRollback={"type": "array", "items": "string"})
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
    task = request.tasks[0]
    assert task.operation is not None
    folder = folder_of(task.table.base_path)
    if task.operation.dry_run:
        report = _would_do(folder, task.operation)
    else:
        done = await _go_on(folder, task.operation, until="done")
        assert done is not None
        report = done
    return ended(TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, message="Undid it.", operation=report))


async def die_while_restoring(pod: Document) -> Ended:
    """Be killed when the restore has begun, and half of it is done."""
    request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
    task = request.tasks[0]
    assert task.operation is not None
    await _go_on(folder_of(task.table.base_path), task.operation, until="begun")
    return DIES


def _would_do(folder: Path, operation: TableOperation) -> OperationReport:
    removed = _newer(folder, operation)
    return OperationReport(
        phase=OperationPhase.CHECKING, target=operation.instant, removed_count=len(removed), removed=tuple(removed)
    )


def _newer(folder: Path, operation: TableOperation) -> list[str]:
    return [time for time in SmallTable(folder).commits() if time > (operation.instant or "")]


async def _go_on(folder: Path, operation: TableOperation, *, until: str) -> OperationReport | None:
    """Begin, or go on from the record; nothing is changed by one that an earlier run has finished."""
    table, journal = SmallTable(folder), Journal(folder)
    known = journal.read().get(operation.uid)
    if known is None:
        removed = _newer(folder, operation)
        known = journal.keep(operation.uid, target=operation.instant, removed=removed, changes=0, done=False)
    if not known["done"]:
        time = known.get("restore")
        if time is None:
            time = table.begin_restore(_undone(known["removed"]))
            known = journal.keep(operation.uid, restore=time, changes=known["changes"] + 1)
        for one in known["removed"]:
            table.remove(one)
        await asyncio.sleep(_STEP_SECONDS)
        if until == "begun":
            return None
        table.complete_restore(time, _undone(known["removed"]))
        await asyncio.sleep(_STEP_SECONDS)
        known = journal.keep(operation.uid, done=True)
    return OperationReport(
        phase=OperationPhase.DONE,
        target=known["target"],
        removed_count=len(known["removed"]),
        removed=tuple(known["removed"]),
        verified=True,
        restore=known["restore"],
    )


def _undone(times: list[str]) -> bytes:
    """What a restore says that it undoes, as an Avro file."""
    entries = b"".join(number(len(time)) + time.encode() for time in times)
    return avro_file(_UNDONE, number(len(times)) + entries + number(0) if times else number(0))
