"""The record of an operation: what it is to do and how far it came, in the operator's folder of the table.

It is written before anything is changed. A run that finds it goes on from there, so a run may be killed at any moment
and be repeated as often as it takes. One file holds the records of the newest operations (`journal.py`).
"""

from typing import Self

from hudi_jobs.contract import OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.document import Document


class Part(Document):
    """The rows of one partition."""

    path: str
    rows: int
    checksum: int


class Rows(Document):
    """How many rows there are, and a checksum over them that does not depend on their order.

    `parts` are the partitions, none where there are more than a record keeps: then the sums stand for them.
    """

    rows: int
    checksum: int
    partitions: int
    parts: tuple[Part, ...] = ()

    @property
    def is_apart(self) -> bool:
        """Whether the partitions are kept."""
        return len(self.parts) == self.partitions

    def are_same(self, found: Self) -> bool:
        """Tell whether rows are the same, by the sums alone where one of them has no partitions."""
        sums = (self.rows, self.checksum, self.partitions) == (found.rows, found.checksum, found.partitions)
        return sums and (self.parts == found.parts or not (self.is_apart and found.is_apart))

    def in_sum(self) -> Self:
        """Return the sums alone."""
        return self.model_copy(update={"parts": ()})


class OperationRecord(Document):
    """One operation of any kind; each kind adds what its later runs have to know.

    `newest` is the newest instant of the table when the operation was checked: what it makes has a later one.
    """

    uid: str
    resource: str
    kind: OperationKind
    phase: OperationPhase
    newest: str

    @property
    def is_open(self) -> bool:
        """Whether another run may go on with it."""
        return self.phase is not OperationPhase.DONE

    def report(self) -> OperationReport:
        """Return what the outcome of a run says."""
        return OperationReport(phase=self.phase)

    def without_partitions(self) -> Self:
        """Return what still compares the rows, by their sums, and takes little space."""
        return self

    def without_what_is_done_with(self) -> Self:
        """Return what is kept of an operation that is done."""
        return self.without_partitions()
