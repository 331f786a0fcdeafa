"""The run of an operation: the table under its lease, its record, and its reports."""

import logging
from dataclasses import dataclass, field

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    OperationPhase,
    OperationReport,
    OperationTableTask,
    Outcome,
    TableOperation,
    TaskResult,
)
from hudi_jobs.contract.operations.told import TOLD_FILE, Comparison, OperationTold, encode_told
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.journal.journal import AnyRecord, Journal
from hudi_jobs.lease.leases import Lease
from hudi_jobs.operations.obstacles import Obstacles
from hudi_jobs.table import HudiTable

_LOGGER = logging.getLogger(__name__)


@dataclass
class Reports:
    """What a run reports of its operation; the last report is valid, even if the run fails."""

    last: OperationReport | None = None


@dataclass(frozen=True)
class OperationRun:
    """A run of an operation on the declared, existing table; a dry run holds no lease."""

    context: TaskContext[OperationTableTask]
    operation: TableOperation
    table: HudiTable
    journal: Journal
    reports: Reports
    lease: Lease | None = None
    obstacles: Obstacles = field(default_factory=Obstacles)

    def save(self, record: AnyRecord) -> None:
        """Record and report the operation's progress."""
        with stage("The record of the operation cannot be written", otherwise=FailureReason.HUDI_ERROR):
            self.journal.keep(record)
        self.report(record.report())
        if record.phase is not OperationPhase.DONE:
            self.set_phase(record.phase)

    def report(self, report: OperationReport) -> None:
        """Report the operation's progress, whatever becomes of the run."""
        self.reports.last = report

    def set_phase(self, phase: OperationPhase, comparison: Comparison | None = None) -> None:
        """Tell the operator the progress at once, as a hint; failures are only logged."""
        if self.lease is None:
            return
        told = OperationTold(uid=self.operation.uid, run=self.context.run, phase=phase, comparison=comparison)
        try:
            self.journal.put_beside(TOLD_FILE, encode_told(told))
        except Exception:
            _LOGGER.warning("how far the operation came could not be told", exc_info=True)

    def not_verified(self, record: AnyRecord, message: str) -> TaskFailed:
        """Report that the rows may differ from the expected rows, and return the failure with the reason."""
        self.report(record.report().copy_with(verified=False))
        return TaskFailed(FailureReason.NOT_VERIFIED, message)


def succeeded(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a completed operation or dry run."""
    return TaskResult(id=context.task.id, outcome=Outcome.SUCCEEDED, message=message)
