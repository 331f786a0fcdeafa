"""Runs a repair: checks, records, repairs, and compares the rows with those of before."""

from hudi_jobs.contract import FailureReason, OperationPhase, Outcome, RepairStep, TaskResult
from hudi_jobs.journal.records import RepairRecord, Rows
from hudi_jobs.operations.check import require_no_restore
from hudi_jobs.operations.operation_run import OperationRun, compare, succeeded
from hudi_jobs.operations.repair.repair_step import Found, once_begun, require_no_heartbeat
from hudi_jobs.operations.repair.steps import STEPS
from hudi_jobs.operations.rows import rows_now
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.unfinished_work import noting_affected


def would_repair(work: OperationRun) -> TaskResult:
    """Report the step's effect, or its refusal, without writing."""
    record, found = _looked(work, _asked(work))
    work.report(record.report().copy_with(phase=OperationPhase.CHECKING))
    return succeeded(work.context, f"Would {found.what}; nothing was written.")


def repair(work: OperationRun) -> TaskResult:
    """Run the step, or continue it; a writer may have begun since the first run."""
    name = _asked(work)
    record = work.journal.find(RepairRecord, work.operation.uid)
    if record is not None:
        work.report(record.report())
    if record is not None and record.phase is OperationPhase.DONE:
        return succeeded(work.context, f"An earlier run has done the repair {record.step}.")
    with noting_affected(work.context, lambda: load_timeline(work.context)):
        if record is None:
            record, found = _looked(work, name)
            if found.is_nothing:
                return _nothing(work, record, found)
            if record.expected is None:
                record = record.copy_with(expected=_rows(work))
            work.save(record)
            reach(Phase.RECORDED)
        else:
            require_no_restore(work.context, work.journal, ours=None)
        with once_begun():  # reading the rows takes long, and a later run may come much later
            require_no_heartbeat(work.context)
        record = STEPS[record.step].mend(work, record) or record
        reach(Phase.AFTER_COMMIT)
        record = record.copy_with(phase=OperationPhase.VERIFYING)
        work.save(record)
        record = _verified(work, record)
    reach(Phase.VERIFIED)
    work.save(record)
    compared = f"{record.expected.rows:,} rows compared" if record.expected else "the rows could not be read before"
    return succeeded(work.context, f"The repair {record.step} is done; {compared}.")


def _nothing(work: OperationRun, record: RepairRecord, found: Found) -> TaskResult:
    work.save(record.copy_with(phase=OperationPhase.DONE))
    message = f"There is nothing to do: it would {found.what}."
    return TaskResult(id=work.context.task.id, outcome=Outcome.NOTHING_TO_DO, message=message)


def _looked(work: OperationRun, name: RepairStep) -> tuple[RepairRecord, Found]:
    with work.obstacles.each():
        require_no_restore(work.context, work.journal, ours=None)
    found = STEPS[name].look(work)
    fields = {
        "uid": work.operation.uid,
        "resource": work.operation.resource,
        "phase": OperationPhase.RUNNING,
        "newest": load_timeline(work.context).newest_instant(),
        "step": name,
        "instant": work.operation.instant,
        **found.kept,
    }
    return RepairRecord.model_validate(fields), found


def _rows(work: OperationRun) -> Rows | None:
    """Return the rows before the repair; None when the damage makes them unreadable."""
    try:
        return rows_now(work.context)
    except TaskFailed as error:
        if error.reason is FailureReason.TIMELINE_ZONE_UNKNOWN:
            raise  # the repair does not mend the time zone
        work.context.log("the rows cannot be read before the repair", cause=error.message)
        return None


def _verified(work: OperationRun, record: RepairRecord) -> RepairRecord:
    STEPS[record.step].require_mended(work, record)
    found = rows_now(work.context)
    record = record.copy_with(rows_after=found.rows)
    wrong = compare(work, record.expected, found) if record.expected is not None else None
    if wrong is not None:
        raise work.not_verified(
            record,
            f"The repair {record.step} is done, but the rows of the table are not as before: {wrong} Find out what "
            "else has written to the table before anything else is written.",
        )
    return record.copy_with(phase=OperationPhase.DONE)


def _asked(work: OperationRun) -> RepairStep:
    if work.operation.repair is None or work.operation.repair.step not in STEPS:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request does not say which repair to do.")
    return work.operation.repair.step
