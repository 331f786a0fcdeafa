"""What later runs of an erasure have to know. The keys are not among it: they come with each run's request."""

from typing import Literal, Self

from pydantic import Field

from hudi_jobs.contract import MOST_LISTED, FailureReason, OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.erase import EraseReport
from hudi_jobs.operations.record import OperationRecord, Rows


class EraseRecord(OperationRecord):
    """An erasure; `latest` is the newest commit before it, `expected` are the rows that stay.

    `upstream_digest` is the digest of the same keys in the erasure that this one was cascaded from, `followed` are
    those in earlier ones, and `failed` is why the rows are deleted and nothing is proven. `savepoints` are those that
    are released, and `metadata_options` make the metadata table again.
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
        """The digests of all upstream erasures that this one follows."""
        return self.followed if self.upstream_digest is None else (self.upstream_digest, *self.followed)

    @property
    def is_open(self) -> bool:
        """Whether another run may go on with it: after a proof that failed none does."""
        return super().is_open and self.failed is None

    def report(self) -> OperationReport:
        """Return what the outcome of a run says."""
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

    def told(self, **figures: object) -> Self:
        """Return the record with figures of its report."""
        return self.model_copy(update={"erased": self.erased.model_copy(update=figures)})

    def without_partitions(self) -> Self:
        """Return what still compares the rows, by their sums, and takes little space."""
        return self.model_copy(update={"expected": self.expected.in_sum()})
