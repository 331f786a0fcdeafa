"""Which function runs which service: one module per service."""

from collections.abc import Callable, Mapping

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Service, TaskResult
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.run import ingest
from hudi_jobs.services.archival import archive
from hudi_jobs.services.cleaning import clean
from hudi_jobs.services.clustering import cluster
from hudi_jobs.services.compaction import compact
from hudi_jobs.services.deletion import delete

Runner = Callable[[TaskContext], TaskResult]

_RUNNERS: Mapping[Service, Runner] = {
    Service.INGESTION: ingest,
    Service.COMPACTION: compact,
    Service.CLUSTERING: cluster,
    Service.CLEANING: clean,
    Service.ARCHIVAL: archive,
    Service.DELETION: delete,
}


def runner_of(service: Service) -> Runner:
    """Return the function that runs a service; raise `TaskFailed` when this release has none."""
    runner = _RUNNERS.get(service)
    if runner is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"This release of the driver cannot run {service}.")
    return runner
