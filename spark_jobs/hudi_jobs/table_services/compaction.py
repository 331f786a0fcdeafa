"""Compaction: merges the log files of file groups into new base files."""

from collections.abc import Mapping
from dataclasses import replace

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import ConcurrencyMode, FailureReason, Service, TableType, TaskResult, as_service
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.inline_services.inline_client import as_inline_service
from hudi_jobs.preflight.log_gate import left_in_logs
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import WriteClient
from hudi_jobs.table_services.planned import PlannedService, run_planned
from hudi_jobs.table_services.preparation import open_table
from hudi_jobs.table_services.timeline import Pending, Timeline

EVERY_LOG_FILE = {
    "hoodie.compact.inline.trigger.strategy": "NUM_COMMITS",
    "hoodie.compact.inline.max.delta.commits": "0",
    "hoodie.compaction.strategy": "org.apache.hudi.table.action.compact.strategy.UnBoundedCompactionStrategy",
    "hoodie.table.services.incremental.enabled": "false",
}
"""Options that compact every log file whenever requested."""
_ROUNDS = 2
"""The first round may execute a pending plan, and leave others."""
_IDLE_WITHIN_SECONDS = 5.0
"""A running service takes longer than this, and a look for a service takes less."""


def compact(context: TaskContext) -> TaskResult:
    """Plan or execute a compaction."""
    return run_planned(context, _Compaction())


def require_compaction(context: TaskContext, _: HudiTable) -> None:
    """Raise `TaskFailed` for a table without log files."""
    if context.task.table.type is not TableType.MERGE_ON_READ:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "Only a MergeOnRead table has log files to compact; turn compaction off for this table.",
        )


def with_keys_in_base_files(context: TaskContext, table: HudiTable) -> HudiTable:
    """Return a table in which the index finds every key, compacting again if keys are only in log files.

    For a run that is about to write; no compaction completes beside it: `context` holds its lease. Raises `TaskFailed`,
    with nothing written, if the compaction is impossible now.
    """
    found = _left(context, table)
    if found is None:
        return table
    if context.inline_server is not None:
        context.inline_server.let_begin(may=False)
        if not context.inline_server.wait_until_idle(_IDLE_WITHIN_SECONDS):
            raise TaskFailed(
                FailureReason.CONFLICT, "A table service that may move the keys of log files is still running."
            )
    task = context.task if context.inline_server is None else as_inline_service(context.task)
    is_alone = context.task.concurrency is ConcurrencyMode.SERIALIZED
    compacting = replace(context.of(task), held=context.held if is_alone else None, inline_server=None)
    for _ in range(_ROUNDS):
        result = _compact_again(compacting, found)
        reopened = open_table(context, compares_slices=False)
        assert reopened is not None, "a table does not vanish"
        if (left := _left(context, reopened)) is None:
            return reopened
        found = left
    raise TaskFailed(
        result.reason or FailureReason.CONFLICT,
        f"A compaction left keys only in log files, such as {found}, where the index does not find them, and another "
        f"compaction did not move them: {result.message} Nothing else was written.",
    )


def _compact_again(context: TaskContext, found: str) -> TaskResult:
    context.log("compacting again, because a compaction left keys only in log files", log_file=found)
    options = {**context.task.hudi_options, **EVERY_LOG_FILE}
    compacting = context.of(as_service(context.task, Service.COMPACTION, hudi_options=options))
    return run_planned(compacting, _Compaction(again=True))


def _left(context: TaskContext, table: HudiTable) -> str | None:
    return left_in_logs(context.spark, table, context.task, context.settled)


class _Compaction(PlannedService):
    name = "compaction"
    phase = RunPhase.COMPACTING
    can_plan_anew = False

    def __init__(self, *, again: bool = False) -> None:
        self._again = again

    def require(self, context: TaskContext, table: HudiTable) -> None:
        require_compaction(context, table)

    def pending(self, timeline: Timeline) -> list[Pending]:
        return timeline.pending_compactions()

    def schedule(self, client: WriteClient, notes: Mapping[str, str]) -> str | None:
        return client.schedule_compaction(notes)

    def execute(self, context: TaskContext, client: WriteClient, instant: str, notes: Mapping[str, str]) -> None:
        # A batch that looks up its keys before this commit and commits after it would write returning keys twice.
        client.compact(instant, notes, at_rest=context.at_rest())

    def settle(self, context: TaskContext, result: TaskResult) -> TaskResult:
        if self._again or result.files_written is None or context.inline_queue is not None:
            return result  # beside batches, the next batch does this before it writes
        table = open_table(context, compares_slices=False)
        found = None if table is None else _left(context, table)
        if found is None:
            return result
        again = _compact_again(context, found)
        return result.copy_with(message=f"{result.message} {again.message}")

    def describe_no_plan(self, context: TaskContext) -> str:
        is_open = context.task.hudi_options.get("hoodie.compact.inline.max.delta.seconds") == "0"
        trigger = "" if is_open else "its trigger has not been reached, or "
        return f"Hudi planned nothing: {trigger}no file group that the plan strategy selects has log files."
