"""Records an operation's goal and progress in the operator's folder of the table.

The record is written before any change. The next run continues from it, so a run may be killed at any moment and
repeated. One file holds the records of the newest operations (`journal.py`).
"""

from typing import Self

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.document import Document


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
