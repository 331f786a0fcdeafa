"""Runs an operation: opens the table under the lease and calls the functions of its kind."""

from hudi_jobs.catalogs.sync import sync_after_commit
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    OperationPhase,
    OperationReport,
    OperationTableTask,
    TableOperation,
    TaskResult,
)
from hudi_jobs.exclusive import with_lease
from hudi_jobs.journal.journal import RECORD_LIMIT, Journal
from hudi_jobs.journal.records import OperationRecord
from hudi_jobs.lease.leases import Lease
from hudi_jobs.lease.owner import require_not_owned_elsewhere
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.kinds import KINDS, Kind
from hudi_jobs.operations.operation_run import OperationRun, Reports, succeeded
from hudi_jobs.operations.refusal import Obstacles, refused
from hudi_jobs.spark.failures import TaskFailed, Unfinished
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.preparation import open_table


def operate(context: TaskContext[OperationTableTask]) -> TaskResult:
    """Run the task's operation, or only check it; raise `Unfinished` with its last report when it fails."""
    reports = Reports()
    try:
        result = _operate(context, reports)
    except Exception as error:
        if reports.last is None:
            raise
        raise Unfinished(error, operation=reports.last) from error
    return result if reports.last is None else result.copy_with(operation=reports.last)


def _operate(context: TaskContext[OperationTableTask], reports: Reports) -> TaskResult:
    operation = context.task.operation
    kind = _kind_of(operation)
    if operation.dry_run:
        return _dry(context, operation, kind, reports)
    opened = _Opened(context)

    def work(lease: Lease) -> TaskResult:
        run = OperationRun(context, operation, opened.table(), _journal(context), reports, lease)
        result = kind.do(run)
        sync_after_commit(context)
        return result

    def before() -> None:
        if operation.only_recorded:
            _require_recorded(context, operation, reports)
        kind.before(context, operation, _journal(context))
        opened.open()

    return with_lease(context, work, before=before)


def _require_recorded(context: TaskContext, operation: TableOperation, reports: Reports) -> None:
    """Refuse to begin an operation after its deletion: without a record no run has changed anything."""
    if _journal(context).find(OperationRecord, operation.uid) is None:
        reports.last = OperationReport(phase=OperationPhase.CHECKING)
        raise refused("No run had begun the operation when its HudiOperation or its table was deleted.")


def _kind_of(operation: TableOperation) -> Kind:
    kind = KINDS.get(operation.kind)
    if kind is None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"This driver image does not know the operation {operation.kind}; run the image of the operator's release.",
        )
    return kind


class _Opened:
    """The table, read once the run holds the lease."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._table: HudiTable | None = None

    def open(self) -> None:
        """Read the table; raise `TaskFailed` when it is another table, before its owner file is written."""
        self._table = open_table(self._context)

    def table(self) -> HudiTable:
        """Return the table; raise `TaskFailed` when it does not exist."""
        if self._table is None:
            raise refused(f"There is no table at {self._context.task.table.base_path}.")
        return self._table


def _journal(context: TaskContext) -> Journal:
    base_path = context.task.table.base_path
    return Journal(open_table_files(context.spark, base_path, limit=RECORD_LIMIT), base_path)


def _dry(
    context: TaskContext[OperationTableTask], operation: TableOperation, kind: Kind, reports: Reports
) -> TaskResult:
    """Check the operation and report its effect; takes no lease, because that would be a write."""
    would = kind.would_before(context, operation)
    if would is not None:
        reports.last = OperationReport(phase=OperationPhase.CHECKING)
        return succeeded(context, f"Would {would}; nothing was written.")
    opened = _Opened(context)
    opened.open()
    table = opened.table()
    require_not_owned_elsewhere(open_table_files(context.spark, table.base_path), context.task)
    obstacles = Obstacles(gathers=True)
    try:
        result = kind.would(OperationRun(context, operation, table, _journal(context), reports, obstacles=obstacles))
        obstacles.require_none()
    except TaskFailed as failure:
        obstacles.ended_by(failure)
        known = reports.last or OperationReport(phase=OperationPhase.CHECKING)
        # An outcome has no room for file names as well.
        reports.last = known.copy_with(obstacles=obstacles.named(), files=())
        raise obstacles.failure(failure) from failure
    return result
