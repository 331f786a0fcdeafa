"""What a run of any kind of operation works with: the table that it has to itself, and the file of records."""

import logging
from dataclasses import dataclass, field

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    OperationPhase,
    OperationReport,
    Outcome,
    TableOperation,
    TaskResult,
)
from hudi_jobs.contract.operations.told import TOLD_FILE, Comparison, OperationTold, encode_told
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.lease.leases import Lease
from hudi_jobs.operations.journal import AnyRecord, Journal
from hudi_jobs.operations.obstacles import Obstacles
from hudi_jobs.table import HudiTable

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Work:
    """One run of an operation on a table that is there and the declared one; a dry run holds no lease on it."""

    context: TaskContext
    operation: TableOperation
    table: HudiTable
    journal: Journal
    lease: Lease | None = None
    obstacles: Obstacles = field(default_factory=Obstacles)

    def keep(self, record: AnyRecord) -> None:
        """Record how far the operation came, and report it."""
        with stage("The record of the operation cannot be written", otherwise=FailureReason.HUDI_ERROR):
            self.journal.keep(record)
        self.say(record.report())
        if record.phase is not OperationPhase.DONE:
            self.tell(record.phase)

    def say(self, report: OperationReport) -> None:
        """Report how far the operation came, whatever becomes of the run."""
        self.context.operation.append(report)

    def tell(self, phase: OperationPhase, comparison: Comparison | None = None) -> None:
        """Tell the operator at once how far the operation came, as well as that can be done: it is only a hint."""
        if self.lease is None:
            return
        told = OperationTold(uid=self.operation.uid, run=self.context.run, phase=phase, comparison=comparison)
        try:
            self.journal.put_beside(TOLD_FILE, encode_told(told))
        except Exception:
            _LOGGER.warning("how far the operation came could not be told", exc_info=True)

    def not_verified(self, record: AnyRecord, message: str) -> TaskFailed:
        """Report that the rows are not certain to be those that are wanted, and return the failure that says why."""
        self.say(record.report().model_copy(update={"verified": False}))
        return TaskFailed(FailureReason.NOT_VERIFIED, message)


def succeeded(context: TaskContext, message: str) -> TaskResult:
    """Return the result of an operation that is done, or of a dry run."""
    return TaskResult(id=context.task.id, outcome=Outcome.SUCCEEDED, message=message)
