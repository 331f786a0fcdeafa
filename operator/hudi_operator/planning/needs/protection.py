"""The savepoint of a takeover: the first table service makes it, a cleaning removes it after a first cycle of all."""

from collections.abc import Mapping
from datetime import datetime

from hudi_jobs.contract import Outcome, SavepointStep, Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ServiceStatus
from hudi_operator.api.status.takeover import Protection, TakeoverStatus
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.evaluation import after_backoff
from hudi_operator.services.registry import TABLE_SERVICES, mode_of

_SERVICES = tuple(one.service for one in TABLE_SERVICES)
_DONE = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})


def savepoint_step(facts: Facts, service: Service, decision: Decision) -> SavepointStep | None:
    """Return what a run does with the savepoint: an ingestion makes it only if services run inside the writer.

    A run for a HudiSavepoint makes none: Hudi allows a commit one savepoint, and the resource needs it.
    """
    if decision.reason is Reason.TAKEOVER_COMPLETE:
        return SavepointStep.REMOVE
    takeover = facts.takeover.status
    is_wanted = takeover is not None and takeover.protection is Protection.WANTED
    if not is_wanted or not facts.table_class.takeover.savepoint or service is Service.SAVEPOINT:
        return None
    is_affected = service is not Service.INGESTION or _modes(facts, ServiceMode.INLINE)
    return SavepointStep.KEEP if is_affected else None


def with_removal(facts: Facts, decisions: Mapping[Service, Decision]) -> dict[Service, Decision]:
    """Return the decisions with a cleaning that only removes the savepoint once the first cycle is over."""
    takeover = facts.takeover.status
    if takeover is None or takeover.protection is not Protection.KEPT or not _is_cycle_over(facts, takeover, decisions):
        return dict(decisions)
    own = decisions[Service.CLEANING]
    if own.due and own.reason is not Reason.THRESHOLD_REACHED:
        return dict(decisions)
    found = Decision(
        due=True,
        priority=own.priority if own.due else Priority.SERVICE,
        reason=Reason.TAKEOVER_COMPLETE,
        message=f"The first table services since the takeover have succeeded: the savepoint {takeover.savepoint or ''} "
        "from before them is removed.",
    )
    return {**decisions, Service.CLEANING: after_backoff(facts, Service.CLEANING, found)}


def _is_cycle_over(facts: Facts, takeover: TakeoverStatus, decisions: Mapping[Service, Decision]) -> bool:
    """Tell whether every service has once succeeded or is not due; the service that deletes files must have succeeded.

    If cleaning runs inside the writer, an ingestion must have succeeded; if cleaning is off, any service.
    """
    if not facts.table_class.takeover.savepoint:
        return True
    since = parse_time(takeover.since)
    ran = {service for service in Service if _has_succeeded(facts.services.of(service), since)}
    for service in _modes(facts, ServiceMode.ASYNC):
        # A failed run is not due until its backoff is over, and its work may never be possible.
        if _has_failed(facts.services.of(service), since) or (decisions[service].due and service not in ran):
            return False
    cleaning = mode_of(facts.table.spec, Service.CLEANING)
    if cleaning is ServiceMode.DISABLED:
        return bool(ran.intersection(_SERVICES))
    return (Service.CLEANING if cleaning is ServiceMode.ASYNC else Service.INGESTION) in ran


def _has_succeeded(memory: ServiceStatus, since: datetime | None) -> bool:
    last = memory.last_run
    return last is not None and last.outcome in _DONE and _has_ended(last, since)


def _has_failed(memory: ServiceStatus, since: datetime | None) -> bool:
    last = memory.last_run
    return last is not None and last.outcome is Outcome.FAILED and _has_ended(last, since)


def _has_ended(run: RunStatus, since: datetime | None) -> bool:
    ended = parse_time(run.finished_at)
    return ended is not None and (since is None or ended >= since)


def _modes(facts: Facts, mode: ServiceMode) -> tuple[Service, ...]:
    return tuple(service for service in _SERVICES if mode_of(facts.table.spec, service) is mode)
