"""Maps each service to the function that runs it: one module per service."""

from collections.abc import Callable
from typing import Never

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Service, TableTask, TaskResult
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.batches.continuous import ingest_continuously
from hudi_jobs.ingestion.run import ingest
from hudi_jobs.operations.run import operate
from hudi_jobs.services.archival import archive
from hudi_jobs.services.cleaning import clean
from hudi_jobs.services.clustering import cluster
from hudi_jobs.services.compaction import compact
from hudi_jobs.services.deletion import delete
from hudi_jobs.services.savepoints.named_savepoint import change_savepoint

Runner = Callable[[TaskContext], TaskResult]


def runner_of(task: TableTask) -> Runner:
    """Return the function that runs a task's service; mypy reports a service without one.

    Raises `TaskFailed` for a service of a newer operator.
    """
    runner: Runner
    match task.service:
        case Service.INGESTION:
            continues = task.ingestion is not None and task.ingestion.continuous is not None
            runner = ingest_continuously if continues else ingest
        case Service.SAVEPOINT:
            runner = change_savepoint
        case Service.OPERATION:
            runner = operate
        case Service.COMPACTION:
            runner = compact
        case Service.CLUSTERING:
            runner = cluster
        case Service.CLEANING:
            runner = clean
        case Service.ARCHIVAL:
            runner = archive
        case Service.DELETION:
            runner = delete
        case _:
            raise _unknown(task.service)
    return runner


def _unknown(service: Never) -> TaskFailed:
    return TaskFailed(
        FailureReason.INVALID_REQUEST,
        f"This driver image does not know the service {service!r}; run the image of the operator's release.",
    )
