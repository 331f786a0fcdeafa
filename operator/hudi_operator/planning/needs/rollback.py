"""Decides whether a failing plan is rolled back before its next attempt.

Hudi refuses each update of the files of a pending clustering, so such a plan must not stay while its service backs off.
Usually its driver has rolled it back already, unless the driver was killed or failed at the rollback.
"""

from hudi_jobs.contract import RunMode, Service, is_of_the_plan
from hudi_operator.api.status.acts import PendingOwner
from hudi_operator.api.status.left import PendingStatus
from hudi_operator.api.status.run import RunStatus
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.runs.failures import FailureKind, attempts, failure_kind
from hudi_operator.planning.facts.writers.pending import named
from hudi_operator.planning.model.decision import Decision, Priority, Reason

_CAUSE_LIMIT = 300


def rollback_before_retry(facts: Facts, service: Service, found: Decision) -> Decision | None:
    """Return the rollback of this table's due plan, or None if the plan waits for its retry.

    Each plan gets one early rollback; if that fails, it backs off like every other run. An unavailable store or node
    would fail the rollback too, and after a conflict another writer may be at work.
    """
    memory = facts.services.of(service)
    plan = next((one for one in facts.instants.free(service) if one.time == found.instant), None)
    last = memory.last_run
    if plan is None or last is None or plan.owner is not PendingOwner.THIS_TABLE:
        return None
    is_job, is_tried = failure_kind(last) is FailureKind.JOB, memory.rollback_of == plan.time
    if attempts(memory) == 0 or not is_job or not is_of_the_plan(last.reason) or is_tried:
        return None
    return Decision(
        due=True,
        reason=Reason.PENDING_PLAN,
        message=_message(plan, last),
        priority=Priority.PENDING,
        run_mode=RunMode.ROLL_BACK,
        instant=plan.time,
    )


def _message(plan: PendingStatus, last: RunStatus) -> str:
    cause = last.message[:_CAUSE_LIMIT].rstrip()
    return (
        f"The {plan.state.lower()} {named(plan)} is rolled back before the next attempt, because writers of its files "
        f"would wait for it. Run {last.job} failed ({last.reason or last.outcome.value}): {cause}"
    )
