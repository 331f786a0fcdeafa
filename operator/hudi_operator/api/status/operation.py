"""The status of a `HudiOperation`: how far it has come, and what it did to the table."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from hudi_jobs.contract import MOST_LISTED
from hudi_jobs.contract.operations.erase import LONGEST_REQUESTER, MOST_CASCADED, MOST_LEFT, MOST_READERS
from hudi_jobs.contract.operations.operation import MOST_OBSTACLES
from hudi_jobs.contract.operations.repair import LONGEST_FILE_NAMED, MOST_FILES_NAMED
from hudi_jobs.contract.operations.told import LONGEST_PATH, MOST_COMPARED
from hudi_operator.api.status.conditions import (
    REASON_PATTERN,
    Condition,
    ConditionStatus,
    ConditionType,
    find_condition,
)
from hudi_operator.api.values.base import InstantTime, Model, Timestamp


class OperationState(StrEnum):
    """How far an operation has come; it is finished once, and never begins again."""

    PENDING = "Pending"
    """It waits for its turn, or for what the message says."""

    AWAITING_APPROVAL = "AwaitingApproval"
    """A person has to set spec.approved."""

    APPROVED = "Approved"
    """A person has set spec.approved, and it waits for its turn."""

    DRAINING = "Draining"
    """No other Job of the table starts, and running Jobs finish."""

    RUNNING = "Running"
    """Its Job runs, or is retried."""

    VERIFYING = "Verifying"
    """The table was changed, and its rows are being compared."""

    SUCCEEDED = "Succeeded"
    """It is done, and the rows are those that were expected; of a dry run, the report is there."""

    FAILED = "Failed"
    """It was refused and nothing was changed, or it did not reach its goal; the reason says which."""


FINISHED = frozenset({OperationState.SUCCEEDED, OperationState.FAILED})
_UNFINISHED = frozenset(OperationState) - FINISHED
WAITING = frozenset({OperationState.PENDING, OperationState.AWAITING_APPROVAL, OperationState.APPROVED})


class EraseReportStatus(Model):
    """What was erased, or would be, and how that was proven; no key is in it."""

    keys: int | None = None
    """Keys that were asked for, or that the predicate selected."""

    digest: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 over the uid of the operation and the keys."""

    keys_digest: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 over the keys of a file (`keysFrom`) alone, by which a later operation can ask for the same ones."""

    rows: int | None = None
    """Rows that had them."""

    commit: InstantTime | None = None
    """The commit that deleted these."""

    holding_files: int | None = None
    """Files that held keys before."""

    files_removed: int | None = None
    """Files that its cleans have deleted, also in runs that were ended."""

    quarantined: int | None = None
    """Records of the quarantine that had them, which are removed."""

    files_searched: int | None = None
    """Files below the table that were searched afterwards."""

    bytes_searched: int | None = None
    """Bytes of these files."""

    bytes_decoded: int | None = None
    """Bytes of what is compressed in them, uncompressed."""

    keys_in_bytes: int | None = None
    """Keys long enough to be looked for in bytes; all were compared with the record keys of Parquet files."""

    left_in: Annotated[tuple[Annotated[str, Field(max_length=2048)], ...], Field(max_length=MOST_LEFT)] = ()
    """Files that still hold keys, or cannot be read as a whole; at most five."""

    report_file: Annotated[str, Field(max_length=2048)] | None = None
    """Where the report lies as a file."""

    read_by: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], Field(max_length=MOST_READERS)] = ()
    """HudiTables of the namespace that read this table, directly or through others; the nearest, at most 10."""

    read_by_count: int | None = None
    """Number of all of them: they may hold the keys as well."""

    read_elsewhere: int | None = None
    """Number of HudiTables of other namespaces that read it, directly or through others, as far as the operator serves
    these."""


class ComparedPartitionStatus(Model):
    """The rows of one partition, before and afterwards."""

    path: Annotated[str, Field(max_length=LONGEST_PATH)] = ""
    """The partition by its path, empty for a table without partitions; at most 256 characters."""

    rows: int = 0
    """Rows that it was to hold."""

    rows_after: int = 0
    """Rows that it held afterwards."""

    checksum: Annotated[str, Field(max_length=64)] = ""
    """Checksum of the rows that it was to hold."""

    checksum_after: Annotated[str, Field(max_length=64)] = ""
    """Checksum of those that it held."""

    equal: bool = False
    """Whether number and checksum are equal."""


class VerificationStatus(Model):
    """What the comparison of all rows has shown, partition by partition."""

    checksum_after: Annotated[str, Field(max_length=64)] | None = None
    """Checksum of all rows afterwards."""

    different: int | None = None
    """Partitions that differ; absent if there are more than 10,000 partitions and only the sums were compared."""

    partitions: Annotated[tuple[ComparedPartitionStatus, ...], Field(max_length=MOST_COMPARED)] = ()
    """Those that differ, then the others by their paths; at most 100."""

    left_out: int | None = None
    """Partitions that are not listed."""


class OperationReportStatus(Model):
    """What an operation did, or would do."""

    target: InstantTime | None = None
    """The commit that the table is at afterwards."""

    removed_count: int | None = None
    """Number of instants that are removed."""

    removed: Annotated[tuple[InstantTime, ...], Field(max_length=MOST_LISTED)] = ()
    """The newest of them, newest first; at most 20."""

    savepoints: Annotated[tuple[InstantTime, ...], Field(max_length=MOST_LISTED)] = ()
    """Savepoints that are removed before; at most 20."""

    rows_before: int | None = None
    """Rows of the table before."""

    rows_expected: int | None = None
    """Rows of the table at the commit that it goes back to."""

    rows_after: int | None = None
    """Rows of the table afterwards."""

    partitions: int | None = None
    """Partitions whose rows were compared."""

    checksum: Annotated[str, Field(max_length=64)] | None = None
    """Checksum of all rows at the commit."""

    verified: bool | None = None
    """Whether count and checksum of every partition were equal afterwards."""

    verification: VerificationStatus | None = None
    """The comparison of the rows in each partition."""

    restore: InstantTime | None = None
    """The instant of the restore itself."""

    checkpoint_commit: InstantTime | None = None
    """The commit without rows that says where ingestion goes on, where the target does not."""

    erased: EraseReportStatus | None = None
    """What was erased, and how that was proven."""
    instant: InstantTime | None = None
    """The instant that a service has completed, or a repair deals with."""

    count: int | None = None
    """Number of file groups, files, rows or instants that it deals with; of a restore, the files that go."""

    files: Annotated[
        tuple[Annotated[str, Field(max_length=LONGEST_FILE_NAMED)], ...], Field(max_length=MOST_FILES_NAMED)
    ] = ()
    """The first of the files that a repair, a restore or a cleaning in a dry run removes, by path; at most five."""

    bytes: int | None = None
    """Bytes that all of them have."""

    obstacles: Annotated[tuple[Annotated[str, Field(max_length=512)], ...], Field(max_length=MOST_OBSTACLES)] = ()
    """Of a dry run, everything that would keep the operation from being done, as far as it was found; at most eight."""

    version_before: int | None = None
    """Table version before an upgrade or downgrade; `target` is then the commit with the savepoint from before."""

    version_after: int | None = None
    """Table version that it goes to."""


class CascadedErasure(Model):
    """One table that reads the table of an erasure with `cascade`, and the HudiOperation that erases from it."""

    table: Annotated[str, Field(max_length=253)]
    """The HudiTable."""

    operation: Annotated[str, Field(max_length=253)]
    """The HudiOperation, which is created once the erasure of this one has succeeded."""

    ready: bool | None = None
    """Whether that has succeeded; none before it is over."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=128)] | None = None
    """The reason of its condition Ready; none before it was seen."""

    message: Annotated[str, Field(max_length=256)] | None = None
    """What it says itself, shortened."""


class HudiOperationStatus(Model):
    """What the operator says of one operation."""

    observed_generation: int = -1
    """Generation of the spec that this status speaks about; -1 before the first reconcile."""

    message: Annotated[str, Field(max_length=1024)] | None = None
    """The state in one sentence."""

    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    """Ready is True once it has succeeded; the reason of Reconciling says how far it has come, that of Stalled why it
    failed."""

    instant: InstantTime | None = None
    """The commit that a restore goes back to, that a rollback removes, or that a repair is about."""

    begun: bool = False
    """Whether the table may have been changed: it is finished then, whatever becomes of the resource."""

    base_path: Annotated[str, Field(max_length=1024)] | None = None
    """Folder of the table that it is about: what has begun does not continue on another table of the name."""

    started_at: Timestamp | None = None
    """When its first Job was decided."""

    finished_at: Timestamp | None = None
    """When its end was seen."""

    report: OperationReportStatus | None = None
    """What it did, or would do, as its last run has said."""

    cascade: Annotated[tuple[CascadedErasure, ...], Field(max_length=MOST_CASCADED)] = ()
    """Of an erasure with `cascade`, the tables that read this one; each erases from those that read it."""

    requested_by: Annotated[str, Field(max_length=LONGEST_REQUESTER)] | None = None
    """Who asked, as the spec named it when the operator first saw the resource."""

    requester_verified: bool | None = None
    """Whether the operator was told then that the API server accepts only the caller's own name."""

    @property
    def state(self) -> OperationState:
        """How far it has come, as the conditions say; a status without readable conditions is that of a new one."""
        ready = find_condition(self.conditions, ConditionType.READY)
        if ready is not None and ready.status is ConditionStatus.TRUE:
            return OperationState.SUCCEEDED
        if self.finished_at is not None:
            return OperationState.FAILED
        going = find_condition(self.conditions, ConditionType.RECONCILING)
        if going is not None and going.reason in _UNFINISHED:
            return OperationState(going.reason)
        # Stalled without an end, such as by a spec that cannot be read: its Job may have begun.
        return OperationState.PENDING if self.started_at is None else OperationState.RUNNING

    @property
    def reason(self) -> str | None:
        """The reason of Ready; None before the first reconcile."""
        ready = find_condition(self.conditions, ConditionType.READY)
        return ready.reason if ready is not None else None

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server: absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
