"""Decides on every service of a table, and says what its status shows beside the decision.

Hudi refuses each update of the files of a pending clustering, so such a plan must not stay while its service backs off.
Usually its driver has rolled it back already, unless the driver was killed or failed at the rollback.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import ConcurrencyMode, RunMode, Service, is_of_the_plan
from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import PENDING_SHOWN, ServiceStatus
from hudi_operator.api.status.timeline import PendingOwner, PendingStatus
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.runs.failures import FailureKind, after_failures, attempts, failure_kind
from hudi_operator.planning.facts.writers.pending import left_alone, named
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.planning.model.decision import Decision, Priority, Reason, Surroundings
from hudi_operator.planning.model.times import lag_of, parse_time
from hudi_operator.planning.needs.kinds import catalog, ingestion, operation, savepoint
from hudi_operator.planning.needs.looks import with_look
from hudi_operator.planning.needs.registry import Evaluation, evaluation_of
from hudi_operator.planning.needs.view import FailedWrite, ServiceView
from hudi_operator.services.registry import SERVICES, mode_of


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


def evaluate(facts: Facts, service: Service) -> Decision:
    """Return whether a service is due."""
    evaluation = evaluation_of(service)
    if evaluation is not None:
        return _table_service(facts, service, evaluation)
    if service is Service.SAVEPOINT:
        return savepoint.evaluate(facts.savepoints)  # backs off for each HudiSavepoint by itself
    if service is Service.OPERATION:
        return operation.evaluate(facts.operations)  # likewise
    if service is Service.CATALOG:
        found = _unseen(facts.observation.snapshot) or catalog.evaluate(facts)
        return after_backoff(facts, service, found) if found.due else found
    return _ingestion(facts)


def _ingestion(facts: Facts) -> Decision:
    memory = facts.services.ingestion
    found = ingestion.evaluate(
        memory,
        table=facts.table,
        table_class=facts.table_class,
        requested=facts.requested,
        now=facts.now,
        active=facts.active,
    )
    return before_services(with_look(facts, found), facts.table.spec, memory, now=facts.now)


def _table_service(facts: Facts, service: Service, evaluation: Evaluation) -> Decision:
    memory = facts.services.of(service)
    found = (
        _left_over(facts, service, evaluation)
        or _switched_off(facts, service, evaluation)
        or _unseen(facts.observation.snapshot)
        or evaluation.evaluate(_view(facts, service))
    )
    found = _beside_others(facts, service, found)
    if not found.due:
        return found
    settled = _settled(memory, found, facts.observation.snapshot)
    if settled is not None:
        return settled
    rollback = rollback_before_retry(facts, service, found) if evaluation.can_remove_plans else None
    return rollback or after_backoff(facts, service, found)


def after_backoff(facts: Facts, service: Service, found: Decision) -> Decision:
    """Return the decision after backoff: failed runs of the service delay the next run."""
    failed = after_failures(facts.services.of(service), facts.table_class.retry, now=facts.now)
    return found if failed is None or failed.due else _waiting(found, failed)


def surroundings(facts: Facts, service: Service) -> Surroundings:
    """Return what status shows beside the decision on a service."""
    evaluation = evaluation_of(service)
    if facts.observation.snapshot.timeline is None or mode_of(facts.table.spec, service) is ServiceMode.DISABLED:
        evaluation = None
    unread = facts.observation.snapshot.trouble is not None
    # Keep the first sighting of each instant while the store is unavailable.
    pending = facts.services.of(service).pending if unread else facts.instants.of(service)
    return Surroundings(
        pending=pending[:PENDING_SHOWN],
        blocked_by=evaluation.blocked_by(_view(facts, service)) if evaluation else None,
    )


def evaluate_all(facts: Facts) -> dict[Service, Decision]:
    """Return the decision on every service; the run for a HudiSavepoint goes before every table service."""
    found = {service: evaluate(facts, service) for service in SERVICES}
    own = found[Service.SAVEPOINT]
    starving = any(one.due and one.priority is Priority.STARVING for one in found.values())
    if own.due and starving:
        # A cleaning that is far behind goes before ingestion, and could remove the files that the savepoint has to
        # keep.
        found[Service.SAVEPOINT] = replace(own, priority=Priority.STARVING)
    return found


def _switched_off(facts: Facts, service: Service, evaluation: Evaluation) -> Decision | None:
    mode = mode_of(facts.table.spec, service)
    name = service.lower()
    if mode is ServiceMode.INLINE and not _is_stuck(facts, service, evaluation):
        message = f"spec.{name}.mode is Inline: the service runs inside the writer, after the commit."
        return Decision(due=False, reason=Reason.INLINE, message=message)
    if mode is ServiceMode.DISABLED:
        return Decision(due=False, reason=Reason.DISABLED, message="")
    return None


def _left_over(facts: Facts, service: Service, evaluation: Evaluation) -> Decision | None:
    """Handle a pending plan of a service that is switched off."""
    if mode_of(facts.table.spec, service) is not ServiceMode.DISABLED or facts.observation.snapshot.timeline is None:
        return None
    return evaluation.left_over(_view(facts, service))


def _beside_others(facts: Facts, service: Service, found: Decision) -> Decision:
    """Add the instants that are left alone to the decision, and the time to decide again."""
    others = facts.instants.left_alone(service)
    if not others or found.reason is Reason.WAITING_FOR_OTHER:
        return found
    until = min((moment for one in others if (moment := parse_time(one.left_alone_until))), default=None)
    at = found.at if found.due or until is None else min(found.at or until, until)
    return replace(found, message=f"{found.message} {left_alone(others[0])}", at=at)


def _is_stuck(facts: Facts, service: Service, evaluation: Evaluation) -> bool:
    """Tell whether the writer that runs this service inline never gets to a pending plan.

    While a Job runs, the plan may belong to it.
    """
    return evaluation.writer_may_pass_over(facts.table.spec) and bool(facts.instants.free(service)) and not facts.active


def _unseen(snapshot: TimelineSnapshot) -> Decision | None:
    if snapshot.trouble is not None:
        return Decision(due=False, reason=snapshot.trouble, message=snapshot.message)
    if snapshot.timeline is None:
        return Decision(due=False, reason=Reason.NO_TABLE, message="The table does not exist yet.")
    return None


def _settled(memory: ServiceStatus, found: Decision, snapshot: TimelineSnapshot) -> Decision | None:
    """Block a run that would find nothing to do, as the last run did.

    The next run waits until as many instants have completed as make the service due. Without this wait, a writer that
    commits every few seconds would cause a run after each commit.
    """
    completed, wanted = _completed_since(memory.last_no_op_instant, snapshot), found.threshold or 1
    if completed is None or completed >= wanted:
        return None
    last = memory.last_run.message if memory.last_run else ""
    return Decision(
        due=False,
        reason=Reason.NOTHING_TO_DO,
        message=f"{found.message} The last run left nothing to do, and {completed} of {wanted} instants have "
        f"completed since {memory.last_no_op_instant}. {last}".strip(),
        counted=found.counted,
        bounds=found.bounds,
        threshold=found.threshold,
    )


def _completed_since(instant: str | None, snapshot: TimelineSnapshot) -> int | None:
    """Return how many instants have completed after `instant`; None if the timeline does not hold it."""
    if instant is None or snapshot.timeline is None:
        return None
    completed = snapshot.timeline.completed
    mark = next(((one.completion, one.time) for one in completed if one.time == instant), None)
    return None if mark is None else sum((one.completion, one.time) > mark for one in completed)


def _waiting(found: Decision, failed: Decision) -> Decision:
    return Decision(
        due=False,
        reason=failed.reason,
        message=f"{found.message} {failed.message}",
        at=failed.at,
        counted=found.counted,
        bounds=found.bounds,
        threshold=found.threshold,
    )


def _view(facts: Facts, service: Service) -> ServiceView:
    timeline = facts.observation.snapshot.timeline
    if timeline is None:
        raise ValueError("a service is decided by a timeline")
    return ServiceView(
        service=service,
        spec=facts.table.spec,
        memory=facts.services.of(service),
        timeline=timeline,
        now=facts.now,
        pending=facts.instants.free(service),
        others=facts.instants.left_alone(service),
        failed_writes=tuple(_failed_writes(facts)),
        metadata=facts.observation.snapshot.metadata,
    )


def _failed_writes(facts: Facts) -> Iterator[FailedWrite]:
    """Yield the writes that dead writers left behind, and when each may be rolled back.

    In a Serialized table nothing else may run at that time.
    """
    if facts.active and facts.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED:
        return
    for one in facts.instants.of(Service.INGESTION):
        if one.time in facts.instants.busy:
            continue
        why = "of another tool or an unknown run is overdue and has no heartbeat"
        if one.owner is PendingOwner.THIS_TABLE:
            why = "was left behind by a run that has ended"
        yield FailedWrite(time=one.time, from_=parse_time(one.left_alone_until) or facts.now, why=why)
