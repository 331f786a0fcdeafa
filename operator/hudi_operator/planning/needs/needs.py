"""The second stage of the decision: what is due, and why not; with the savepoint of a takeover."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hudi_jobs.contract import Outcome, SavepointStep, Service
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_parts import Protection, TakeoverStatus
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.memory import reset_all
from hudi_operator.planning.model.decision import Decision, Priority, Reason, Surroundings
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.evaluation import after_backoff, evaluate, evaluate_all, surroundings
from hudi_operator.services.registry import SERVICES, TABLE_SERVICES, mode_of

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


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Whether each service needs a run; nothing for a table that may not be read.

    `once_answered` is the same with all failures forgotten: it holds if the request for a run is answered now.
    `after_driver` is the need of ingestion once the continuous driver that runs has stopped.
    """

    decisions: Mapping[Service, Decision] = field(default_factory=dict)
    once_answered: Mapping[Service, Decision] = field(default_factory=dict)
    after_driver: Decision | None = None
    surroundings: Mapping[Service, Surroundings] = field(default_factory=dict)


def assess_needs(facts: Facts) -> Needs:
    """Return what is due by the facts."""
    if facts.is_hidden:
        return Needs()
    decisions = _decisions(facts)
    is_requested = facts.requested is not None
    return Needs(
        decisions=decisions,
        once_answered=_decisions(replace(facts, services=reset_all(facts.services))) if is_requested else decisions,
        after_driver=_after_driver(facts),
        surroundings={service: surroundings(facts, service) for service in SERVICES},
    )


def _decisions(facts: Facts) -> Mapping[Service, Decision]:
    return with_removal(facts, evaluate_all(facts))


def _after_driver(facts: Facts) -> Decision | None:
    """Return whether ingestion is due once the continuous driver has stopped, which answers a request before."""
    others = tuple(job for job in facts.active if job.live is None)
    if len(others) == len(facts.active):
        return None
    return evaluate(replace(facts, active=others, requested=None), Service.INGESTION)
