"""Maps each class of tasks to the function that runs it: a module per service."""

from typing import assert_never

from hudi_jobs.catalogs.run import sync_catalog
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    ArchivalTableTask,
    CatalogTableTask,
    CleaningTableTask,
    ClusteringTableTask,
    CompactionTableTask,
    DeletionTableTask,
    IngestionTableTask,
    OperationTableTask,
    SavepointTableTask,
    TableTask,
    TaskResult,
)
from hudi_jobs.ingestion.batches.continuous import ingest_continuously
from hudi_jobs.ingestion.run import ingest
from hudi_jobs.operations.run import operate
from hudi_jobs.table_services.archival import archive
from hudi_jobs.table_services.cleaning import clean
from hudi_jobs.table_services.clustering import cluster
from hudi_jobs.table_services.compaction import compact
from hudi_jobs.table_services.deletion import delete
from hudi_jobs.table_services.savepoints import change_savepoint


def run_task(context: TaskContext[TableTask]) -> TaskResult:  # noqa: PLR0911 - one for each service
    """Run a task; mypy finds a class of tasks that nothing runs."""
    task = context.task
    match task:
        case IngestionTableTask():
            run = ingest if task.ingestion.continuous is None else ingest_continuously
            return run(context.of(task))
        case SavepointTableTask():
            return change_savepoint(context.of(task))
        case OperationTableTask():
            return operate(context.of(task))
        case CompactionTableTask():
            return compact(context.of(task))
        case ClusteringTableTask():
            return cluster(context.of(task))
        case CleaningTableTask():
            return clean(context.of(task))
        case ArchivalTableTask():
            return archive(context.of(task))
        case CatalogTableTask():
            return sync_catalog(context.of(task))
        case DeletionTableTask():
            return delete(context.of(task))
        case _:
            assert_never(task)
