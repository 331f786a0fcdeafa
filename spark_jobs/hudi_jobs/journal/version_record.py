"""Records an upgrade or downgrade for later runs: the versions, the savepoint, and the rows."""

from typing import Literal, Self

from pydantic import Field

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.instants import Instant
from hudi_jobs.journal.record import OperationRecord, Rows


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

        That run may have been killed while rebuilding it, which Hudi shows part by part. So the state of the first run
        counts.
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
