"""What every table service does first: open the table, see that it is the declared one, and clear dead writes away."""

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import ConcurrencyMode, FailureReason, Outcome, TaskResult
from hudi_jobs.services.client import write_client
from hudi_jobs.services.timeline import Timeline
from hudi_jobs.table import HudiTable


def nothing(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a run that found nothing to do."""
    return TaskResult(id=context.task.id, outcome=Outcome.NOTHING_TO_DO, message=message)


def open_table(context: TaskContext) -> HudiTable | None:
    """Return the table, or None where none has been created; raise `TaskFailed` when it is another one."""
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        if table is not None:
            table.require(context.task.table)
        return table


def look(context: TaskContext) -> Timeline:
    """Read the timeline of a table that exists."""
    with stage("The table's timeline cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        assert table is not None, "a table does not vanish"
        return Timeline(context.spark, table)


def missing_table(context: TaskContext) -> TaskResult:
    """Return the result of a service whose table has not been created yet."""
    return nothing(context, f"There is no table at {context.task.table.base_path} yet.")


def roll_back_dead_writes(context: TaskContext) -> int:
    """Roll back what a dead writer has left and return how many writes that were.

    In a serialized table nobody else writes, so every unfinished write is dead. In an optimistic one Hudi judges by the
    heartbeat, when it cleans.
    """
    if context.task.concurrency is not ConcurrencyMode.SERIALIZED:
        return 0
    timeline = look(context)
    dead = timeline.unfinished_writes()
    if dead:
        context.log("rolling back dead writes", instants=dead)
        with (
            stage("A dead write cannot be rolled back", otherwise=FailureReason.HUDI_ERROR),
            write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
        ):
            client.rollback_failed_writes(timeline.meta)
    return len(dead)
