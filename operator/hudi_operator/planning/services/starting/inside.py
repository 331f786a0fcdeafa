"""Whether a table service that is due is done by the continuous driver of its table, beside its batches.

It is a run of its own all the same: a Job hands the service over to the driver, reports what became of it, and fails
when the driver dies. What has come to nothing once is tried in the driver's place, with memory and a time of its own.
"""

from collections.abc import Iterable, Mapping

from hudi_jobs.contract import ConcurrencyMode, SavepointWork, Service
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.model import JobPhase
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.runs.continuous import STOPPED
from hudi_operator.planning.runs.failures import attempts
from hudi_operator.planning.services.case import Case
from hudi_operator.planning.services.starting.alone import kept_apart
from hudi_operator.planning.services.starting.protection import savepoint_step
from hudi_operator.services.inside import services_inside

_AFTER_SAVEPOINTS = frozenset({Service.CLEANING, Service.ARCHIVAL})
"""What would take the files, or the commit, that a HudiSavepoint waits to keep: the driver ends for that first."""


def host_for(case: Case, service: Service, decision: Decision, active: Iterable[ActiveJob]) -> str | None:
    """Return the run of the driver that a service is asked of, or None where it needs the table to itself."""
    if service not in services_inside(case.table.spec) or attempts(case.services.of(service)):
        return None
    if savepoint_step(case, service, decision) is not None:
        return None
    following = case.savepoints.following
    if service in _AFTER_SAVEPOINTS and following is not None and following.work is SavepointWork.MAKE:
        return None
    return next((job.name for job in active if _takes(job, case)), None)


def services_apart(case: Case, decisions: Mapping[Service, Decision], *, quota_reached: bool) -> tuple[Service, ...]:
    """Return the due table services that no driver of the table is beside: for them it ends between two batches.

    Where no further Job may be created, a service that would be handed over to the driver could not begin before it
    ends.
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
