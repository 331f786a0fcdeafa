"""Records an operation's goal and progress in the table's operator folder, for each kind of operation.

The record is written before any change. The next run continues from it, so a run may be killed at any moment and
repeated. One file holds the records of the newest operations (`journal.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import Field

from hudi_jobs.contract import (
    MOST_LISTED,
    FailureReason,
    OperationKind,
    OperationPhase,
    OperationReport,
    RepairStep,
    RunnableService,
)
from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.erase import EraseReport


class Part(Document):
    """The rows of a partition."""

    path: str
    rows: int
    checksum: int


class Rows(Document):
    """The number of rows, and a checksum that does not depend on their order.

    `parts` are the partitions; empty when a record cannot hold so many, and then only the sums count.
    """

    rows: int
    checksum: int
    partitions: int
    parts: tuple[Part, ...] = ()

    @property
    def is_apart(self) -> bool:
        """Whether the partitions are stored."""
        return len(self.parts) == self.partitions

    def are_same(self, found: Self) -> bool:
        """Tell whether the rows are equal; by the sums alone when one side has no partitions."""
        sums = (self.rows, self.checksum, self.partitions) == (found.rows, found.checksum, found.partitions)
        return sums and (self.parts == found.parts or not (self.is_apart and found.is_apart))

    def in_sum(self) -> Self:
        """Return only the sums."""
        return self.copy_with(parts=())


class OperationRecord(Document):
    """An operation; each kind adds the fields that its later runs need.

    `newest` is the table's newest instant at the check: instants of the operation are later.
    """

    uid: str
    resource: str
    kind: OperationKind
    phase: OperationPhase
    newest: str

    @property
    def is_open(self) -> bool:
        """Whether another run may continue the operation."""
        return self.phase is not OperationPhase.DONE

    def report(self) -> OperationReport:
        """Return the operation's report."""
        return OperationReport(phase=self.phase)

    def without_partitions(self) -> Self:
        """Return a smaller copy that keeps only the sums for comparing rows."""
        return self

    def without_what_is_done_with(self) -> Self:
        """Return the part to store for a completed operation."""
        return self.without_partitions()


class EraseRecord(OperationRecord):
    """An erasure; `latest` is the newest commit before it, `expected` are the rows that stay.

    `upstream_digest` is the digest in the erasure that cascaded to this erasure, and `followed` are the digests of
    earlier erasures of the same keys. `failed` is the reason when rows are deleted but the proof failed. `savepoints`
    are released, and `metadata_options` rebuild the metadata table.
    """

    kind: Literal[OperationKind.ERASE]
    latest: Instant
    savepoints: tuple[Instant, ...] = ()
    rows_before: int
    expected: Rows
    rows_after: int | None = None
    metadata_options: dict[str, str] = Field(default_factory=dict)
    erased: EraseReport
    upstream_digest: str | None = None
    followed: tuple[str, ...] = ()
    failed: FailureReason | None = None

    @property
    def every_followed(self) -> tuple[str, ...]:
        """The digests of all upstream erasures that this erasure follows."""
        return self.followed if self.upstream_digest is None else (self.upstream_digest, *self.followed)

    @property
    def is_open(self) -> bool:
        """Whether another run may continue; no run continues after a failed proof."""
        return super().is_open and self.failed is None

    def report(self) -> OperationReport:
        """Return the operation's report."""
        return OperationReport(
            phase=self.phase,
            savepoints=self.savepoints[:MOST_LISTED],
            rows_before=self.rows_before,
            rows_expected=self.expected.rows,
            rows_after=self.rows_after,
            partitions=self.expected.partitions,
            checksum=str(self.expected.checksum),
            verified=True if self.phase is OperationPhase.DONE else None,
            erased=self.erased,
        )

    def without_partitions(self) -> Self:
        """Return a smaller copy that keeps only the sums for comparing rows."""
        return self.copy_with(expected=self.expected.in_sum())


class RepairRecord(OperationRecord):
    """A repair; `expected` are the rows before, or None when they were unreadable.

    `file` is the removed file, a path below the table, with its checksum. `metadata_options` rebuild the metadata
    table, and `indexes` are its parts afterwards. For orphan files, `until` is their latest modification time in
    seconds of Unix time, `count` and `bytes` are their totals, and `files` the first of them. For rows with the same
    key, `count` are the rows to remove, `rows_before` all rows, `keys` the number of keys, and `keys_checksum` is over
    the keys; `commits_before` are all commits that had completed at the count, of any writer and name.
    """

    kind: Literal[OperationKind.REPAIR] = OperationKind.REPAIR
    step: RepairStep
    instant: Instant | None = None
    expected: Rows | None = None
    rows_after: int | None = None
    file: str | None = None
    checksum: str | None = None
    metadata_options: dict[str, str] = Field(default_factory=dict)
    indexes: tuple[str, ...] = ()
    until: float | None = None
    count: int | None = None
    bytes: int | None = None
    files: tuple[str, ...] = ()
    rows_before: int | None = None
    keys: int | None = None
    keys_checksum: int | None = None
    commits_before: tuple[str, ...] = ()
    commit: Instant | None = None

    def report(self) -> OperationReport:
        """Return the operation's report."""
        expected = self.expected
        before = expected.rows if expected is not None and self.rows_before is None else self.rows_before
        return OperationReport(
            phase=self.phase,
            instant=self.commit or self.instant,
            rows_before=before,
            rows_expected=expected.rows if expected is not None else None,
            rows_after=self.rows_after,
            partitions=expected.partitions if expected is not None else None,
            checksum=str(expected.checksum) if expected is not None else None,
            count=self.count,
            files=self.files,
            bytes=self.bytes,
            verified=True if self.phase is OperationPhase.DONE and expected is not None else None,
        )

    def following(self, found: Mapping[str, Any]) -> Self:
        """Return the record with a later look's findings, and with the metadata table of the first look.

        An earlier run may have removed the metadata table, or rebuilt a part of it.
        """
        first = {"metadata_options": self.metadata_options, "indexes": self.indexes} if self.metadata_options else {}
        return self.copy_with(**{**found, **first})

    def without_partitions(self) -> Self:
        """Return a smaller copy that keeps only the sums for comparing rows."""
        return self if self.expected is None else self.copy_with(expected=self.expected.in_sum())

    def without_what_is_done_with(self) -> Self:
        """Return the part to store for a completed repair."""
        return self.without_partitions().copy_with(commits_before=())


class RestoreRecord(OperationRecord):
    """A restore or a rollback to the commit `target`.

    `removed` are completed instants, newest first. `checkpoint` is the checkpoint to commit when the target's own does
    not apply, and `metadata_options` rebuild the metadata table. `count`, `bytes` and `files` describe the files of the
    removed commits. `pending` are the incomplete instants at the last look before the restore, which it undoes too;
    None when no run has looked. `besides` are instants that came after that look and were undone. Times of other
    writers may have any form.
    """

    kind: Literal[OperationKind.RESTORE, OperationKind.ROLLBACK]
    target: Instant
    removed: tuple[Instant, ...] = ()
    pending: tuple[str, ...] | None = None
    besides: tuple[str, ...] = ()
    savepoints: tuple[Instant, ...] = ()
    rows_before: int
    expected: Rows
    rows_after: int | None = None
    checkpoint: str | None = None
    metadata_options: dict[str, str] = Field(default_factory=dict)
    restore: Instant | None = None
    checkpoint_commit: Instant | None = None
    count: int | None = None
    bytes: int | None = None
    files: tuple[str, ...] = ()

    def report(self) -> OperationReport:
        """Return the operation's report."""
        return OperationReport(
            phase=self.phase,
            target=self.target,
            removed_count=len(self.removed),
            removed=self.removed[:MOST_LISTED],
            savepoints=self.savepoints[:MOST_LISTED],
            rows_before=self.rows_before,
            rows_expected=self.expected.rows,
            rows_after=self.rows_after,
            partitions=self.expected.partitions,
            checksum=str(self.expected.checksum),
            verified=True if self.phase is OperationPhase.DONE else None,
            restore=self.restore,
            checkpoint_commit=self.checkpoint_commit,
            count=self.count,
            bytes=self.bytes,
            files=self.files,
        )

    def undone_besides(self, undone: Iterable[str]) -> tuple[str, ...]:
        """Return the undone instants that came after the last look before the restore, newest first."""
        if self.pending is None:
            return ()
        return tuple(sorted({*undone} - {*self.removed} - {*self.pending}, reverse=True))

    def following(self, earlier: Self) -> Self:
        """Return the record that continues a run which prepared but did not begin the restore.

        A run may be killed while rebuilding the metadata table, which Hudi shows part by part. So the state of the
        first run counts.
        """
        saved = {*self.savepoints, *earlier.savepoints}
        return self.copy_with(
            savepoints=tuple(instant for instant in self.removed if instant in saved),
            metadata_options=earlier.metadata_options or self.metadata_options,
        )

    def without_partitions(self) -> Self:
        """Return a smaller copy with only the sums; a committed checkpoint is dropped as well."""
        is_committed = self.phase is not OperationPhase.RUNNING
        checkpoint = None if is_committed else self.checkpoint
        return self.copy_with(expected=self.expected.in_sum(), checkpoint=checkpoint)

    def without_what_is_done_with(self) -> Self:
        """Return the part to store for a completed operation."""
        return self.without_partitions().copy_with(removed=self.removed[:MOST_LISTED], pending=None)


class ServiceRecord(OperationRecord):
    """A run of a service; `found` is the plan pending at its start, `instant` the plan that it completed."""

    kind: Literal[OperationKind.RUN_SERVICE] = OperationKind.RUN_SERVICE
    service: RunnableService
    found: Instant | None = None
    instant: Instant | None = None
    count: int | None = None

    def report(self) -> OperationReport:
        """Return the operation's report."""
        return OperationReport(phase=self.phase, instant=self.instant or self.found, count=self.count)


class VersionRecord(OperationRecord):
    """An upgrade or a downgrade from one table version to another.

    `target` is the commit with the savepoint, set once everything before it is merged and protected: from then on the
    timeline may be between layouts. `metadata_options` rebuild the metadata table.
    """

    kind: Literal[OperationKind.UPGRADE, OperationKind.DOWNGRADE]
    version_before: int
    version_after: int
    target: Instant | None = None
    expected: Rows
    rows_after: int | None = None
    metadata_options: dict[str, str] = Field(default_factory=dict)

    @property
    def is_prepared(self) -> bool:
        """Whether the change may have begun; until then each run checks again, because rows may have come."""
        return self.phase is not OperationPhase.RUNNING or self.target is not None

    def following(self, earlier: Self) -> Self:
        """Return the record that continues a run which may have removed the metadata table.

        The run may have been killed while rebuilding the table, which Hudi shows part by part. So the state of the
        first run counts.
        """
        return self.copy_with(metadata_options=earlier.metadata_options or self.metadata_options)

    def report(self) -> OperationReport:
        """Return the operation's report."""
        return OperationReport(
            phase=self.phase,
            target=self.target,
            rows_before=self.expected.rows,
            rows_expected=self.expected.rows,
            rows_after=self.rows_after,
            partitions=self.expected.partitions,
            checksum=str(self.expected.checksum),
            verified=True if self.phase is OperationPhase.DONE else None,
            version_before=self.version_before,
            version_after=self.version_after,
        )

    def without_partitions(self) -> Self:
        """Return a smaller copy that keeps only the sums for comparing rows."""
        return self.copy_with(expected=self.expected.in_sum())
