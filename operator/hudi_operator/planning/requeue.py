"""When a table is reconciled in full again: the one place that says so.

Between two whole reconciles its timeline alone is polled; what happens to the table, its class, its Jobs or their pods
announces itself. This bounds how late a missed announcement is noticed, and meets what time alone changes.
"""

from collections.abc import Callable

from hudi_jobs.contract import Service
from hudi_operator.planning.model import JobPhase, Observation, Plan
from hudi_operator.planning.policy.namespaces import asks_for_labels

ACTIVE_SECONDS = 30.0
"""With a Job that runs: Jobs and pods announce themselves."""

LABELS_SECONDS = 300.0
"""Where labels of the namespace let the table use its class: no event tells of a change."""

QUIET_SECONDS = 3600.0
"""Where nothing calls for it."""

CONTINUOUS_SECONDS = 60.0
"""With nothing but a continuous ingestion that runs: its commits move the timeline."""

_WAITING_SECONDS = 30.0
_UNREAD_SECONDS = 1.0
"""Where this reconcile has checked as many commits as it may."""


def requeue_after(
    observation: Observation, plan: Plan, *, poll: float, spread: Callable[[float], float] = lambda seconds: seconds
) -> float:
    """Return the seconds until the table is reconciled in full again.

    `poll` is when its timeline is polled next, and `spread` draws around a pause so that tables drift apart. What time
    changes is met to the second.
    """
    if observation.blockers:
        return poll  # what stands in the way may go without an event: another table's claim, for example
    if observation.snapshot.read_up_to is not None and not (plan.foreign or plan.unknown):
        return _UNREAD_SECONDS
    if plan.active_jobs:
        goes_on = all(job.live is not None and job.state == JobPhase.RUNNING for job in plan.active_jobs)
        longest = spread(CONTINUOUS_SECONDS if goes_on else ACTIVE_SECONDS)
    else:
        longest = spread(QUIET_SECONDS)
        if observation.table_class and asks_for_labels(observation.table_class, observation.table.metadata.namespace):
            longest = min(longest, spread(LABELS_SECONDS))
        if any(plan.services.of(service).due for service in Service):
            # What is due and has not been launched waits for something outside, which says nothing when it is over.
            longest = min(longest, max(poll, _WAITING_SECONDS))
    return longest if plan.changes_in is None else min(longest, plan.changes_in)
