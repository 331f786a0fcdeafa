"""What later runs of a service that was asked for once have to know: which it is, and what it found pending."""

from typing import Literal

from hudi_jobs.contract import OperationKind, OperationReport, RunnableService
from hudi_jobs.contract.instants import Instant
from hudi_jobs.operations.record import OperationRecord


class ServiceRecord(OperationRecord):
    """A run of a service; `found` is the plan that was pending when it began, `instant` what it has completed."""

    kind: Literal[OperationKind.RUN_SERVICE] = OperationKind.RUN_SERVICE
    service: RunnableService
    found: Instant | None = None
    instant: Instant | None = None
    count: int | None = None

    def report(self) -> OperationReport:
        """Return what the outcome of a run says."""
        return OperationReport(phase=self.phase, instant=self.instant or self.found, count=self.count)
