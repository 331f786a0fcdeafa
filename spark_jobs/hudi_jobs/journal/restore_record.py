"""Records a restore for later runs: its target, the removed commits, and the expected rows."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field

from hudi_jobs.contract import MOST_LISTED, OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.instants import Instant
from hudi_jobs.journal.record import OperationRecord, Rows


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
