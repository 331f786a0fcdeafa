"""Decides whether the table's continuous driver runs a due table service beside its batches.

The service is a run of its own all the same: its Job hands the service over to the driver, reports the result, and
fails if the driver dies. After a failed attempt the service runs in the driver's place, with its own memory and time.
"""

from collections.abc import Iterable, Mapping

from hudi_jobs.contract import ConcurrencyMode, SavepointWork, Service
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.runs.continuous import STOPPED
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.planning.model import JobPhase
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.needs.protection import savepoint_step
from hudi_operator.planning.order.alone import kept_apart
from hudi_operator.services.registry import services_inside

_AFTER_SAVEPOINTS = frozenset({Service.CLEANING, Service.ARCHIVAL})
"""Services that could remove the files or the commit of a waiting HudiSavepoint: the driver stops for the savepoint
first.
"""


def host_for(facts: Facts, service: Service, decision: Decision, active: Iterable[ActiveJob]) -> str | None:
    """Return the run of the driver that can do a service, or None if the service needs the table to itself."""
    if service not in services_inside(facts.table.spec) or attempts(facts.services.of(service)):
        return None
    if savepoint_step(facts, service, decision) is not None:
        return None
    following = facts.savepoints.following
    if service in _AFTER_SAVEPOINTS and following is not None and following.work is SavepointWork.MAKE:
        return None
    return next((job.name for job in active if _takes(job, facts)), None)


def services_apart(facts: Facts, decisions: Mapping[Service, Decision], *, quota_reached: bool) -> tuple[Service, ...]:
    """Return the due table services that cannot run beside a driver: the driver stops for them between two batches.

    At the limit on Jobs, a service that the driver could do cannot start before the driver stops.
    """
    due = [service for service, decision in decisions.items() if decision.due and service is not Service.INGESTION]
    if facts.table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC:
        others = any(job.service is not Service.INGESTION for job in facts.active)
        apart = kept_apart(facts.table.spec, facts.services) if not others else frozenset()
        return tuple(service for service in due if service in apart)
    if quota_reached and not any(job.inside for job in facts.active):
        return tuple(due)
    return tuple(service for service in due if host_for(facts, service, decisions[service], facts.active) is None)


def _takes(job: ActiveJob, facts: Facts) -> bool:
    if job.live is None or not job.live.takes or job.state in STOPPED:
        return False
    found = next((one for one in facts.observation.jobs if one.name == job.name and one.uid == job.uid), None)
    return found is not None and found.phase is JobPhase.RUNNING
