"""Checks and renews a table's owner record, once the run holds a lease.

The record outlives runs, which leases do not. It distinguishes two operators: their claims live in their own clusters,
and only the store is shared.
"""

from datetime import UTC, datetime

from hudi_jobs.contract import (
    OWNER_FILE,
    FailureReason,
    OwnerRecord,
    TableOwner,
    Task,
    UnreadableOwner,
    decode_owner,
    encode_owner,
)
from hudi_jobs.lease.leases import VersionConflict
from hudi_jobs.lease.stores import TableFiles
from hudi_jobs.spark.failures import TaskFailed

_ATTEMPTS = 5
"""In an optimistic table, another service's run may write the record at the same time."""


def require_ownership(files: TableFiles, task: Task, run: str) -> None:
    """Record the task's owner as the table's; raise `TaskFailed`, with nothing written, for another owner.

    The table of another resource of the same operator is taken over: its claims allow one resource per path, so that
    resource is gone.
    """
    for _ in range(_ATTEMPTS):
        found = files.read(OWNER_FILE)
        record = None if found is None else _decode(found[0], task)
        _require(record, task)
        if task.owner is None:
            return
        try:
            content = encode_owner(_renewed(record, task.owner, run))
            files.write(OWNER_FILE, content, expected=None if found is None else found[1])
        except VersionConflict:
            continue
        return
    raise TaskFailed(
        FailureReason.OWNED_ELSEWHERE,
        f"The owner record of {task.table.base_path} is overwritten again and again; find out who else works on the "
        "table.",
    )


def require_not_owned_elsewhere(files: TableFiles, task: Task) -> None:
    """Raise `TaskFailed` as `require_ownership` would, without writing."""
    found = files.read(OWNER_FILE)
    _require(None if found is None else _decode(found[0], task), task)


def _decode(content: bytes, task: Task) -> OwnerRecord:
    try:
        return decode_owner(content)
    except UnreadableOwner as error:
        raise TaskFailed(
            FailureReason.OWNED_ELSEWHERE,
            f"The owner record of {task.table.base_path} cannot be used: {error}. Another operator may own the table. "
            f"If none does, remove the file {OWNER_FILE} from the table's folder .hudi-operator.",
        ) from error


def _require(record: OwnerRecord | None, task: Task) -> None:
    if record is None:
        return
    if task.owner is not None and record.operator in {task.owner.operator, task.take_over}:
        return
    raise TaskFailed(
        FailureReason.OWNED_ELSEWHERE,
        f"The table at {task.table.base_path} belongs to {record.table} of the operator {record.operator}, and its "
        f"run {record.run} worked on the table at {record.renewed_at}. Nothing was written.",
    )


def _renewed(record: OwnerRecord | None, owner: TableOwner, run: str) -> OwnerRecord:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    same = record is not None and (record.operator, record.table_uid) == (owner.operator, owner.table_uid)
    return OwnerRecord(
        operator=owner.operator,
        table_uid=owner.table_uid,
        table=owner.table,
        run=run,
        since=record.since if record is not None and same else now,
        renewed_at=now,
    )
