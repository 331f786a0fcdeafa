"""Records the findings of a repair's step for later runs, and the rows that the table held."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport, RepairStep
from hudi_jobs.contract.instants import Instant
from hudi_jobs.journal.record import OperationRecord, Rows


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
