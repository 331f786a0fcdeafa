"""Cleaning: deletes files that no retained commit needs, after rolling back dead writes."""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import ConcurrencyMode, FailureReason, Outcome, TaskResult
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import stage
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline, missing_table, nothing, open_table, while_ours
from hudi_jobs.table_services.savepoints import held_back
from hudi_jobs.table_services.unfinished_work import Others

_ACTION = "clean"
_NAMED = 3


def clean(context: TaskContext) -> TaskResult:
    """Finish a pending clean, or plan and execute a clean."""
    if open_table(context) is None:
        return missing_table(context)
    return while_ours(context, lambda _, rolled_back: _clean(context, rolled_back))


def _clean(context: TaskContext, rolled_back: list[str]) -> TaskResult:
    context.begin(RunPhase.CLEANING)
    timeline, others = load_timeline(context), Others(context)
    before = set(timeline.completed())
    note = f" Rolled back {_writes(rolled_back)}." if rolled_back else ""
    alive = [time for time in timeline.unfinished_cleans() if not others.is_abandoned(time) or others.is_alive(time)]
    beside_others = context.task.concurrency is ConcurrencyMode.OPTIMISTIC
    if alive and beside_others:
        return nothing(context, f"Another tool may be at work on the clean {alive[0]}, so it was not touched.{note}")
    with (
        stage("Hudi could not clean", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        instant = client.plan_clean()
        require_plans_inside(context)
        deleted = client.clean_beside_others(instant) if beside_others else client.clean()
    reach(Phase.AFTER_COMMIT)
    after = load_timeline(context)
    cleans = [each for each, action in after.completed() if action == _ACTION and (each, action) not in before]
    held = held_back(context, after)
    if not cleans:
        found = nothing(context, f"No file can be removed, because retained commits need all of them.{note}")
        return found.copy_with(held_back=held)
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"The clean {cleans[-1]} deleted {counted(deleted or 0, 'file')}.{note}",
        instant=cleans[-1],
        files_deleted=deleted or 0,
        held_back=held,
    )


def _writes(instants: list[str]) -> str:
    return f"{counted(len(instants), 'dead write')} ({listed(instants, _NAMED)})"
