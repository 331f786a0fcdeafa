"""What marks a commit as that of one task of one run, in the commit's extra metadata."""

from hudi_jobs.contract import METADATA_PREFIX, OPERATOR_KEY, RUN_KEY, TABLE_KEY, TableTask

TASK_KEY = f"{METADATA_PREFIX}task"
"""Which task of the run made the commit: a run may have several for one table."""

OPERATION_KEY = f"{METADATA_PREFIX}operation"
"""Uid of the operation that a commit belongs to: another run of it finds the commit."""

ERASED_KEY = f"{METADATA_PREFIX}erased"
"""Digest of the keys that a commit has erased: who reads the table knows by it whether it has erased the same."""


def commit_notes(run: str, task: TableTask) -> dict[str, str]:
    """Return what marks the commit of one task of one run, and whose table the run took it for."""
    notes = {RUN_KEY: run, TASK_KEY: task.id}
    if task.operation is not None:
        notes[OPERATION_KEY] = task.operation.uid
    if task.owner is None:
        return notes
    return {**notes, TABLE_KEY: task.owner.table_uid, OPERATOR_KEY: task.owner.operator}
