"""The status of a `HudiOperation`, from its table's report or without a table, and whether it may be deleted."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_operator.api.resources import OPERATION_FINALIZER, HudiOperation, HudiTable, InvalidObject, ObjectMetadata
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.operation_status import FINISHED, WAITING, HudiOperationStatus, OperationState
from hudi_operator.api.status.table_operations import OPERATIONS_SHOWN, DecisionAnswer, TableOperation
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.operations.declared import has_begun, may_have_begun, was_at_work
from hudi_operator.planning.model import BlockerReason
from hudi_operator.planning.model.reasons import OperationEvent, OperationReason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.outcome.status.cascade_status import Cascade, CascadeSeen, cascade_tables, cascaded
from hudi_operator.planning.outcome.status.conditions import ConditionMaker
from hudi_operator.planning.outcome.status.step import ENDING_SECONDS, QUIET_SECONDS, WAITING_SECONDS, growing_pause
from hudi_operator.planning.outcome.status.transitions import Transition, event_of

_LOOKED_AT = frozenset({OperationReason.NOT_VERIFIED, OperationReason.CASCADE_FAILED})
"""Ends that a person has to check; a cascade that went away would take the operations on other tables with it."""

_MESSAGE_LIMIT = 1024


@dataclass(frozen=True, kw_only=True)
class OperationStep:
    """The step of one pass for a HudiOperation: its status, its finalizer, its end, and the next pass.

    `released` is the log message when the resource may go; `notice` is an Event about it. `expires` says that its time
    after its end is over. `creates` are the tables that get an operation of the same keys, and `deletes` the operations
    of tables that have become unsuitable.
    """

    status: HudiOperationStatus | None = None
    hold: bool = False
    released: str | None = None
    notice: Transition | None = None
    expires: bool = False
    creates: tuple[str, ...] = ()
    deletes: tuple[ObjectMetadata, ...] = ()
    requeue: float = QUIET_SECONDS


def decide_operation(
    operation: HudiOperation | InvalidObject,
    table: HudiTable | InvalidObject | None,
    *,
    now: datetime,
    seen: CascadeSeen | None = None,
    verifies_requesters: bool = False,
) -> OperationStep:
    """Return the step for a HudiOperation; `table` is the HudiTable that it names, None if there is none.

    `seen` are the tables that read that table, for a cascade. `verifies_requesters` says that the API server accepts
    only the caller's own name as the requester.
    """
    if operation.metadata.deletion_timestamp is not None:
        return _ending(operation, table, now=now)
    if isinstance(operation, InvalidObject):
        return OperationStep(status=_invalid(operation, now=now))
    status, cascade = _with_cascade(operation, _status(operation, table, now=now), seen, now=now)
    status = _with_requester(operation, status, verified=verifies_requesters)
    if (left := _time_left(operation, status, now=now)) is not None and left <= 0:
        return OperationStep(status=status, expires=True)
    pause = QUIET_SECONDS
    if status.state not in FINISHED:
        pause = growing_pause(operation.metadata.creation_timestamp, now=now, least=WAITING_SECONDS)
    return OperationStep(
        status=status,
        creates=cascade.creates if cascade is not None else (),
        deletes=cascade.deletes if cascade is not None else (),
        hold=True,  # finished operations too: the annotation tells a copy without status from a new operation
        notice=_notice(operation, status, table),
        requeue=pause if left is None else min(pause, left + 1),
    )


def _invalid(operation: InvalidObject, *, now: datetime) -> HudiOperationStatus:
    message = (
        f"The spec is not valid for this version of the operator: {operation.message}. Create another HudiOperation."
    )
    before = operation.operation.copy_with(observed_generation=operation.metadata.generation)
    if before.state in FINISHED:
        return before
    make = ConditionMaker(generation=operation.metadata.generation, now=now)
    found = {one.type: one for one in _stalled(make, BlockerReason.INVALID_SPEC, message)}
    if before.reason == OperationReason.CASCADING:
        # Only this reason says that the operation is done with its own table.
        found[ConditionType.READY] = make(ConditionType.READY, ConditionStatus.FALSE, before.reason, message)
    conditions = tuple(one.carried_over(before.conditions) for one in found.values())
    return before.copy_with(conditions=conditions, message=message[:_MESSAGE_LIMIT])


def _time_left(operation: HudiOperation, status: HudiOperationStatus, *, now: datetime) -> float | None:
    """Return the seconds until a finished resource is deleted; a resource that a person has to check stays."""
    ttl, ended = operation.spec.ttl_after_finished, parse_time(status.finished_at)
    if ttl is None or ended is None or status.state not in FINISHED or status.reason in _LOOKED_AT:
        return None
    return (ended + parse_duration(ttl) - now) / timedelta(seconds=1)


def _notice(
    operation: HudiOperation, status: HudiOperationStatus, table: HudiTable | InvalidObject | None
) -> Transition | None:
    """Return the Event about its end, once."""
    entry, failed = entry_of(operation, table), status.state is OperationState.FAILED
    if status.state not in FINISHED or operation.status.state in FINISHED:
        return None
    if entry is None or entry.state is not status.state:
        if not operation.spec.cascades and operation.spec.decision is None:
            return None
        reason = OperationEvent.FAILED if failed else OperationEvent.SUCCEEDED
    else:
        reason = event_of(entry)
    return Transition(warning=failed, reason=reason, message=status.message or "")


def _with_requester(operation: HudiOperation, status: HudiOperationStatus, *, verified: bool) -> HudiOperationStatus:
    """Record the requester, and whether the name is certain, at the first look; later changes are ignored."""
    name = operation.spec.requested_by
    if operation.status.observed_generation >= 0 or name is None:
        return status
    return status.copy_with(requested_by=name, requester_verified=verified)


def _with_cascade(
    operation: HudiOperation, status: HudiOperationStatus, seen: CascadeSeen | None, *, now: datetime
) -> tuple[HudiOperationStatus, Cascade | None]:
    """Return the status with the tables of the cascade, and their progress once the own table is done."""
    before = operation.status
    if not operation.spec.cascades or before.state in FINISHED or seen is None:
        return status, None
    if status.state is not OperationState.SUCCEEDED and status.reason != OperationReason.CASCADING:
        return status.copy_with(cascade=cascade_tables(operation, seen.readers)), None
    found = cascaded(operation, seen, own=_told_alone(status))
    make = ConditionMaker(generation=operation.metadata.generation, now=now)
    conditions = operation_conditions(found.state, found.reason, found.message[:_MESSAGE_LIMIT], make)
    return status.copy_with(
        message=found.message[:_MESSAGE_LIMIT],
        conditions=tuple(one.carried_over(before.conditions) for one in conditions),
        finished_at=format_time(now) if found.state in FINISHED else None,
        cascade=found.entries,
    ), found


def is_done_alone(operation: HudiOperation, table: HudiTable | InvalidObject | None) -> bool:
    """Whether an operation is known to have succeeded on its own table."""
    entry = entry_of(operation, table)
    return (
        operation.status.reason == OperationReason.CASCADING
        if entry is None
        else entry.state is OperationState.SUCCEEDED
    )


def _told_alone(status: HudiOperationStatus) -> str:
    return "" if status.reason == OperationReason.CASCADING else status.message or ""


def _status(operation: HudiOperation, table: HudiTable | InvalidObject | None, *, now: datetime) -> HudiOperationStatus:
    if operation.spec.decision is not None:
        return _decision_status(operation, table, now=now)
    before, entry = operation.status, entry_of(operation, table)
    if entry is None and before.reason == OperationReason.CASCADING:
        # Its own part is over, whether or not the table remembers it, or still exists.
        return before
    make = ConditionMaker(generation=operation.metadata.generation, now=now)
    if entry is None or before.state in FINISHED:
        if before.state in FINISHED or (may_have_begun(operation) and table is not None):
            return before.copy_with(observed_generation=operation.metadata.generation)
        state, (reason, message) = OperationState.PENDING, _unanswered(operation, table)
    else:
        state, reason, message = entry.state, entry.reason, entry.message
    conditions = operation_conditions(state, reason, message, make)
    return HudiOperationStatus(
        observed_generation=operation.metadata.generation,
        message=message[:_MESSAGE_LIMIT],
        conditions=tuple(one.carried_over(before.conditions) for one in conditions),
        instant=(entry.job.instant if entry is not None and entry.job else None) or operation.spec.instant,
        begun=entry.begun if entry is not None else may_have_begun(operation),
        base_path=before.base_path or (table.spec.base_path if isinstance(table, HudiTable) and entry else None),
        started_at=entry.started_at if entry is not None else before.started_at,
        finished_at=_end_of(entry, now=now) if entry is not None else before.finished_at,
        report=entry.report if entry is not None else before.report,
        cascade=before.cascade,
        requested_by=before.requested_by,
        requester_verified=before.requester_verified,
    )


def _decision_status(
    operation: HudiOperation, table: HudiTable | InvalidObject | None, *, now: datetime
) -> HudiOperationStatus:
    """Return the table's answer to a decision, which is given once."""
    before, generation = operation.status, operation.metadata.generation
    if before.state in FINISHED:
        return before.copy_with(observed_generation=generation)
    answers = table.status.decisions.answers if table is not None and table.status.decisions is not None else ()
    answer = next((one for one in answers if one.uid == operation.metadata.uid), None)
    if answer is not None:
        state, reason, message = answer.state, answer.reason, answer.message
    else:
        state, (reason, message) = OperationState.PENDING, _undecided(operation, table)
    make = ConditionMaker(generation=generation, now=now)
    conditions = operation_conditions(state, reason, message, make)
    return before.copy_with(
        observed_generation=generation,
        message=message,
        conditions=tuple(one.carried_over(before.conditions) for one in conditions),
        finished_at=(answer.finished_at if answer is not None else None)
        or (format_time(now) if state in FINISHED else None),
    )


def _undecided(operation: HudiOperation, table: HudiTable | InvalidObject | None) -> tuple[str, str]:
    if table is None:
        return _unanswered(operation, table)
    if isinstance(table, InvalidObject):
        return OperationReason.BLOCKED, "The spec of the table is not valid, so its decisions wait."
    return OperationReason.PENDING, "Waiting for the next reconcile of the table, which considers 20 decisions at once."


def _end_of(entry: TableOperation | DecisionAnswer | None, *, now: datetime) -> str | None:
    """Return when an operation ended; the time tells the conditions of a failed from those of a waiting operation."""
    if entry is None:
        return None
    return entry.finished_at or (format_time(now) if entry.state in FINISHED else None)


def _unanswered(operation: HudiOperation, table: HudiTable | InvalidObject | None) -> tuple[str, str]:
    if table is None:
        message = f"This namespace has no HudiTable {operation.spec.table_ref.name}."
        return OperationReason.TABLE_NOT_FOUND, message
    unfinished = [one for one in table.status.operations if one.state not in FINISHED]
    looked_at = [one for one in table.status.operations if one.state in FINISHED and one.reason in _LOOKED_AT]
    if len(unfinished) + len(looked_at) < OPERATIONS_SHOWN:
        return OperationReason.PENDING, "Waiting for the next reconcile of the table."
    waiting = [one.resource for one in unfinished if one.state in WAITING and not one.begun]
    sentences = (
        f"The table considers {OPERATIONS_SHOWN} operations at once, and this operation waits until another of them "
        "finishes",
        f" or one of the {len(looked_at):,} that a person has to check is deleted" if looked_at else "",
        f". If you no longer want a waiting operation, delete it: {waiting[-1]}, for example." if waiting else ".",
    )
    return OperationReason.TOO_MANY, "".join(sentences)


def entry_of(
    operation: HudiOperation | InvalidObject, table: HudiTable | InvalidObject | None
) -> TableOperation | None:
    """Return the table's entry for an operation."""
    entries = table.status.operations if table is not None else ()
    return next((one for one in entries if one.uid == operation.metadata.uid), None)


def _told(status: HudiTableStatus) -> dict[str, TableOperation | DecisionAnswer]:
    told: dict[str, TableOperation | DecisionAnswer] = {one.uid: one for one in status.operations}
    return told | {one.uid: one for one in (status.decisions.answers if status.decisions is not None else ())}


def moved_operations(before: HudiTableStatus, after: HudiTableStatus) -> tuple[str, ...]:
    """Return the HudiOperations with a changed or removed entry in the table's status."""
    known, now = _told(before), _told(after)
    changed = [one for uid, one in now.items() if known.get(uid) != one]
    return tuple(one.resource for one in (*changed, *(one for uid, one in known.items() if uid not in now)))


def operation_conditions(state: OperationState, reason: str, message: str, make: ConditionMaker) -> Iterator[Condition]:
    """Yield the conditions of an operation: `state` is the reason of Reconciling, and read back from there."""
    if state is OperationState.SUCCEEDED:
        yield make(ConditionType.READY, ConditionStatus.TRUE, reason, message)
    elif state is OperationState.FAILED or reason == OperationReason.NOT_ALLOWED:
        yield from _stalled(make, reason, message)
    else:
        is_approved = state is OperationState.APPROVED and reason == OperationReason.PENDING
        shown = OperationReason.APPROVED if is_approved else reason
        yield make(ConditionType.READY, ConditionStatus.FALSE, shown, message)
        yield make(ConditionType.RECONCILING, ConditionStatus.TRUE, state, message)


def _stalled(make: ConditionMaker, reason: str, message: str) -> Iterator[Condition]:
    yield make(ConditionType.READY, ConditionStatus.FALSE, reason, message)
    yield make(ConditionType.STALLED, ConditionStatus.TRUE, reason, message)


def _ending(
    operation: HudiOperation | InvalidObject, table: HudiTable | InvalidObject | None, *, now: datetime
) -> OperationStep:
    """Return the step of a deleted resource: a begun operation waits for its end, every other resource is released.

    The table forgets an operation that has not begun before its resource is released, so that no run starts meanwhile.
    """
    if OPERATION_FINALIZER not in operation.metadata.finalizers:
        return OperationStep()
    return _ending_cascade(operation) or _ending_alone(operation, table, now=now)


def _ending_cascade(operation: HudiOperation | InvalidObject) -> OperationStep | None:
    """Return the step of a deleted resource after its own table is done: begun operations on other tables finish."""
    known = operation.operation if isinstance(operation, InvalidObject) else operation.status
    if known.reason != OperationReason.CASCADING:
        return None
    waiting = ", ".join(one.table for one in known.cascade if one.ready is None)
    left = (
        f"The resource is removed before the erasure is done on the tables that read this table: {waiting}. "
        "Operations that have begun there are finished."
    )
    notice = Transition(warning=True, reason=OperationEvent.LEFT, message=left[:_MESSAGE_LIMIT])
    return OperationStep(released=left, notice=notice)


def _ending_alone(
    operation: HudiOperation | InvalidObject, table: HudiTable | InvalidObject | None, *, now: datetime
) -> OperationStep:
    begun = operation.operation.begun if isinstance(operation, InvalidObject) else operation.status.begun
    entry = entry_of(operation, table)
    is_over = entry is not None and entry.state in FINISHED
    if table is None:
        message = "The table is gone."
        left = f"{message} The operation may have begun and was not finished: the folder may be half restored."
        may_be_half = begun if isinstance(operation, InvalidObject) else was_at_work(operation)
        unfinished = may_be_half and not is_over and _is_open(operation)
        notice = Transition(warning=True, reason=OperationEvent.LEFT, message=left) if unfinished else None
        return OperationStep(released=left if unfinished else message, notice=notice)
    if isinstance(table, InvalidObject) and not begun and not has_begun(table.status):
        return OperationStep(released="The operation had not begun, and nothing starts on a table that cannot be read.")
    if is_over or (entry is None and not (begun and _is_open(operation))):
        return OperationStep(released=entry.message if entry is not None else "The operation had not begun.")
    pause = growing_pause(operation.metadata.deletion_timestamp, now=now, least=ENDING_SECONDS)
    if isinstance(operation, InvalidObject):
        return OperationStep(requeue=pause)
    return OperationStep(status=_status(operation, table, now=now), requeue=pause)


def _is_open(operation: HudiOperation | InvalidObject) -> bool:
    known = operation.operation if isinstance(operation, InvalidObject) else operation.status
    return known.state not in FINISHED
