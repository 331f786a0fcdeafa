"""What later runs of a repair have to know: what the step found, and the rows that the table held."""

from typing import Literal

from pydantic import Field

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport, RepairStep
from hudi_jobs.contract.operation import Instant
from hudi_jobs.operations.record import OperationRecord, Rows


class RepairRecord(OperationRecord):
    """A repair; `expected` are the rows before, None where they could not be read.

    `file` is what is removed, a path below the table, with its checksum. `metadata_options` are those that make the
    metadata table again, and `indexes` the parts that it then has.
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

    def report(self) -> OperationReport:
        """Return what the outcome of a run says."""
        expected = self.expected
        return OperationReport(
            phase=self.phase,
            instant=self.instant,
            rows_before=expected.rows if expected is not None else None,
            rows_expected=expected.rows if expected is not None else None,
            rows_after=self.rows_after,
            partitions=expected.partitions if expected is not None else None,
            checksum=str(expected.checksum) if expected is not None else None,
            verified=True if self.phase is OperationPhase.DONE and expected is not None else None,
        )

    def without_what_is_done_with(self) -> "RepairRecord":
        """Return what is kept of a repair that is done."""
        if self.expected is None:
            return self
        return self.model_copy(update={"expected": self.expected.model_copy(update={"parts": ()})})
