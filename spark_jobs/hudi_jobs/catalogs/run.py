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
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        is_there = HudiTable.exists(context.spark, context.task.table.base_path)
    if not is_there:
        return _nothing(context)
    run = _CatalogRun(context)
    return with_lease(context, lambda _: run.sync(), before=run.check)


class _CatalogRun:
    """The table as opened under the lease, checked before its owner is recorded and then synced."""

    def __init__(self, context: TaskContext[CatalogTableTask]) -> None:
        self._context = context
        self._table: HudiTable | None = None

    def check(self) -> None:
        """Open the table; raise a failure if it is not as declared."""
        task = self._context.task
        with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
            self._table = HudiTable.existing(self._context.spark, task.table.base_path)
            self._table.require(task.table, task.service)

    def sync(self) -> TaskResult:
        """Sync the catalog."""
        assert self._table is not None, "the table is checked first"
        return _sync(self._context, self._table)


def _nothing(context: TaskContext) -> TaskResult:
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.NOTHING_TO_DO,
        message=f"There is no table with a commit at {context.task.table.base_path} for a catalog to show.",
    )


def _sync(context: TaskContext[CatalogTableTask], table: HudiTable) -> TaskResult:
    catalog = context.task.catalog
    with stage("The catalog cannot be compared with the table", otherwise=FailureReason.HUDI_ERROR):
        record = sync_always(context, catalog, table)
    if record is None:
        return _nothing(context)
    if record.trouble is not None:
        raise TaskFailed(_REASONS[record.trouble], record.message)
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"The catalog entry {catalog.entry} shows the table as of {record.instant}.",
    )
