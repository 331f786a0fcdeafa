"""A check that is made again, because an earlier run has recorded its own and changed nothing that cannot be undone."""

from collections.abc import Collection

from hudi_jobs.contract import FailureReason, OperationPhase
from hudi_jobs.contract.wording import listed
from hudi_jobs.failures import TaskFailed
from hudi_jobs.operations.restore.record import RestoreRecord
from hudi_jobs.operations.restore.steps import lost_metadata_table, remake_metadata_table
from hudi_jobs.operations.versions.record import VersionRecord
from hudi_jobs.operations.work import Work
from hudi_jobs.services.preparation import load_timeline

_NAMED = 5


def require_nothing_come(come: Collection[str], unchanged: str) -> None:
    """Raise `TaskFailed` for instants that have come to the table, or gone, since its check read every row."""
    if come:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The timeline has changed since the table was checked ({listed(sorted(come), _NAMED)}), so {unchanged}, "
            "and another run checks again. Stop all other writers.",
        )


def not_begun_again(
    work: Work, earlier: RestoreRecord | VersionRecord, error: Exception, *, savepoints: Collection[str] = ()
) -> None:
    """Report what an earlier run has recorded; where a refusal leaves nothing of that, forget it.

    A report that only came to check would say that nothing was recorded before, so that a refusal is final. The earlier
    run was to remove the `savepoints`.
    """
    report, options = earlier.report(), earlier.metadata_options
    work.say(report)
    if not isinstance(error, TaskFailed):
        return
    remake_metadata_table(work.context, options)
    if error.reason is not FailureReason.OPERATION_REFUSED or lost_metadata_table(work.context, options):
        return
    there = {each.instant for each in load_timeline(work.context).savepoints()}
    if there.issuperset(savepoints):
        work.journal.forget(earlier.uid)
        work.say(report.model_copy(update={"phase": OperationPhase.CHECKING}))
