"""Turns the decision on a service into its status."""

from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import EXPLANATION_LIMIT, ServicesStatus, ServiceStatus
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.model.decision import Decision, Reason, Surroundings, concealed, count_range
from hudi_operator.planning.model.reasons import Retry
from hudi_operator.planning.model.registry import words
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.order.order import Order
from hudi_operator.services.registry import SERVICES

_RETRYING = words((Reason,), Retry.AT_TIME, Retry.ON_CHANGE)


def explained(facts: Facts, needs: Needs, order: Order) -> ServicesStatus:
    """Return the status of all services, with why each is due or not and what it waits for."""
    if facts.is_hidden:
        return _concealed(facts, order.services)
    return order.services.replaced(
        {service: _explained(facts, needs, order, service) for service in order.decisions},
    )


def _explained(facts: Facts, needs: Needs, order: Order, service: Service) -> ServiceStatus:
    memory = order.places[service].memory
    shown = _explain(
        memory,
        order.decisions[service],
        blocker=order.places[service].waits,
        now=facts.now,
        surroundings=needs.surroundings[service],
    )
    trouble = facts.observation.snapshot.trouble
    if trouble is None or order.decisions[service].reason is not trouble:
        return shown
    return shown.copy_with(counted=memory.counted, counted_range=memory.counted_range, threshold=memory.threshold)


def _concealed(facts: Facts, services: ServicesStatus) -> ServicesStatus:
    assert facts.blocker is not None, "a table that may not be read is blocked"
    reason, message = facts.blocker
    stale = facts.observation.is_stale
    return services.replaced(
        {
            service: concealed(services.of(service), reason=reason, message=message, keeps_figures=stale)
            for service in SERVICES
        }
    )


def _explain(
    memory: ServiceStatus,
    decision: Decision,
    *,
    blocker: tuple[str, str] | None,
    now: datetime,
    surroundings: Surroundings,
) -> ServiceStatus:
    """Return the status of a service with the reason why a run is due or not; a blocker is a word and a sentence."""
    at = format_time(decision.at) if decision.at and decision.shows_time and not decision.due else None
    retrying = decision.reason in _RETRYING
    reason, message = decision.reason.value, decision.message
    if decision.due and blocker is not None:
        reason, message = blocker[0], f"{message} {blocker[1]}"
    return memory.copy_with(
        counted=decision.counted,
        counted_range=count_range(decision.bounds),
        threshold=decision.threshold,
        due=decision.due,
        due_since=_due_since(memory, decision, now=now) if decision.due else None,
        reason=reason,
        message=message[:EXPLANATION_LIMIT],
        pending=surroundings.pending,
        blocked_by=surroundings.blocked_by,
        next_run_at=None if retrying else at,
        next_attempt_at=at if retrying else None,
    )


def _due_since(memory: ServiceStatus, decision: Decision, *, now: datetime) -> str:
    if memory.due and memory.due_since is not None:
        return memory.due_since
    return format_time(min(decision.at or now, now))
