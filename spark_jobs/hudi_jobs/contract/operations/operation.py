"""Operations that a resource of the cluster asks for once: what a run does to the table, and how far it came."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.erase import EraseReport, EraseTask
from hudi_jobs.contract.operations.repair import MOST_FILES_NAMED, Repair
from hudi_jobs.contract.operations.service_run import ServiceRun

MOST_LISTED = 20
"""Instants and savepoints that a report lists by their times; it counts all."""

MOST_OBSTACLES = 8
"""Obstacles that a report names; the message of the outcome counts the others."""

LONGEST_OBSTACLE = 240
"""Bytes of the sentence about one: all of them have to fit into an outcome."""


class OperationKind(StrEnum):
    """What is done to the table."""

    RESTORE = "Restore"
    """Take the table back to a commit: what completed after it is removed."""

    ROLLBACK = "Rollback"
    """Remove the latest commit: a restore to the one before it."""

    RUN_SERVICE = "RunService"
    """Run a table service once, whatever its schedule says."""

    REPAIR = "Repair"
    """Mend one thing that keeps the table from working."""

    ERASE = "Erase"
    """Remove rows, and the files that hold them."""

    UPGRADE = "Upgrade"
    """Take the table to a newer table version of Hudi."""

    DOWNGRADE = "Downgrade"
    """Take the table to an older table version of Hudi."""


GOES_BACK = frozenset({OperationKind.RESTORE, OperationKind.ROLLBACK})
"""Kinds that remove commits."""

CHANGES_VERSION = frozenset({OperationKind.UPGRADE, OperationKind.DOWNGRADE})
"""Kinds that take the table to another version of its format."""

TableVersion = Annotated[int, Field(ge=1, le=99)]


class NewerSavepoints(StrEnum):
    """What becomes of savepoints on commits that a restore takes away."""

    REFUSE = "Refuse"
    REMOVE = "Remove"


class OperationPhase(StrEnum):
    """How far a run came with an operation; it says what a failure leaves behind."""

    CHECKING = "Checking"
    """Nothing was written, by no run of the operation, or the table is whole again. What fails here may be given up."""

    RUNNING = "Running"
    """The table may be in between; another run of the same operation finishes it."""

    VERIFYING = "Verifying"
    """The table was changed as asked; what it holds is being compared."""

    DONE = "Done"
    """It is as it should be."""


class TableOperation(Document):
    """The operation of one HudiOperation; `resource` is namespace/name, `uid` the resource's.

    The first run writes a record of the operation below the table before it changes anything: what is to be done, and
    what the table held. Another run with the same `uid` goes on from that record, so an operation runs at most once
    however often its Job is started. With `dry_run` nothing is written.

    `instant` is the commit that a restore goes to, the latest commit that a rollback removes, or the one that some
    repairs are about. `service` is what RunService runs, and `repair` what Repair does.
    Without `reingest` the checkpoint from before the restore is committed after it, so that input whose rows were
    removed is not read again. `table_version` is the one that an upgrade or downgrade goes to. `erase` says what an
    Erase erases: no record of the table ever holds it. With `only_recorded` nobody wants the operation any more: a run
    goes on from a record, and begins nothing without one.
    """

    kind: OperationKind
    instant: Instant | None = None
    resource: str = Field(max_length=330)
    uid: str = Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")
    dry_run: bool = False
    only_recorded: bool = False
    newer_savepoints: NewerSavepoints = NewerSavepoints.REFUSE
    reingest: bool = True
    table_version: TableVersion | None = None
    erase: EraseTask | None = None
    service: ServiceRun | None = None
    repair: Repair | None = None


class OperationReport(Document):
    """What an operation did, or would do. What a kind has no use for is absent.

    `target` is the commit that the table is at afterwards, `removed_count` and `removed` (the newest first, at most
    `MOST_LISTED`) are the instants that go, `savepoints` those that go before them. `rows_before`, `rows_expected` and
    `rows_after` count the table before, at the target, and afterwards; `checksum` is over all rows at the target, and
    `verified` says that count and checksum of each partition were equal afterwards. `restore` is the requested time of
    the restore itself, and `checkpoint_commit` the commit that carries the checkpoint on where nothing is read again.
    Where the version of the table changes, `version_before` and `version_after` are the versions, `target` is the
    commit with the savepoint from before, and the rows are those of the whole table.

    `instant` is the one that another kind has completed, or deals with, and `count` how many file groups, files, rows
    or instants that are. `files` are the first of the files that a repair removes, by their paths below the table, and
    `bytes` what all of them have. Of a restore they are the files of the commits that go, and of the dry run of a
    cleaning those that it would delete, without `bytes`. `obstacles` are all reasons that a dry run has found for which
    the operation would be refused, a sentence each.
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
    version_before: TableVersion | None = None
    version_after: TableVersion | None = None
    erased: EraseReport | None = None
    instant: Instant | None = None
    count: int | None = None
    files: tuple[str, ...] = Field(default=(), max_length=MOST_FILES_NAMED)
    bytes: int | None = None
    obstacles: tuple[str, ...] = Field(default=(), max_length=MOST_OBSTACLES)
