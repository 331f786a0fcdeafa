"""What later runs of a repair have to know: what the step found, and the rows that the table held."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport, RepairStep
from hudi_jobs.contract.instants import Instant
from hudi_jobs.operations.record import OperationRecord, Rows


class RepairRecord(OperationRecord):
    """A repair; `expected` are the rows before, None where they could not be read.

    `file` is what is removed, a path below the table, with its checksum. `metadata_options` are those that make the
    metadata table again, and `indexes` the parts that it then has.
    Of files that no instant accounts for, `until` is when they were changed at the latest, in seconds of Unix time,
    `count` and `bytes` what goes of them, and `files` the first of those. Of rows with the same key, `count` are the
    rows that go, `rows_before` all rows, `keys` how many keys there are, and `keys_checksum` is over these;
    `commits_before` are the commits that had completed when they were counted, of whoever and of whatever name.
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
        """Return what the outcome of a run says."""
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
        """Return the record with what a later look has found, and the metadata table that was there at first.

        An earlier run may have removed that, or made a part of it again.
        """
        first = {"metadata_options": self.metadata_options, "indexes": self.indexes} if self.metadata_options else {}
        return self.model_copy(update={**found, **first})

    def without_partitions(self) -> Self:
        """Return what still compares the rows, by their sums, and takes little space."""
        return self if self.expected is None else self.model_copy(update={"expected": self.expected.in_sum()})

    def without_what_is_done_with(self) -> Self:
        """Return what is kept of a repair that is done."""
        return self.without_partitions().model_copy(update={"commits_before": ()})
