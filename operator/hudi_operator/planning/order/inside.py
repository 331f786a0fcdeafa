"""Decides whether the table's continuous driver runs a due table service beside its batches.

The service is a run of its own all the same: its Job hands the service over to the driver, reports the result, and
fails if the driver dies. After a failed attempt the service runs in the driver's place, with its own memory and time.
"""

from collections.abc import Iterable, Mapping

from hudi_jobs.contract import ConcurrencyMode, SavepointWork, Service
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.case import Case
from hudi_operator.planning.facts.runs.continuous import STOPPED
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.planning.model import JobPhase
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.order.alone import kept_apart
from hudi_operator.planning.order.protection import savepoint_step
from hudi_operator.services.inside import services_inside

_AFTER_SAVEPOINTS = frozenset({Service.CLEANING, Service.ARCHIVAL})
"""Services that could remove the files or the commit of a waiting HudiSavepoint: the driver stops for the savepoint
first.
"""


def host_for(case: Case, service: Service, decision: Decision, active: Iterable[ActiveJob]) -> str | None:
    """Return the run of the driver that can do a service, or None if the service needs the table to itself."""
    if service not in services_inside(case.table.spec) or attempts(case.services.of(service)):
        return None
    if savepoint_step(case, service, decision) is not None:
        return None
    following = case.savepoints.following
    if service in _AFTER_SAVEPOINTS and following is not None and following.work is SavepointWork.MAKE:
        return None
    return next((job.name for job in active if _takes(job, case)), None)


def services_apart(case: Case, decisions: Mapping[Service, Decision], *, quota_reached: bool) -> tuple[Service, ...]:
    """Return the due table services that cannot run beside a driver: the driver stops for them between two batches.

    At the limit on Jobs, a service that the driver could do cannot start before the driver stops.
    """
    due = [service for service, decision in decisions.items() if decision.due and service is not Service.INGESTION]
    if case.table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC:
        others = any(job.service is not Service.INGESTION for job in case.active)
        apart = kept_apart(case.table.spec, case.services) if not others else frozenset()
        return tuple(service for service in due if service in apart)
    if quota_reached and not any(job.inside for job in case.active):
        return tuple(due)
    return tuple(service for service in due if host_for(case, service, decisions[service], case.active) is None)


def _takes(job: ActiveJob, case: Case) -> bool:
    if job.live is None or not job.live.takes or job.state in STOPPED:
        return False
    found = next((one for one in case.observation.jobs if one.name == job.name and one.uid == job.uid), None)
    return found is not None and found.phase is JobPhase.RUNNING
