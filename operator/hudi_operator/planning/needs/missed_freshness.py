"""Lets the ingestion of a table that misses its freshness go before its table services, for a limited time."""

from dataclasses import replace
from datetime import datetime

from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.status.table import ServiceStatus
from hudi_operator.planning.model.decision import Decision, Priority
from hudi_operator.planning.model.freshness import lag_of


def misses_freshness(spec: HudiTableSpec, ingestion: ServiceStatus, *, now: datetime) -> bool:
    """Whether a table is known to be further behind its source than its spec asks."""
    lag = lag_of(spec, ingestion.freshness, now=now)
    return lag is not None and lag.is_missed(now)


def before_services(found: Decision, spec: HudiTableSpec, ingestion: ServiceStatus, *, now: datetime) -> Decision:
    """Return the decision on ingestion; it goes before table services if the table misses its freshness."""
    if not found.due or not misses_freshness(spec, ingestion, now=now):
        return found
    message = f"{found.message} The table misses its freshness, so ingestion goes before table services."
    return replace(found, priority=Priority.BEHIND, message=message)


def freshness_changes_at(spec: HudiTableSpec, ingestion: ServiceStatus, *, now: datetime) -> datetime | None:
    """Return when time alone changes the freshness of a table."""
    if spec.management_policy is ManagementPolicy.OBSERVE:
        return None
    lag = lag_of(spec, ingestion.freshness, now=now)
    return lag.changes_at(now) if lag is not None else None
