"""Which function runs which service: one module per service."""

from collections.abc import Callable, Mapping

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Service, TaskResult
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.run import ingest

Runner = Callable[[TaskContext], TaskResult]

_RUNNERS: Mapping[Service, Runner] = {Service.INGESTION: ingest}


def runner_of(service: Service) -> Runner:
    """Return the function that runs a service; raise `TaskFailed` when this release has none."""
    runner = _RUNNERS.get(service)
    if runner is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"This release of the driver cannot run {service}.")
    return runner
