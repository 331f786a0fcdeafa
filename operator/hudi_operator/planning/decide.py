"""The decision in four stages, and when a table is reconciled in full again.

Data flows through four stages once. Each has a package of its own, which imports only the stages before it.

Between two whole reconciles the operator only polls the timeline and the namespace; events announce changes of the
table, its class, its Jobs and their pods. The requeue bounds the delay of a missed event, and meets changes by time
alone.
"""

from collections.abc import Callable
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.facts.gather import gather
from hudi_operator.planning.model import JobPhase, Observation
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.needs.needs import assess_needs
from hudi_operator.planning.order.order import put_in_order
from hudi_operator.planning.outcome.conclude import conclude
from hudi_operator.planning.outcome.plan import Plan


def decide(observation: Observation, *, default_image: str, now: datetime) -> Plan:
    """Return the plan for one table; `default_image` is the Spark image of classes that name none."""
    facts = gather(observation, default_image=default_image, now=now)
    needs = assess_needs(facts)
    order = put_in_order(facts, needs)
    return conclude(facts, needs, order)


ACTIVE_SECONDS = 30.0
"""While a Job runs: Jobs and pods send events."""

QUIET_SECONDS = 3600.0
"""If nothing asks for an earlier reconcile."""

CONTINUOUS_SECONDS = 60.0
"""If only a continuous ingestion runs: its commits move the timeline."""

_BLOCKED_SECONDS = 60.0
"""While the table or its entry is blocked: no event says that a claim is gone, or that a namespace has new labels."""

_WAITING_SECONDS = 30.0
_UNREAD_SECONDS = 1.0
"""If this reconcile has checked the most commits that it may."""


def _waits_for_news(memory: ServiceStatus) -> bool:
    """Whether a service waits for something of unknown time; a budget begins anew at a known time."""
    return memory.due and memory.reason != Waiting.BUDGET_REACHED


def requeue_after(plan: Plan, *, poll: float, spread: Callable[[float], float] = lambda seconds: seconds) -> float:
    """Return the seconds until the table is reconciled in full again.

    `poll` is when the timeline is polled next, and `spread` randomizes a pause so that tables drift apart. Changes by
    time alone are met to the second.
    """
    observation = plan.observation
    if observation.blockers:
        return min(poll, spread(_BLOCKED_SECONDS))
    if observation.snapshot.read_up_to is not None and not (plan.foreign or plan.facts.writers.unknown):
        return _UNREAD_SECONDS
    if plan.active_jobs:
        goes_on = all(job.live is not None and job.state == JobPhase.RUNNING for job in plan.active_jobs)
        longest = spread(CONTINUOUS_SECONDS if goes_on else ACTIVE_SECONDS)
    else:
        longest = spread(QUIET_SECONDS)
        if any(_waits_for_news(plan.services.of(service)) for service in Service):
            # A due service that was not launched waits for something outside, and no event announces its end.
            longest = min(longest, max(poll, _WAITING_SECONDS))
    if observation.entry_taken is not None:
        longest = min(longest, spread(_BLOCKED_SECONDS))
    return longest if plan.changes_in is None else min(longest, plan.changes_in)
