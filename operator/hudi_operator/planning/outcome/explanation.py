"""Turns the decision on a service into its status, and records which Jobs start for savepoints and operations."""

from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.savepoints import SavepointState, TableSavepoint
from hudi_operator.api.status.service_status import EXPLANATION_LIMIT, ServicesStatus, ServiceStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.savepoints.assess_savepoints import retained
from hudi_operator.planning.facts.savepoints.requested import PATIENCE
from hudi_operator.planning.facts.savepoints.rules import newer_commits
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.decision import Decision, Reason, Surroundings, concealed, count_range
from hudi_operator.planning.model.reason_registry import words
from hudi_operator.planning.model.reasons import OperationReason, Retry, SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time
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


ATTEMPTS = 5
"""The number of failed runs after which a removed resource waits no longer than `PATIENCE`."""

_MESSAGE_LIMIT = 512
_OPERATION_LIMIT = 1024
_BLOCKS_LIMIT = 256


def settled_savepoints(facts: Facts, order: Order, services: ServicesStatus) -> tuple[TableSavepoint, ...]:
    """Return the status of the savepoints after the decision.

    A launched savepoint records its commit before its Job exists, so that a retry takes the same commit.
    """
    observation, blocked, now = facts.observation, _blocked(facts), facts.now
    launched = {one.job.named_savepoint.uid: one.job for one in order.launches if one.job.named_savepoint is not None}
    gone_since = {
        metadata.uid: parse_time(metadata.deletion_timestamp)
        for metadata in observation.related.metadata_of_savepoints()
    }
    after = []
    for entry in facts.savepoints.entries:
        job = launched.get(entry.uid or "")
        if job is not None and job.named_savepoint is not None:
            message = f"Job {job.name} is about to be created."
            after.append(
                entry.copy_with(instant=job.named_savepoint.instant, reason=SavepointReason.AT_WORK, message=message)
            )
            continue
        told = _waiting(entry, services, blocked)
        after.append(_given_up(told, gone_since.get(entry.uid or ""), blocked=blocked, now=now))
    return tuple(_with_blocks(one, observation, services, now=now) for one in after)


def _blocked(facts: Facts) -> str | None:
    """Return why no run for a savepoint may start; what waits for an operation waits for its turn, like any run."""
    is_maintained = facts.operations.maintenance is not None and not facts.is_hidden
    return None if facts.blocker is None or is_maintained else facts.blocker[1]


def _waiting(entry: TableSavepoint, services: ServicesStatus, blocked: str | None) -> TableSavepoint:
    """Add to the message of a waiting savepoint what its run waits for."""
    if entry.reason != SavepointReason.WAITING:
        return entry
    memory = services.savepoint
    why = blocked or (memory.message if memory is not None else None)
    return entry if why is None else entry.copy_with(message=f"{entry.message} {why}"[:_MESSAGE_LIMIT])


def _given_up(
    entry: TableSavepoint, gone_since: datetime | None, *, blocked: str | None, now: datetime
) -> TableSavepoint:
    """Release a resource if nothing can remove its savepoint: the savepoint stays in the table without an owner."""
    hopeless = blocked is not None or entry.failures >= ATTEMPTS
    waits = entry.state is SavepointState.REMOVING and entry.reason == SavepointReason.WAITING
    if not waits or not hopeless or gone_since is None or now - gone_since < PATIENCE:
        return entry
    minutes = int(PATIENCE.total_seconds() // 60)
    message = (
        f"The savepoint on {entry.instant} could not be removed for {minutes} minutes and stays in the table. "
        f"{entry.message}"
    )
    message = message[:_MESSAGE_LIMIT]
    return entry.copy_with(state=SavepointState.RETAINED, reason=SavepointReason.RETAINED, message=message)


def _with_blocks(
    entry: TableSavepoint, observation: Observation, services: ServicesStatus, *, now: datetime
) -> TableSavepoint:
    """Say what an existing savepoint keeps cleaning and archival from."""
    timeline = observation.snapshot.timeline
    if entry.state not in {SavepointState.KEPT, SavepointState.REMOVING} or entry.instant is None or timeline is None:
        return entry
    newer = newer_commits(entry.instant, timeline)
    archival = services.archival.blocked_by or ""
    stops = f" Archival: {archival}" if entry.instant in archival else ""
    blocks = f"Cleaning keeps its files{_although(newer)}.{stops}"
    kept = retained(entry, observation, now=now)
    return entry.copy_with(blocks=blocks[:_BLOCKS_LIMIT], retained=kept)


def _although(newer: int) -> str:
    """Return how many commits are newer, rounded down: each change of the message is written to the status."""
    if newer < 10:
        many = "1 commit is" if newer == 1 else f"{newer} commits are"
        return f", although {many} newer" if newer else ""
    step = 10 ** (len(str(newer)) - 1)
    return f", although at least {newer // step * step} commits are newer"


def settled_operations(facts: Facts, order: Order, services: ServicesStatus) -> tuple[TableOperation, ...]:
    """Return the status after the decision: the work of a Job is recorded before the Job exists."""
    launched = {one.job.operation.uid: one.job for one in order.launches if one.job.operation is not None}
    return tuple(_settled(one, launched.get(one.uid), facts, services) for one in facts.operations.entries)


def _settled(entry: TableOperation, job: ActiveJob | None, facts: Facts, services: ServicesStatus) -> TableOperation:
    if job is None:
        following, told = facts.operations.following, services.operation
        if following is None or following.uid != entry.uid or told is None:
            return entry
        return entry.copy_with(message=told.message[:_OPERATION_LIMIT])
    return entry.copy_with(
        state=OperationState.RUNNING,
        reason=OperationReason.AT_WORK,
        message=f"Job {job.name} is about to be created.",
        job=job.operation,
        started_at=entry.started_at or format_time(facts.now),
        retry_at=None,
    )
