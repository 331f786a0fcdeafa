"""What later runs of a restore have to know: where it goes to, what is removed, and the rows that are expected."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field

from hudi_jobs.contract import MOST_LISTED, OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.instants import Instant
from hudi_jobs.operations.record import OperationRecord, Rows


class RestoreRecord(OperationRecord):
    """A restore or a rollback to the commit `target`.

    `removed` are completed instants, the newest first. `checkpoint` is the one to commit, where that of the target does
    not count by itself or is not to, and `metadata_options` are those that make the metadata table again. `count`,
    `bytes` and `files` are what the commits that go have written. `pending` is what had not completed at the last look
    before the restore and goes too, None where no run has looked; `besides` is what came after that look and went.
    Their times are those of others, of whatever form.
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
        """Return what the outcome of a run says."""
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
        """Return what a restore has undone that was not there at the last look before it, the newest first."""
        if self.pending is None:
            return ()
        return tuple(sorted({*undone} - {*self.removed} - {*self.pending}, reverse=True))

    def following(self, earlier: Self) -> Self:
        """Return the record of an operation whose earlier run has not begun the restore, and may have prepared it.

        A run may be killed while it makes the metadata table again, of which Hudi shows one part after another. So what
        was there at first counts.
        """
        saved = {*self.savepoints, *earlier.savepoints}
        changes = {
            "savepoints": tuple(instant for instant in self.removed if instant in saved),
            "metadata_options": earlier.metadata_options or self.metadata_options,
        }
        return self.model_copy(update=changes)

    def without_partitions(self) -> Self:
        """Return what still compares the rows, by their sums; the checkpoint is committed before they are compared."""
        is_committed = self.phase is not OperationPhase.RUNNING
        checkpoint = None if is_committed else self.checkpoint
        return self.model_copy(update={"expected": self.expected.in_sum(), "checkpoint": checkpoint})

    def without_what_is_done_with(self) -> Self:
        """Return what is kept of an operation that is done."""
        changes = {"removed": self.removed[:MOST_LISTED], "pending": None}
        return self.without_partitions().model_copy(update=changes)
