"""Marks a commit with its task and run, in the commit's extra metadata."""

from hudi_jobs.contract import METADATA_PREFIX, OPERATOR_KEY, RUN_KEY, TABLE_KEY, TableOperation, Task

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
