"""Operations that a resource of the cluster asks for once: the change of the table, and the progress of a run."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.erase import EraseReport, EraseTask

LEAST_AGE_SECONDS = 3_600
"""The least age of an orphan: the writer of a younger file may be about to commit it."""

MOST_AGE_SECONDS = 10 * 366 * 86_400

MOST_FILES_NAMED = 5
"""The most files that a report lists by their paths: the report has to fit into an outcome."""

LONGEST_FILE_NAMED = 300
"""The most characters of such a path; the end of a longer path is shown."""

AgeSeconds = Annotated[int, Field(ge=LEAST_AGE_SECONDS, le=MOST_AGE_SECONDS)]


class RepairStep(StrEnum):
    """The defect that a repair removes."""

    ROLLBACK_INFLIGHT = "RollbackInflight"
    """Roll back a write or a clustering that has begun and that nobody works on any more."""

    REMOVE_CORRUPT_PLAN = "RemoveCorruptPlan"
    """Remove the plan of a pending instant that cannot be read."""

    REBUILD_METADATA_TABLE = "RebuildMetadataTable"
    """Remove the metadata table, and build it again with the indexes that it had."""

    REBUILD_RECORD_INDEX = "RebuildRecordIndex"
    """Remove the record index, and build it again."""

    RESTORE_PROPERTIES = "RestoreProperties"
    """Write hoodie.properties from its backup."""

    REMOVE_ORPHAN_FILES = "RemoveOrphanFiles"
    """Remove data files that no instant accounts for."""

    DEDUPLICATE = "Deduplicate"
    """Keep the newest row of each key, and remove its duplicates."""


class Repair(Document):
    """The step of a repair; the operation names the instant that some steps act on.

    `older_than_seconds` is the age from which on a file can be an orphan.
    """

    step: RepairStep
    older_than_seconds: AgeSeconds | None = None


class RunnableService(StrEnum):
    """A table service that can be asked for by name."""

    COMPACTION = "Compaction"
    CLUSTERING = "Clustering"
    CLEANING = "Cleaning"
    ARCHIVAL = "Archival"


class ServiceRun(Document):
    """The service that a run does, and the Hudi options that replace the table's own for this run."""

    service: RunnableService
    options: dict[str, str] = Field(default_factory=dict)


MOST_LISTED = 20
"""The most instants and savepoints that a report lists by their times; its counts cover all."""

MOST_OBSTACLES = 8
"""The most obstacles that a report names; the message of the outcome counts the rest."""

LONGEST_OBSTACLE = 240
"""The most bytes of the sentence about an obstacle: all sentences have to fit into an outcome."""


class OperationKind(StrEnum):
    """The change that an operation makes to the table."""

    RESTORE = "Restore"
    """Restore the table to a commit: every later commit is removed."""

    ROLLBACK = "Rollback"
    """Remove the latest commit: a restore to the commit before it."""

    RUN_SERVICE = "RunService"
    """Run a table service once, whatever its schedule says."""

    REPAIR = "Repair"
    """Repair a defect that keeps the table from working."""

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
    """What happens to savepoints on commits that a restore removes."""

    REFUSE = "Refuse"
    REMOVE = "Remove"


class OperationPhase(StrEnum):
    """The phase of an operation; it tells what state a failure leaves behind."""

    CHECKING = "Checking"
    """No run of the operation has written anything, or the table is whole again. A failure in this phase may be given
    up.
    """

    RUNNING = "Running"
    """The table may be half changed; another run of the same operation finishes the change."""

    VERIFYING = "Verifying"
    """The change is complete; the driver compares the rows."""

    DONE = "Done"
    """The operation is complete."""


class TableOperation(Document):
    """The operation of one HudiOperation; `resource` is namespace/name, `uid` the resource's uid.

    The first run writes a record of the operation below the table before it changes anything: the intended change, and
    the content of the table. Another run with the same `uid` continues from that record, so an operation runs at most
    once however often its Job is started. With `dry_run` nothing is written.

    `instant` is the commit that a restore goes to, the latest commit that a rollback removes, or the instant that some
    repairs act on. `service` is the service that RunService runs, and `repair` the step of a Repair. Without `reingest`
    the checkpoint from before the restore is committed after it, so that input whose rows were removed is not read
    again. `table_version` is the target of an upgrade or downgrade. `erase` names the rows that an Erase erases: no
    record of the table ever holds it. `only_recorded` says that the operation is cancelled: a run continues from a
    record, and begins nothing without a record.
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
    """The result of an operation or of its dry run. Fields that do not apply to its kind are absent.

    `target` is the commit that the table is at afterwards. `removed_count` and `removed` (the newest first, at most
    `MOST_LISTED`) are the removed instants, `savepoints` the savepoints that are removed before them. `rows_before`,
    `rows_expected` and `rows_after` count the rows before, at the target, and afterwards. `checksum` is over all rows
    at the target, and `verified` says that count and checksum of each partition were equal afterwards. `restore` is the
    requested time of the restore itself, and `checkpoint_commit` the commit that carries the checkpoint on if nothing
    is read again. If the version of the table changes, `version_before` and `version_after` are the versions, `target`
    is the commit with the savepoint from before, and the rows are the rows of the whole table.

    For other kinds, `instant` is the instant that the operation completed or acts on, and `count` the number of its
    file groups, files, rows or instants. `files` are the first of the files that a repair removes, by their paths below
    the table, and `bytes` the size of all of them. For a restore, `files` are the files of the removed commits; for the
    dry run of a cleaning, the files that it would delete, without `bytes`. `obstacles` are all reasons for which the
    operation would be refused, found by a dry run, a sentence each.
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
