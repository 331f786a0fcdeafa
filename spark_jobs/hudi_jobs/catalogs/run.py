"""A run that only syncs the catalog: after failed syncs, for new settings, and for a table without commits of late."""

from hudi_jobs.catalogs.sync import sync_always
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import CatalogTableTask, FailureReason, Outcome, SyncTrouble, TaskResult
from hudi_jobs.exclusive import with_lease
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable

_REASONS = {
    SyncTrouble.UNAVAILABLE: FailureReason.CATALOG_UNAVAILABLE,
    SyncTrouble.TAKEN: FailureReason.CATALOG_ENTRY_TAKEN,
    SyncTrouble.REFUSED: FailureReason.CATALOG_REFUSED,
}


def sync_catalog(context: TaskContext[CatalogTableTask]) -> TaskResult:
    """Sync the catalog under the lease; raise a failure if the catalog does not show the table afterwards.

    A lease would make a folder for a table that does not exist.
    """
    if not _is_there(context):
        return _nothing(context)
    return with_lease(context, lambda _: _sync(context), before=lambda: _require_declared(context))


def _is_there(context: TaskContext) -> bool:
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return HudiTable.open(context.spark, context.task.table.base_path) is not None


def _require_declared(context: TaskContext) -> None:
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.existing(context.spark, context.task.table.base_path)
        table.require(context.task.table, context.task.service)


def _nothing(context: TaskContext) -> TaskResult:
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.NOTHING_TO_DO,
        message=f"There is no table with a commit at {context.task.table.base_path} for a catalog to show.",
    )


def _sync(context: TaskContext[CatalogTableTask]) -> TaskResult:
    catalog = context.task.catalog
    with stage("The catalog cannot be compared with the table", otherwise=FailureReason.HUDI_ERROR):
        record = sync_always(context, catalog)
    if record is None:
        return _nothing(context)
    if record.trouble is not None:
        raise TaskFailed(_REASONS[record.trouble], record.message)
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"The catalog entry {catalog.entry} shows the table as of {record.instant}.",
    )
