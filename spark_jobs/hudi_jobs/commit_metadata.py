"""Marks a commit with its task and run, and sums up the commits of a continuous run over its batches."""

from typing import Any

from hudi_jobs.contract import METADATA_PREFIX, OPERATOR_KEY, RUN_KEY, TABLE_KEY, TableOperation, Task, TaskResult

TASK_KEY = f"{METADATA_PREFIX}task"
"""The task that made the commit: a run may have several tasks for a table."""

OPERATION_KEY = f"{METADATA_PREFIX}operation"
"""Uid of the operation that made the commit, so that its next run finds the commit."""

ERASED_KEY = f"{METADATA_PREFIX}erased"
"""Digest of the erased keys: a derived table finds out by it whether it has erased the same keys."""


def commit_metadata(run: str, task: Task, operation: TableOperation | None = None) -> dict[str, str]:
    """Return the notes for a commit: its task, run, operation, and the table's owner."""
    notes = {RUN_KEY: run, TASK_KEY: task.id}
    if operation is not None:
        notes[OPERATION_KEY] = operation.uid
    if task.owner is None:
        return notes
    return {**notes, TABLE_KEY: task.owner.table_uid, OPERATOR_KEY: task.owner.operator}


_SUMMED = ("rows_read", "rows_quarantined", "files_read", "bytes_read", "records_skipped")
_NEWEST = (
    "checkpoint",
    "complete_up_to",
    "backlog_records",
    "backlog_bytes",
    "files_skipped",
    "rescan",
    "savepoint",
    "more_input",
)

_SHOWN = 600


class CommitStats:
    """The sums over all batches, and the figures of the last batch."""

    def __init__(self) -> None:
        self.batches = 0
        self.instant: str | None = None
        self.message = ""
        """The message of the last commit."""
        self._sums = dict.fromkeys(_SUMMED, 0)
        self._newest: dict[str, Any] = {}
        self._is_stream = False

    def add(self, result: TaskResult) -> None:
        """Add the result of a look at the source: a commit, or only figures."""
        is_stream = result.records_skipped is not None
        self._is_stream |= is_stream
        if not is_stream or (result.skipped and result.instant is not None):
            self._newest["skipped"] = result.skipped  # for a stream, the newest loss; the sum covers all losses
        if result.instant is not None:
            self.batches += 1
            self.instant = result.instant
            self.message = result.message[:_SHOWN]
            for name in _SUMMED:
                self._sums[name] += getattr(result, name) or 0
        self._newest |= {name: value for name in _NEWEST if (value := getattr(result, name)) is not None}

    @property
    def figures(self) -> dict[str, Any]:
        """The figures under the names of a task's result."""
        sums = {**self._sums, "records_skipped": self._sums["records_skipped"] if self._is_stream else None}
        return {"batches": self.batches, "instant": self.instant, **self._newest, **sums}
