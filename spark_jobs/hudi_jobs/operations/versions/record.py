"""What later runs of an upgrade or downgrade have to know: the versions, the savepoint, and the rows."""

from typing import Literal, Self

from pydantic import Field

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.instants import Instant
from hudi_jobs.operations.record import OperationRecord, Rows


class VersionRecord(OperationRecord):
    """An upgrade or a downgrade from one table version to another.

    `target` is the commit with the savepoint, once everything from before the change of format is merged and kept:
    from then on the timeline may be in between. `metadata_options` are those that make the metadata table again.
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
        """Whether the change may have begun; until then a run checks again, as rows may have come since."""
        return self.phase is not OperationPhase.RUNNING or self.target is not None

    def following(self, earlier: Self) -> Self:
        """Return the record of an operation whose earlier run may have removed the metadata table already.

        It may also have been killed while it made that again, of which Hudi shows one part after another. So what was
        there at first counts.
        """
        return self.model_copy(update={"metadata_options": earlier.metadata_options or self.metadata_options})

    def report(self) -> OperationReport:
        """Return what the outcome of a run says."""
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
        """Return what still compares the rows, by their sums, and takes little space."""
        return self.model_copy(update={"expected": self.expected.in_sum()})
