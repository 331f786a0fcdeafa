"""Runs a restore or rollback: checks it, restores the table, and compares the rows."""

from hudi_jobs.contract import OperationPhase, Outcome, TaskResult
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.journal.history import History, Restore
from hudi_jobs.journal.records import RestoreRecord
from hudi_jobs.operations.check import checked, left_behind, require_as_checked, require_no_restore
from hudi_jobs.operations.checkpoints import commit_checkpoint
from hudi_jobs.operations.operation_run import OperationRun, compare, succeeded
from hudi_jobs.operations.restore_steps import (
    drop_where_rows_are_missed,
    lost_metadata_table,
    not_begun_again,
    prepare,
    remake_if_possible,
    remake_metadata_table,
    remove_what_was_left,
    removed_before,
    restore,
    restore_of,
    roll_back_what_stayed,
)
from hudi_jobs.operations.rows import rows_at, rows_now
from hudi_jobs.phases import Phase, reach
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.unfinished_work import noting_affected

_NAMED = 5


def would_restore(work: OperationRun) -> TaskResult:
    """Check a restore or rollback and report its effect, without writing."""
    former = left_behind(work.context, work.journal, work.operation)
    if former is not None:
        work.report(former.report().copy_with(phase=OperationPhase.CHECKING))
        message = f"Would finish the restore to commit {former.target} that the operation {former.resource} has begun"
        return succeeded(work.context, f"{message}; nothing was written.")
    with work.obstacles.each():
        require_no_restore(work.context, work.journal, ours=None)
    record = checked(work)
    work.report(record.report().copy_with(phase=OperationPhase.CHECKING))
    files = "" if record.count is None else f", and delete {counted(record.count, 'file')} of {record.bytes:,} bytes"
    return succeeded(work.context, f"Would undo {_undone(record)}{files}; nothing was written.")


def run_restore(work: OperationRun) -> TaskResult:
    """Restore the table, or continue a restore that an earlier run began."""
    return _Run(work).go()


class _Run:
    """The steps under the lease."""

    def __init__(self, work: OperationRun) -> None:
        self._work = work
        self._context = work.context
        self._operation = work.operation
        self._journal = work.journal

    def go(self) -> TaskResult:
        """Begin, or continue from the record."""
        context = self._context
        record = self._journal.find(RestoreRecord, self._operation.uid) or self._taken_over()
        if record is not None:
            self._work.report(record.report())
        if record is not None and record.phase is OperationPhase.DONE:
            lost = lost_metadata_table(context, record.metadata_options)
            return succeeded(context, f"An earlier run has undone {_undone(record)}. {lost}".rstrip())
        begun = None if record is None else self._begun(record)
        goes_on = begun is not None or (record is not None and record.phase is not OperationPhase.RUNNING)
        if goes_on:
            require_no_restore(context, self._journal, ours=begun)
        with noting_affected(context, lambda: load_timeline(context)):
            if record is None or not goes_on:
                earlier, record = record, self._begin(record)
                if record.phase is OperationPhase.DONE:
                    return self._nothing_to_do(record, earlier)
            if record.phase is OperationPhase.RUNNING:
                record = self._change(record, begun)
            record = self._verify(record)
        message = f"Undid {_undone(record)}; {counted(record.expected.rows, 'row')} compared."
        return succeeded(context, f"{message} {lost_metadata_table(context, record.metadata_options)}".rstrip())

    def _taken_over(self) -> RestoreRecord | None:
        """Continue the pending restore of a vanished operation, from its record."""
        former = left_behind(self._context, self._journal, self._operation)
        if former is None:
            return None
        record = self._journal.take_over(former, self._operation)
        self._work.set_phase(record.phase)
        return record

    def _begun(self, record: RestoreRecord) -> Restore | None:
        """Return the restore that an earlier run began; a request without a plan is dropped."""
        if record.phase is OperationPhase.RUNNING:
            history = History(self._context.spark, load_timeline(self._context))
            for each in history.restores():
                if each.target is None and not each.is_completed and each.instant > record.newest:
                    history.drop_unreadable_restore(each.instant)
        return restore_of(self._context, record)

    def _begin(self, earlier: RestoreRecord | None) -> RestoreRecord:
        """Check and record; savepoints that an earlier run removed before it was killed are taken from its record."""
        try:
            require_no_restore(self._context, self._journal, ours=None)
            record = checked(self._work)
        except Exception as error:
            if earlier is not None:
                not_begun_again(self._work, earlier, error, savepoints=earlier.savepoints)
            raise
        if earlier is not None:
            record = record.following(earlier)
        if not record.removed:
            if earlier is not None:
                remake_if_possible(self._work, record.metadata_options)
            record = record.copy_with(phase=OperationPhase.DONE, rows_after=record.rows_before)
        self._work.save(record)
        reach(Phase.RECORDED)
        return record

    def _nothing_to_do(self, record: RestoreRecord, earlier: RestoreRecord | None) -> TaskResult:
        left = ""
        if earlier is not None:
            left = removed_before(self._work, record.metadata_options, earlier.savepoints)
        message = f"The table is already at commit {record.target}. {left}".rstrip()
        return TaskResult(id=self._context.task.id, outcome=Outcome.NOTHING_TO_DO, message=message)

    def _change(self, record: RestoreRecord, begun: Restore | None) -> RestoreRecord:
        context = self._context
        if begun is None:
            require_as_checked(context, record)
            prepare(context, record)
            reach(Phase.PREPARED)
            record = record.copy_with(pending=require_as_checked(context, record))
            self._work.save(record)
        done = begun if begun is not None and begun.is_completed else restore(context, record)
        reach(Phase.RESTORED)
        roll_back_what_stayed(context, done)
        if begun is not None:
            remove_what_was_left(context)
        remake_metadata_table(context, record.metadata_options)
        commit = commit_checkpoint(context, record)
        reach(Phase.AFTER_COMMIT)
        record = record.copy_with(
            phase=OperationPhase.VERIFYING,
            restore=done.instant,
            checkpoint_commit=commit,
            besides=record.undone_besides(done.undone),
        )
        self._work.save(record)
        return record

    def _verify(self, record: RestoreRecord) -> RestoreRecord:
        """Compare the rows with those counted before the restore."""
        context = self._context
        later = self._later(record)
        found = rows_at(context, record.target, later) if later else rows_now(context)
        record = record.copy_with(rows_after=found.rows)
        wrong = compare(self._work, record.expected, found)
        besides = _undone_besides(record)
        if wrong is not None:
            raise self._work.not_verified(
                record,
                f"The restore to commit {record.target} is complete, but the rows of the table are not those "
                f"expected: {wrong} Find out what else has written to the table before anything else is written. "
                f"{besides}".rstrip(),
            )
        if not later:
            drop_where_rows_are_missed(context, record.expected)
        if besides:
            raise self._work.not_verified(record, f"The restore to commit {record.target} is complete. {besides}")
        record = record.copy_with(phase=OperationPhase.DONE)
        reach(Phase.VERIFIED)
        self._work.save(record)
        return record

    def _later(self, record: RestoreRecord) -> set[str]:
        """Return the writes after the restore; with any, the table is compared as of its target."""
        writes = History(self._context.spark, load_timeline(self._context)).writes
        return {each.instant for each in writes if each.instant > (record.restore or "")} - {record.checkpoint_commit}


def _undone(record: RestoreRecord) -> str:
    saved = f" and {counted(len(record.savepoints), 'savepoint')}" if record.savepoints else ""
    return f"{counted(len(record.removed), 'commit')}{saved} after commit {record.target}"


def _undone_besides(record: RestoreRecord) -> str:
    if not record.besides:
        return ""
    return (
        f"It has also undone what came to the table right before it: {listed(record.besides, _NAMED)}. Stop all other "
        "writers, and write again what of that is wanted."
    )
