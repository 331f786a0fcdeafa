"""The record of an erasure for later runs, without its keys: these come with each run's request."""

from typing import Literal, Self

from pydantic import Field

from hudi_jobs.contract import MOST_LISTED, FailureReason, OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.erase import EraseReport
from hudi_jobs.journal.record import OperationRecord, Rows


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
