"""The fourth stage of the decision: what is done, remembered and shown, and when time alone changes any of it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.failures import bad_rows_after
from hudi_operator.planning.facts.savepoints.requested import PATIENCE, expires_at
from hudi_operator.planning.facts.savepoints.scheduled import schedule_changes_at, scheduled
from hudi_operator.planning.facts.writers.acts import acts_of
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.decision import Reason, seconds_until
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.needs.evaluation import freshness_changes_at
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.needs.rescan import rescan_after
from hudi_operator.planning.order.budget import next_day
from hudi_operator.planning.order.order import Order
from hudi_operator.planning.outcome.explanation import explained, settled_operations, settled_savepoints
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.build import build_status

_END_BY_THEMSELVES = frozenset({Reason.WAITING_FOR_OTHER.value, Reason.WAITING_FOR_HEARTBEAT.value})
"""Blockers with a time: services that become due meanwhile say what they wait for."""


def changes_in(facts: Facts, order: Order, services: ServicesStatus) -> float | None:
    """Return the seconds until time alone may change the plan, None if it never does or the table may not be read."""
    if facts.is_hidden:
        return None
    moments = (*_moments(facts, services), *_due(facts, order))
    waits = (seconds_until(moment, now=facts.now) for moment in moments)
    return min((wait for wait in waits if wait is not None), default=None)


def _moments(facts: Facts, services: ServicesStatus) -> Iterable[datetime | None]:
    observation, now = facts.observation, facts.now
    yield facts.instants.changes_at
    yield freshness_changes_at(observation.table.spec, services.ingestion, now=now)
    yield facts.late_at
    yield facts.takeover.until
    yield savepoints_change_at(observation, now=now)
    yield facts.operations.at
    if services.with_reason(Waiting.BUDGET_REACHED):
        yield next_day(now)
    if facts.blocker is None:
        yield schedule_changes_at(observation, now=now)


def _due(facts: Facts, order: Order) -> Iterable[datetime | None]:
    """Yield when services become due that may start then."""
    if not order.active and (facts.blocker is None or facts.blocker[0] in _END_BY_THEMSELVES):
        yield from (decision.at for decision in order.decisions.values() if not decision.due)


def savepoints_change_at(observation: Observation, *, now: datetime) -> datetime | None:
    """Return when time alone changes something: a savepoint expires, or the wait for a deleted HudiSavepoint ends."""
    found = observation.related.savepoints
    gone = (parse_time(one.metadata.deletion_timestamp) for one in found)
    moments = [*(since + PATIENCE for since in gone if since is not None), *filter(None, map(expires_at, found))]
    return min((moment for moment in moments if moment > now), default=None)


def conclude(facts: Facts, needs: Needs, order: Order) -> Plan:
    """Return what is carried out."""
    services = explained(facts, needs, order)
    savepoints = settled_savepoints(facts, order, services)
    asked = scheduled(facts.observation, savepoints, now=facts.now) if facts.blocker is None else ()
    plan = Plan(
        facts=facts,
        actions=(*facts.upkeep, *order.stops, *order.launches, *asked),
        services=services,
        foreign=facts.writers.foreign,
        verified_up_to=facts.writers.verified_up_to,
        active_jobs=order.active,
        left_by=facts.instants.left_behind,
        history=facts.history,
        finished=facts.finished,
        bad_rows=bad_rows_after(facts.table.status.bad_rows, facts.finished, order.active),
        acts=acts_of(facts.observation),
        answered=order.answered,
        rescan=rescan_after(facts.observation, facts.finished, order.launches),
        changes_in=changes_in(facts, order, services),
        owner=facts.ownership.remembered,
        takeover=facts.takeover.status,
        savepoints=savepoints,
        operations=settled_operations(facts, order, services),
    )
    return replace(plan, status=build_status(plan, now=facts.now))
