"""Requests for a run now, by the annotation of a table: when a request is answered, and which failures it resets."""

from collections.abc import Iterable

from hudi_jobs.contract import Service
from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION, HudiTable
from hudi_operator.api.status.table import ActiveJob, ServicesStatus
from hudi_operator.planning.facts.runs.continuous import STOPPED
from hudi_operator.planning.facts.runs.failures import reset_failures
from hudi_operator.planning.model import LaunchJob
from hudi_operator.services.registry import SERVICES


def open_request(table: HudiTable) -> str | None:
    """Return the value of the annotation requested-at if it has not been answered."""
    requested = table.metadata.annotations.get(REQUESTED_AT_ANNOTATION)
    return requested[:128] if requested and requested[:128] != table.status.last_handled_reconcile_at else None


def answered_by(table: HudiTable, launches: Iterable[LaunchJob], *, active: Iterable[ActiveJob] = ()) -> str | None:
    """Answer a request when ingestion is launched, or at once if ingestion cannot be launched.

    A running continuous driver looks at the source soon anyway.
    """
    launched = any(launch.job.service is Service.INGESTION for launch in launches)
    goes_on = any(job.live is not None and job.state not in STOPPED for job in active)
    return open_request(table) if launched or goes_on or table.spec.ingestion is None else None


def after_request(table: HudiTable, services: ServicesStatus) -> ServicesStatus:
    """Reset the failures of the requested service, or of all services if the table has no ingestion.

    Without an ingestion the request is answered at once. Otherwise the failures of the table services are reset only
    when ingestion starts: a request may stay open for long, and a service that fails meanwhile must back off.
    """
    if open_request(table) is None:
        return services
    if table.spec.ingestion is None:
        return reset_all(services)
    return services.replaced({Service.INGESTION: reset_failures(services.ingestion)})


def reset_all(services: ServicesStatus) -> ServicesStatus:
    """Reset failures, and let services that found nothing to do run again: somebody asked for a run."""
    return services.replaced(
        {one: reset_failures(services.of(one)).copy_with(last_no_op_instant=None) for one in SERVICES}
    )
