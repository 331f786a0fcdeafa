"""Cleaning: files are deleted that no retained commit needs, and dead writes are rolled back first."""

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_jobs.lease.holding import while_held
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.client import write_client
from hudi_jobs.services.preparation import look, missing_table, nothing, open_table, roll_back_dead_writes
from hudi_jobs.wording import counted

_ACTION = "clean"


def clean(context: TaskContext) -> TaskResult:
    """Finish a pending clean, or plan and execute one."""
    if open_table(context) is None:
        return missing_table(context)
    return while_held(context, lambda _: _clean(context))


def _clean(context: TaskContext) -> TaskResult:
    before = set(look(context).completed())
    rolled_back = roll_back_dead_writes(context)
    with (
        stage("Hudi could not clean", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        deleted = client.clean()
    reach(Phase.AFTER_COMMIT)
    after = look(context).completed()
    cleans = [instant for instant, action in after if action == _ACTION and (instant, action) not in before]
    rollbacks = sum(1 for each in after if each[1] == "rollback" and each not in before)
    note = f" Rolled back {counted(max(rolled_back, rollbacks), 'dead write')}." if rolled_back or rollbacks else ""
    if not cleans:
        return nothing(context, f"There is no file that a retained commit does not need.{note}")
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"The clean {cleans[-1]} deleted {counted(deleted or 0, 'file')}.{note}",
        instant=cleans[-1],
        files_deleted=deleted or 0,
    )
