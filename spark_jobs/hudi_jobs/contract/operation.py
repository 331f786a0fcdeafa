"""Operations that a resource of the cluster asks for once: what a run does to the table, and how far it came."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document

MOST_LISTED = 20
"""Instants and savepoints that a report lists by their times; it counts all."""

Instant = Annotated[str, Field(pattern=r"^[0-9]{14}([0-9]{3})?$", max_length=17)]


class OperationKind(StrEnum):
    """What is done to the table."""

    RESTORE = "Restore"
    """Take the table back to a commit: what completed after it is removed."""

    ROLLBACK = "Rollback"
    """Remove the latest commit: a restore to the one before it."""


class NewerSavepoints(StrEnum):
    """What becomes of savepoints on commits that a restore takes away."""

    REFUSE = "Refuse"
    REMOVE = "Remove"


class OperationPhase(StrEnum):
    """How far a run came with an operation; it says what a failure leaves behind."""

    CHECKING = "Checking"
    """Nothing was written, by no run of the operation. What fails here is refused, and the table is as it was."""

    RUNNING = "Running"
    """The table may be in between; another run of the same operation finishes it."""

    VERIFYING = "Verifying"
    """The table was changed as asked; its rows are being compared."""

    DONE = "Done"
    """The rows were compared."""


class TableOperation(Document):
    """The operation of one HudiOperation; `resource` is namespace/name, `uid` the resource's.

    The first run writes a record of the operation below the table before it changes anything: what the table held at
    `instant`, what is to be removed, and the checkpoint. Another run with the same `uid` goes on from that record, so
    an operation runs at most once however often its Job is started.

    `instant` is the commit that a restore goes to, or the latest commit that a rollback removes. With `dry_run` nothing
    is written. Without `reingest` the checkpoint from before the restore is committed after it, so that input whose
    rows were removed is not read again.
    """

    kind: OperationKind
    instant: Instant
    resource: str = Field(max_length=330)
    uid: str = Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")
    dry_run: bool = False
    newer_savepoints: NewerSavepoints = NewerSavepoints.REFUSE
    reingest: bool = True


class OperationReport(Document):
    """What an operation did, or would do.

    `target` is the commit that the table is at afterwards, `removed_count` and `removed` (the newest first, at most
    `MOST_LISTED`) are the instants that go, `savepoints` those that go before them. `rows_before`, `rows_expected` and
    `rows_after` count the table before, at the target, and afterwards; `checksum` is over all rows at the target, and
    `verified` says that count and checksum of each partition were equal afterwards. `restore` is the requested time of
    the restore itself, and `checkpoint_commit` the commit that carries the checkpoint on where nothing is read again.
    """

    phase: OperationPhase
    target: Instant | None = None
    removed_count: int | None = None
    removed: tuple[Instant, ...] = Field(default=(), max_length=MOST_LISTED)
    savepoints: tuple[Instant, ...] = Field(default=(), max_length=MOST_LISTED)
    rows_before: int | None = None
    rows_expected: int | None = None
    rows_after: int | None = None
    partitions: int | None = None
    checksum: str | None = Field(default=None, max_length=64)
    verified: bool | None = None
    restore: Instant | None = None
    checkpoint_commit: Instant | None = None
