"""The status of a `HudiOperation`: how far it has come, and what it did to the table."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from hudi_jobs.contract import MOST_LISTED
from hudi_jobs.contract.operations.erase import LONGEST_REQUESTER, MOST_CASCADED, MOST_LEFT, MOST_READERS
from hudi_jobs.contract.operations.operation import LONGEST_FILE_NAMED, MOST_FILES_NAMED, MOST_OBSTACLES
from hudi_jobs.contract.operator_folder import LONGEST_PATH, MOST_COMPARED
from hudi_operator.api.status.conditions import (
    REASON_PATTERN,
    Conditions,
    ConditionStatus,
    ConditionType,
    find_condition,
)
from hudi_operator.api.values.base import InstantTime, Model, Timestamp


class OperationState(StrEnum):
    """State of an operation; a finished operation never begins again."""

    PENDING = "Pending"
    """The operation waits for its turn, or for what the message says."""

    AWAITING_APPROVAL = "AwaitingApproval"
    """A person has to set spec.approved."""

    APPROVED = "Approved"
    """A person has set spec.approved, and the operation waits for its turn."""

    DRAINING = "Draining"
    """No other Job of the table starts, and running Jobs finish."""

    RUNNING = "Running"
    """The Job of the operation runs, or is retried."""

    VERIFYING = "Verifying"
    """The table was changed, and its rows are being compared."""

    SUCCEEDED = "Succeeded"
    """The operation is done and the rows are as expected; a dry run has its report."""

    FAILED = "Failed"
    """The operation was refused without a change, or missed its goal; the reason says which."""


FINISHED = frozenset({OperationState.SUCCEEDED, OperationState.FAILED})
_UNFINISHED = frozenset(OperationState) - FINISHED
WAITING = frozenset({OperationState.PENDING, OperationState.AWAITING_APPROVAL, OperationState.APPROVED})


class EraseReportStatus(Model):
    """Result of an erasure or its dry run, with the proof; holds no key."""

    keys: int | None = None
    """Keys requested, or selected by the predicate."""

    digest: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 over the uid of the operation and the keys."""

    keys_digest: Annotated[str, Field(max_length=64)] | None = None
    """SHA-256 over the keys of a file (`keysFrom`) alone; a later operation can ask for the same keys by it."""

    rows: int | None = None
    """Rows with these keys."""

    commit: InstantTime | None = None
    """The commit that deleted these rows."""

    holding_files: int | None = None
    """Files that held keys before."""

    files_removed: int | None = None
    """Files that its cleans have deleted, also in runs that were ended."""

    quarantined: int | None = None
    """Quarantined records with these keys, which are removed."""

    files_searched: int | None = None
    """Files below the table that were searched afterwards."""

    bytes_searched: int | None = None
    """Bytes of these files."""

    bytes_decoded: int | None = None
    """Uncompressed bytes of their compressed parts."""

    keys_in_bytes: int | None = None
    """Keys long enough to be looked for in bytes; all were compared with the record keys of Parquet files."""

    left_in: Annotated[tuple[Annotated[str, Field(max_length=2048)], ...], Field(max_length=MOST_LEFT)] = ()
    """Files that still hold keys, or cannot be read as a whole; at most five."""

    report_file: Annotated[str, Field(max_length=2048)] | None = None
    """Where the report lies as a file."""

    read_by: Annotated[tuple[Annotated[str, Field(max_length=253)], ...], Field(max_length=MOST_READERS)] = ()
    """HudiTables of the namespace that read this table, directly or through others; the nearest, at most 10."""

    read_by_count: int | None = None
    """Number of all these tables; they may hold the keys as well."""

    read_elsewhere: int | None = None
    """Number of HudiTables of other namespaces that read it, directly or through others, as far as the operator serves
    these."""


class ComparedPartitionStatus(Model):
    """Rows of a partition, before and afterwards."""

    path: Annotated[str, Field(max_length=LONGEST_PATH)] = ""
    """The partition by its path, empty for a table without partitions; at most 256 characters."""

    rows: int = 0
    """Expected rows."""

    rows_after: int = 0
    """Rows afterwards."""

    checksum: Annotated[str, Field(max_length=64)] = ""
    """Checksum of the expected rows."""

    checksum_after: Annotated[str, Field(max_length=64)] = ""
    """Checksum of the rows afterwards."""

    equal: bool = False
    """Whether counts and checksums are equal."""


class VerificationStatus(Model):
    """Comparison of all rows, partition by partition."""

    checksum_after: Annotated[str, Field(max_length=64)] | None = None
    """Checksum of all rows afterwards."""

    different: int | None = None
    """Partitions that differ; absent if there are more than 10,000 partitions and only the sums were compared."""

    partitions: Annotated[tuple[ComparedPartitionStatus, ...], Field(max_length=MOST_COMPARED)] = ()
    """Different partitions first, then equal partitions by path; at most 100."""

    left_out: int | None = None
    """Partitions that are not listed."""


class OperationReportStatus(Model):
    """Effects of an operation, or of its dry run."""

    target: InstantTime | None = None
    """The table's commit afterwards."""

    removed_count: int | None = None
    """Number of removed instants."""

    removed: Annotated[tuple[InstantTime, ...], Field(max_length=MOST_LISTED)] = ()
    """The newest of them, newest first; at most 20."""

    savepoints: Annotated[tuple[InstantTime, ...], Field(max_length=MOST_LISTED)] = ()
    """Savepoints removed before; at most 20."""

    rows_before: int | None = None
    """Rows of the table before."""

    rows_expected: int | None = None
    """Rows of the table at the target commit."""

    rows_after: int | None = None
    """Rows of the table afterwards."""

    partitions: int | None = None
    """Partitions with compared rows."""

    checksum: Annotated[str, Field(max_length=64)] | None = None
    """Checksum of all rows at the commit."""

    verified: bool | None = None
    """Whether count and checksum of every partition were equal afterwards."""

    verification: VerificationStatus | None = None
    """The comparison of the rows in each partition."""

    restore: InstantTime | None = None
    """The instant of the restore itself."""

    checkpoint_commit: InstantTime | None = None
    """An empty commit with the checkpoint of ingestion, if the target has none."""

    erased: EraseReportStatus | None = None
    """Result of an erasure, with the proof."""
    instant: InstantTime | None = None
    """The instant that a service completed, or a repair handles."""

    count: int | None = None
    """Number of file groups, files, rows or instants handled; for a restore, the removed files."""

    files: Annotated[
        tuple[Annotated[str, Field(max_length=LONGEST_FILE_NAMED)], ...], Field(max_length=MOST_FILES_NAMED)
    ] = ()
    """The first of the files that a repair, a restore or a cleaning in a dry run removes, by path; at most five."""

    bytes: int | None = None
    """Bytes of all these files."""

    obstacles: Annotated[tuple[Annotated[str, Field(max_length=512)], ...], Field(max_length=MOST_OBSTACLES)] = ()
    """Obstacles that a dry run found to the operation; at most eight."""

    version_before: int | None = None
    """Table version before an upgrade or downgrade; `target` is then the commit with the savepoint from before."""

    version_after: int | None = None
    """Table version afterwards."""


class CascadedErasure(Model):
    """A table that reads the table of an erasure with `cascade`, and the HudiOperation that erases from it."""

    table: Annotated[str, Field(max_length=253)]
    """The HudiTable."""

    operation: Annotated[str, Field(max_length=253)]
    """The HudiOperation, created once the erasure from this table has succeeded."""

    ready: bool | None = None
    """Whether the HudiOperation succeeded; absent until it ends."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=128)] | None = None
    """The reason of its condition Ready; absent until seen."""

    message: Annotated[str, Field(max_length=256)] | None = None
    """Its message, shortened."""


class HudiOperationStatus(Model):
    """Observed state of an operation."""

    observed_generation: int = -1
    """Generation of the spec that this status describes; -1 before the first reconcile."""

    message: Annotated[str, Field(max_length=1024)] | None = None
    """The state in a sentence."""

    conditions: Conditions = ()
    """Ready is True after success; the reason of Reconciling shows progress, the reason of Stalled the failure."""

    instant: InstantTime | None = None
    """The commit that a restore goes back to, that a rollback removes, or that a repair is about."""

    begun: bool = False
    """Whether the table may have changed: the operator then finishes the operation even without the resource."""

    base_path: Annotated[str, Field(max_length=1024)] | None = None
    """Folder of the table: a begun operation does not continue on another table of the name."""

    started_at: Timestamp | None = None
    """When its first Job was decided."""

    finished_at: Timestamp | None = None
    """When its end was seen."""

    report: OperationReportStatus | None = None
    """Effects of the operation, or of its dry run, as the last run reported."""

    cascade: Annotated[tuple[CascadedErasure, ...], Field(max_length=MOST_CASCADED)] = ()
    """Tables that read this table, for an erasure with `cascade`; each erases from its own readers."""

    requested_by: Annotated[str, Field(max_length=LONGEST_REQUESTER)] | None = None
    """Who asked, as the spec named it when the operator first saw the resource."""

    requester_verified: bool | None = None
    """Whether the operator was told then that the API server only accepts the caller's own name."""

    @property
    def state(self) -> OperationState:
        """Return the state that the conditions show; without readable conditions, the state of a new operation."""
        ready = find_condition(self.conditions, ConditionType.READY)
        if ready is not None and ready.status is ConditionStatus.TRUE:
            return OperationState.SUCCEEDED
        if self.finished_at is not None:
            return OperationState.FAILED
        going = find_condition(self.conditions, ConditionType.RECONCILING)
        if going is not None and going.reason in _UNFINISHED:
            return OperationState(going.reason)
        # Stalled without an end, such as by an unreadable spec: the Job of the operation may have begun.
        return OperationState.PENDING if self.started_at is None else OperationState.RUNNING

    @property
    def reason(self) -> str | None:
        """The reason of Ready; None before the first reconcile."""
        ready = find_condition(self.conditions, ConditionType.READY)
        return ready.reason if ready is not None else None

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server: absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
