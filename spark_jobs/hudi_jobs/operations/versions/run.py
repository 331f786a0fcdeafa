"""Runs an upgrade or downgrade: merges, makes a savepoint, changes the version, and compares the rows."""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, OperationPhase, TableOperation, TaskResult
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.journal.journal import Journal
from hudi_jobs.journal.version_record import VersionRecord
from hudi_jobs.lease.owner import require_not_owned_elsewhere
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.check import metadata_options_of, require_no_restore
from hudi_jobs.operations.compared import compare
from hudi_jobs.operations.operation_run import OperationRun, succeeded
from hudi_jobs.operations.recheck import is_final, not_begun_again
from hudi_jobs.operations.restore_steps import (
    drop_where_rows_are_missed,
    lost_metadata_table,
    remake_metadata_table,
    remove_metadata_table,
)
from hudi_jobs.operations.rows import rows_now
from hudi_jobs.operations.versions.change import change_version, drop_savepoints, mend_properties, prepare_change
from hudi_jobs.operations.versions.check import require_as_checked, require_changeable
from hudi_jobs.phases import Phase, reach
from hudi_jobs.preflight.layout_gate import in_other_layout
from hudi_jobs.services.affected import noting_affected
from hudi_jobs.services.preparation import load_timeline
from hudi_jobs.services.timeline import Timeline
from hudi_jobs.table import HudiTable


def would_change_version(work: OperationRun) -> TaskResult:
    """Check an upgrade or downgrade and report its effect, without writing."""
    record = _checked(work)
    work.report(record.report().copy_with(phase=OperationPhase.CHECKING))
    return succeeded(work.context, f"Would change the table {_way(record)}; nothing was written.")


def finish_change(context: TaskContext, operation: TableOperation, journal: Journal) -> None:
    """Finish the change of a killed run: until then no reader finds the whole timeline."""
    own = journal.find(VersionRecord, operation.uid)
    record = own or _left_behind(context, operation, journal)
    if record is None or record.phase is not OperationPhase.RUNNING or record.target is None:
        return
    require_not_owned_elsewhere(open_table_files(context.spark, context.task.table.base_path), context.task)
    if own is None:
        record = journal.take_over(record, operation)
    mend_properties(context)
    change_version(context, record)


def _left_behind(context: TaskContext, operation: TableOperation, journal: Journal) -> VersionRecord | None:
    """Return the record of another operation that was changing the table to the same version, or None.

    The other operation is gone: the table would have finished it before beginning this one, and this run holds the
    lease. A timeline in one layout means that it changed nothing.
    """
    former = journal.unfinished_change()
    if former is None or (former.kind, former.version_after) != (operation.kind, operation.table_version):
        return None
    table = HudiTable.open(context.spark, context.task.table.base_path)
    return former if table is not None and in_other_layout(context.spark, table) else None


def change_table_version(work: OperationRun) -> TaskResult:
    """Change the table's version, or continue a change."""
    context, record = work.context, work.journal.find(VersionRecord, work.operation.uid)
    if record is not None:
        work.report(record.report())
    if record is not None and record.phase is OperationPhase.DONE:
        return succeeded(context, f"An earlier run has changed the table {_way(record)}.")
    with noting_affected(context, lambda: load_timeline(context)):
        if record is None or not record.is_prepared:
            record = _prepared(work, record)
        if record.phase is OperationPhase.RUNNING:
            record = _changed(work, record)
        record = _verified(work, record)
    lost = lost_metadata_table(context, record.metadata_options)
    rows = counted(record.expected.rows, "row")
    return succeeded(context, f"Changed the table {_way(record)}; {rows} compared. {lost}".rstrip())


def _prepared(work: OperationRun, earlier: VersionRecord | None) -> VersionRecord:
    """Check, record and prepare the change, also after an earlier run did a part."""
    context, known = work.context, Timeline(work.context.spark, work.table).commits()
    try:
        record = _checked(work)
    except Exception as error:
        if earlier is not None:
            if is_final(error):
                drop_savepoints(context, earlier)
            not_begun_again(work, earlier, error)
        raise
    if earlier is not None:
        record = record.following(earlier)
    work.save(record)
    reach(Phase.RECORDED)
    require_as_checked(context, known)
    record = record.copy_with(target=prepare_change(context, record, known))
    work.save(record)
    reach(Phase.PREPARED)
    return record


def _checked(work: OperationRun) -> VersionRecord:
    context, operation, version = work.context, work.operation, work.operation.table_version
    if version is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"The request names no version for the {operation.kind}.")
    with stage("The operation cannot be checked", otherwise=FailureReason.HUDI_ERROR):
        with work.obstacles.each():
            require_no_restore(context, work.journal, ours=None)
        require_changeable(work, version)
        newest = Timeline(context.spark, work.table).newest_instant()
    return VersionRecord.model_validate(
        {
            "uid": operation.uid,
            "resource": operation.resource,
            "kind": operation.kind,
            "phase": OperationPhase.RUNNING,
            "newest": newest,
            "version_before": work.table.version,
            "version_after": version,
            "expected": rows_now(context),
            "metadata_options": metadata_options_of(work.table),
        }
    )


def _changed(work: OperationRun, record: VersionRecord) -> VersionRecord:
    context = work.context
    change_version(context, record)
    reach(Phase.CHANGED)
    remove_metadata_table(context)  # an earlier run may have been killed while rebuilding it
    remake_metadata_table(context, record.metadata_options)
    record = record.copy_with(phase=OperationPhase.VERIFYING)
    work.save(record)
    reach(Phase.AFTER_COMMIT)
    return record


def _verified(work: OperationRun, record: VersionRecord) -> VersionRecord:
    """Compare the rows with those counted before the change."""
    context, found = work.context, rows_now(work.context)
    record = record.copy_with(rows_after=found.rows)
    wrong = compare(work, record.expected, found)
    if wrong is not None:
        raise work.not_verified(
            record,
            f"The table was changed {_way(record)}, but its rows are not as before: {wrong} The savepoint on commit "
            f"{record.target} keeps the earlier files.",
        )
    drop_where_rows_are_missed(context, record.expected)
    record = record.copy_with(phase=OperationPhase.DONE)
    reach(Phase.VERIFIED)
    work.save(record)
    return record


def _way(record: VersionRecord) -> str:
    return f"from version {record.version_before} to {record.version_after}"
