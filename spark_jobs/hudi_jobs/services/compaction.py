"""Compaction: the log files of file groups are merged into new base files."""

from collections.abc import Mapping

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, TableType, TaskResult
from hudi_jobs.failures import TaskFailed
from hudi_jobs.services.client import WriteClient
from hudi_jobs.services.planned import PlannedService, run_planned
from hudi_jobs.services.timeline import Pending, Timeline
from hudi_jobs.table import HudiTable


def compact(context: TaskContext) -> TaskResult:
    """Plan or execute a compaction."""
    return run_planned(context, _Compaction())


def require_compaction(context: TaskContext, _: HudiTable) -> None:
    """Raise `TaskFailed` for a table without log files."""
    if context.task.table.type is not TableType.MERGE_ON_READ:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "Only a MergeOnRead table has log files to compact; turn compaction off for this one.",
        )


class _Compaction(PlannedService):
    name = "compaction"
    can_plan_anew = False

    def require(self, context: TaskContext, table: HudiTable) -> None:
        require_compaction(context, table)

    def pending(self, timeline: Timeline) -> list[Pending]:
        return timeline.pending_compactions()

    def schedule(self, client: WriteClient, notes: Mapping[str, str]) -> str | None:
        return client.schedule_compaction(notes)

    def execute(self, client: WriteClient, instant: str, notes: Mapping[str, str]) -> None:
        client.compact(instant, notes)

    def describe_no_plan(self, context: TaskContext) -> str:
        options = context.task.hudi_options
        trigger = options.get("hoodie.compact.inline.trigger.strategy", "NUM_COMMITS")
        return (
            f"Hudi planned nothing: its trigger {trigger} has not been reached, "
            "or no file group that the plan strategy selects has log files."
        )
