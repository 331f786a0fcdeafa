"""Which due table services the budget of the class holds until the next day (UTC).

A budget never holds ingestion, requests of people, a pending instant, the removal of failed writes, or a service that
was passed over for long: held services count as passed over whenever another service starts.
"""

from datetime import UTC, datetime, time, timedelta

from hudi_jobs.contract import Service
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.blocking import ServiceBlocker
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.daily_costs import hours, spent_on
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.model.times import format_time
from hudi_operator.services.registry import TABLE_SERVICES

PATIENCE = 10
"""How often a due service is passed over before it goes first, whatever else is pending, requested or late."""

_HELD = frozenset({Priority.SERVICE, Priority.STARVING})
_NAMES = frozenset(one.service for one in TABLE_SERVICES)


def next_day(now: datetime) -> datetime:
    """Return the next midnight in UTC, when a budget begins anew."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), tzinfo=UTC)


def budget_reached(facts: Facts) -> str | None:
    """Return the sentence on a budget that is used up, or None."""
    limit = facts.table_class.budgets.table_services.cpu_time_per_namespace_and_day
    if limit is None:
        return None
    day, most = facts.now.astimezone(UTC).date(), round(parse_duration(limit).total_seconds() * 1000)
    elsewhere = facts.observation.spent_elsewhere
    used = spent_on(day, facts.services) + (elsewhere.milliseconds if elsewhere.day == day else 0)
    if used < most:
        return None
    return (
        f"Table services of the class have used {hours(used)} of {hours(most)} CPU hours in namespace "
        f"{facts.table.metadata.namespace} on {day} (UTC), so none are left; services continue at "
        f"{format_time(next_day(facts.now))}. The class sets budgets.tableServices.cpuTimePerNamespaceAndDay."
    )


def held_by_budget(facts: Facts, service: Service, decision: Decision) -> ServiceBlocker | None:
    """Return why a due service waits for the next day, or None."""
    if service not in _NAMES or facts.services.of(service).passed_over >= PATIENCE:
        return None
    if decision.instant is not None or decision.priority not in _HELD or decision.reason is Reason.TAKEOVER_COMPLETE:
        return None
    message = budget_reached(facts)
    return None if message is None else (Waiting.BUDGET_REACHED, message)
