"""Records a requested service for later runs: its name, and the plan that it found pending."""

from typing import Literal

from hudi_jobs.contract import OperationKind, OperationReport, RunnableService
from hudi_jobs.contract.instants import Instant
from hudi_jobs.journal.record import OperationRecord


class ServiceRecord(OperationRecord):
    """A run of a service; `found` is the plan pending at its start, `instant` the plan that it completed."""

    kind: Literal[OperationKind.RUN_SERVICE] = OperationKind.RUN_SERVICE
    service: RunnableService
    found: Instant | None = None
    instant: Instant | None = None
    count: int | None = None

    def report(self) -> OperationReport:
        """Return the operation's report."""
        return OperationReport(phase=self.phase, instant=self.instant or self.found, count=self.count)
