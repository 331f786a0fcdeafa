"""One run of an operation: it checks and records it, or goes on from the record that an earlier run has left."""

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    OperationPhase,
    Outcome,
    TableOperation,
    TaskResult,
)
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.lease.exclusive import with_lease
from hudi_jobs.lease.leases import Lease
from hudi_jobs.lease.owner import require_not_owned_elsewhere
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.check import checked
from hudi_jobs.operations.checkpoints import commit_checkpoint
from hudi_jobs.operations.history import History, Restore
from hudi_jobs.operations.record import RECORD_LIMIT, Journal, OperationRecord
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.restore import (
    has_metadata_table,
    prepare,
    remake_metadata_table,
    remove_metadata_table,
    restore,
    restore_of,
    roll_back_what_stayed,
)
from hudi_jobs.operations.rows import difference, rows_at, rows_now
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.affected import noting_affected
from hudi_jobs.services.preparation import load_timeline, open_table
from hudi_jobs.table import HudiTable


def operate(context: TaskContext) -> TaskResult:
    """Do the operation that the task names, or only check it."""
    operation = context.task.operation
    if operation is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request names no operation.")
    if operation.dry_run:
        return _dry(context, operation)
    opened = _Opened(context)

    def work(_: Lease) -> TaskResult:
        return _Run(context, operation, _journal(context)).go(opened.table())

    return with_lease(context, work, before=opened.open)


class _Opened:
    """The table as it is once the run holds the lease on it."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._table: HudiTable | None = None

    def open(self) -> None:
        """Read the table; raise `TaskFailed` when it is another one, before it is taken for ours."""
        self._table = open_table(self._context)

    def table(self) -> HudiTable:
        """Return the table; raise `TaskFailed` where there is none."""
        if self._table is None:
            raise refused(f"There is no table at {self._context.task.table.base_path}.")
        return self._table


def _journal(context: TaskContext) -> Journal:
    base_path = context.task.table.base_path
    return Journal(open_table_files(context.spark, base_path, limit=RECORD_LIMIT), base_path)


def _dry(context: TaskContext, operation: TableOperation) -> TaskResult:
    """Check the operation and say what it would do. A lease would be written, so none is taken."""
    opened = _Opened(context)
    opened.open()
    table = opened.table()
    require_not_owned_elsewhere(open_table_files(context.spark, table.base_path), context.task)
    _require_no_restore(context, _journal(context), ours=None)
    record = checked(context, operation, table)
    report = record.report().model_copy(update={"phase": OperationPhase.CHECKING})
    context.operation.append(report)
    return _succeeded(context, f"Would undo {_undone(record)}; nothing was written.")


class _Run:
    """What is done with an operation under the lease."""

    def __init__(self, context: TaskContext, operation: TableOperation, journal: Journal) -> None:
        self._context = context
        self._operation = operation
        self._journal = journal

    def go(self, table: HudiTable) -> TaskResult:
        """Begin, or go on from the record."""
        context, record = self._context, self._journal.find(self._operation.uid)
        if record is not None:
            context.operation.append(record.report())
        if record is not None and record.phase is OperationPhase.DONE:
            return _succeeded(context, f"An earlier run has undone {_undone(record)}.")
        begun = None if record is None else self._begun(record)
        _require_no_restore(context, self._journal, ours=begun)
        with noting_affected(context, lambda: load_timeline(context)):
            if record is None or (begun is None and record.phase is OperationPhase.RUNNING):
                record = self._begin(table, record)
            if record.phase is OperationPhase.DONE:
                message = f"The table is at commit {record.target} already."
                return TaskResult(id=context.task.id, outcome=Outcome.NOTHING_TO_DO, message=message)
            if record.phase is OperationPhase.RUNNING:
                record = self._change(record, begun)
            record = self._verify(record)
        message = f"Undid {_undone(record)}; {counted(record.expected.rows, 'row')} compared."
        return _succeeded(context, f"{message} {self._lacking(record)}".rstrip())

    def _begun(self, record: OperationRecord) -> Restore | None:
        """Return the restore that an earlier run has begun; of one without a plan yet nothing is kept."""
        if record.phase is OperationPhase.RUNNING:
            history = History(self._context.spark, load_timeline(self._context))
            for each in history.restores():
                if each.target is None and not each.is_completed and each.instant > record.newest:
                    history.drop_unreadable_restore(each.instant)
        return restore_of(self._context, record)

    def _begin(self, table: HudiTable, earlier: OperationRecord | None) -> OperationRecord:
        """Check and record. What an earlier run has removed before it was killed is not there to be found any more."""
        try:
            record = checked(self._context, self._operation, table)
        except Exception as error:
            if earlier is not None:
                # A report that only came to check would say that nothing was recorded before.
                self._context.operation.append(earlier.report())
            if earlier is not None and isinstance(error, TaskFailed):
                remake_metadata_table(self._context, earlier)
            raise
        if earlier is not None:
            record = record.following(earlier)
        if not record.removed:
            record = record.model_copy(update={"phase": OperationPhase.DONE, "rows_after": record.rows_before})
        self._keep(record)
        reach(Phase.RECORDED)
        return record

    def _change(self, record: OperationRecord, begun: Restore | None) -> OperationRecord:
        context = self._context
        if begun is None:
            prepare(context, record)
            reach(Phase.PREPARED)
        done = begun if begun is not None and begun.is_completed else restore(context, record)
        reach(Phase.RESTORED)
        roll_back_what_stayed(context, done)
        if begun is not None:
            remove_metadata_table(context)  # an earlier run may have been killed while it made a new one
        remake_metadata_table(context, record)
        commit = commit_checkpoint(context, record)
        reach(Phase.AFTER_COMMIT)
        changes = {"phase": OperationPhase.VERIFYING, "restore": done.instant, "checkpoint_commit": commit}
        record = record.model_copy(update=changes)
        self._keep(record)
        return record

    def _verify(self, record: OperationRecord) -> OperationRecord:
        """Compare the rows with those that were counted before anything was changed."""
        context = self._context
        later = self._later(record)
        found = rows_at(context, record.target, later) if later else rows_now(context)
        record = record.model_copy(update={"rows_after": found.rows})
        wrong = difference(record.expected, found)
        if wrong is not None:
            context.operation.append(record.report().model_copy(update={"verified": False}))
            raise TaskFailed(
                FailureReason.NOT_VERIFIED,
                f"The restore to commit {record.target} is complete, and the table does not hold what it held: {wrong} "
                "Look at what else has written to the table before anything else is written.",
            )
        if not later and has_metadata_table(context):
            self._compare_through_metadata_table(record)
        record = record.model_copy(update={"phase": OperationPhase.DONE})
        reach(Phase.VERIFIED)
        self._keep(record)
        return record

    def _compare_through_metadata_table(self, record: OperationRecord) -> None:
        wrong = difference(record.expected, rows_now(self._context, metadata_table=True))
        if wrong is not None:
            self._context.log("the metadata table is removed, because its readers miss rows", difference=wrong)
            remove_metadata_table(self._context)

    def _lacking(self, record: OperationRecord) -> str:
        """Return a sentence where the table has lost its metadata table."""
        if not record.metadata_options or has_metadata_table(self._context):
            return ""
        return "The metadata table is not there any more: declare metadataTable.enabled, and the next write makes it."

    def _later(self, record: OperationRecord) -> set[str]:
        """Return what somebody has written since the restore: then the table is compared as of its target."""
        writes = History(self._context.spark, load_timeline(self._context)).writes
        return {each.instant for each in writes if each.instant > (record.restore or "")} - {record.checkpoint_commit}

    def _keep(self, record: OperationRecord) -> None:
        with stage("The record of the operation cannot be written", otherwise=FailureReason.HUDI_ERROR):
            self._journal.keep(record)
        self._context.operation.append(record.report())


def _require_no_restore(context: TaskContext, journal: Journal, *, ours: Restore | None) -> None:
    """Refuse beside a restore that was begun and has not completed, unless this operation has begun it."""
    for each in History(context.spark, load_timeline(context)).restores():
        if each.is_completed or (ours is not None and each.instant == ours.instant):
            continue
        owner = journal.beginner_of(each)
        by = f"the operation {owner} has begun; let that finish" if owner else "another tool has begun; finish it there"
        raise refused(f"The restore {each.instant} is pending, which {by}.")


def _undone(record: OperationRecord) -> str:
    saved = f" and {counted(len(record.savepoints), 'savepoint')}" if record.savepoints else ""
    return f"{counted(len(record.removed), 'commit')}{saved} after commit {record.target}"


def _succeeded(context: TaskContext, message: str) -> TaskResult:
    return TaskResult(id=context.task.id, outcome=Outcome.SUCCEEDED, message=message)
