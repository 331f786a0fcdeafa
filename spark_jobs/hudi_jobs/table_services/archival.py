"""Archival: the oldest instants move from the active timeline into the archive."""

from hudi_jobs.archive import archive_files
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import stage
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.preparation import load_timeline, missing_table, nothing, open_table, while_ours


def archive(context: TaskContext) -> TaskResult:
    """Archive as much as the bounds and Hudi's own holds allow."""
    table = open_table(context)
    if table is None:
        return missing_table(context)
    if table.version >= LAYOUT_2_FROM:
        with stage("The archive cannot be read", otherwise=FailureReason.HUDI_ERROR):
            archive_files(context.spark, table.meta)  # Hudi merges whatever files its manifest names
    return while_ours(context, lambda *_: _archive(context))


def _archive(context: TaskContext) -> TaskResult:
    context.begin(RunPhase.ARCHIVING)
    before = load_timeline(context).completed()
    options = context.task.hudi_options
    with (
        stage("Hudi could not archive", otherwise=FailureReason.HUDI_ERROR),
        context.at_rest(),  # a batch reads instants one by one, and archival may remove the next one
        write_client(context.spark, context.task.table.base_path, options) as client,
    ):
        client.archive()
    reach(Phase.AFTER_COMMIT)
    archived = len(set(before) - set(load_timeline(context).completed()))
    if not archived:
        return nothing(
            context,
            f"Hudi archived none of {len(before):,} instants: archival begins at more than "
            f"{options.get('hoodie.keep.max.commits', '30')} commits, and keeps what a pending plan, a savepoint, "
            "cleaning or the metadata table still needs.",
        )
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"Archived {archived:,} instants.",
        instants_archived=archived,
    )
