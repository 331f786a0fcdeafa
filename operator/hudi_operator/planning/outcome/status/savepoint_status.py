"""The status of a `HudiSavepoint`, from its table's report or without a table, and whether it may be deleted."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract.wording import counted
from hudi_operator.api.resources import SAVEPOINT_FINALIZER, HudiSavepoint, HudiTable, InvalidObject
from hudi_operator.api.spec.savepoint import SavepointDeletionPolicy
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.savepoints import HudiSavepointStatus, SavepointState, TableSavepoint
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.savepoints.requested import ENDS, OVER, PATIENCE, expires_at
from hudi_operator.planning.model import BlockerReason
from hudi_operator.planning.model.observation import MOST_RELATED
from hudi_operator.planning.model.reasons import SavepointReason, TableReason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.outcome.status.conditions import ConditionMaker
from hudi_operator.planning.outcome.status.step import ENDING_SECONDS, QUIET_SECONDS, WAITING_SECONDS, growing_pause

_STALLED = frozenset({SavepointState.REFUSED, SavepointState.LOST, SavepointState.REMOVED, SavepointState.RETAINED})
_GOING = frozenset({SavepointState.REMOVED, SavepointState.RETAINED})
_MESSAGE_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class SavepointStep:
    """The step of one pass for a HudiSavepoint: its status, its finalizer, and the next pass.

    `released` is the log message about the savepoint in the table when the resource may go, `stays` whether the
    savepoint is still there, and `is_left` whether nobody has asked for that.
    """

    status: HudiSavepointStatus | None
    hold: bool = False
    released: str | None = None
    stays: bool = False
    is_left: bool = False
    requeue: float = QUIET_SECONDS


def decide_savepoint(
    savepoint: HudiSavepoint | InvalidObject, table: HudiTable | InvalidObject | None, *, now: datetime
) -> SavepointStep:
    """Return the step for a HudiSavepoint; `table` is the HudiTable that it names, None if there is none."""
    if savepoint.metadata.deletion_timestamp is not None:
        return _ending(savepoint, table, now=now)
    if isinstance(savepoint, InvalidObject):
        message = (
            f"The spec is not valid for this version of the operator: {savepoint.message}. Create another "
            "HudiSavepoint."
        )
        make = ConditionMaker(generation=savepoint.metadata.generation, now=now)
        conditions = tuple(_stalled(make, BlockerReason.INVALID_SPEC, message))
        return SavepointStep(
            status=savepoint.savepoint.copy_with(
                observed_generation=savepoint.metadata.generation,
                conditions=tuple(one.carried_over(savepoint.savepoint.conditions) for one in conditions),
                message=message[:_MESSAGE_LIMIT],
            )
        )
    status = _status(savepoint, table, now=now)
    at, pause = expires_at(savepoint), QUIET_SECONDS
    if any(one.type is ConditionType.RECONCILING for one in status.conditions):
        pause = growing_pause(savepoint.metadata.creation_timestamp, now=now, least=WAITING_SECONDS)
    if at is not None and at > now:
        pause = min(pause, (at - now).total_seconds() + 1)
    return SavepointStep(status=status, hold=True, requeue=pause)


def _status(savepoint: HudiSavepoint, table: HudiTable | InvalidObject | None, *, now: datetime) -> HudiSavepointStatus:
    before, entry = savepoint.status, entry_of(savepoint, table)
    make = ConditionMaker(generation=savepoint.metadata.generation, now=now)
    conditions = tuple(one.carried_over(before.conditions) for one in _conditions(savepoint, table, entry, make))
    expires = expires_at(savepoint)
    kept = entry is not None and entry.state is SavepointState.KEPT
    return HudiSavepointStatus(
        observed_generation=savepoint.metadata.generation,
        message=conditions[0].message[:_MESSAGE_LIMIT],
        conditions=conditions,
        instant=(entry.instant if entry is not None else None) or before.instant or savepoint.spec.instant,
        completed_at=(entry.since if entry is not None else None) or before.completed_at,
        adopted=entry.adopted if kept and entry is not None else before.adopted,
        blocks=entry.blocks if kept and entry is not None else None,
        retained=entry.retained if kept and entry is not None else None,
        expires_at=format_time(expires) if expires is not None else None,
    )


def moved_savepoints(before: HudiTableStatus, after: HudiTableStatus) -> tuple[str, ...]:
    """Return the HudiSavepoints with a changed entry in the table's status."""
    known = {one.uid: one for one in before.savepoints}
    return tuple(one.resource for one in after.savepoints if one.resource and known.get(one.uid) != one)


def entry_of(savepoint: HudiSavepoint, table: HudiTable | InvalidObject | None) -> TableSavepoint | None:
    """Return the table's entry for a savepoint."""
    entries = table.status.savepoints if table is not None else ()
    return next((one for one in entries if one.uid and one.uid == savepoint.metadata.uid), None)


def _conditions(
    savepoint: HudiSavepoint,
    table: HudiTable | InvalidObject | None,
    entry: TableSavepoint | None,
    make: ConditionMaker,
) -> Iterator[Condition]:
    if table is None:
        message = f"This namespace has no HudiTable {savepoint.spec.table_ref.name}."
        return _reconciling(make, ConditionStatus.FALSE, SavepointReason.TABLE_NOT_FOUND, message)
    return _unanswered(savepoint, table, make) if entry is None else _answered(savepoint, entry, make)


def _unanswered(
    savepoint: HudiSavepoint, table: HudiTable | InvalidObject, make: ConditionMaker
) -> Iterator[Condition]:
    told = savepoint.status.conditions
    if any(one.reason in ENDS for one in told):
        return iter(told)  # is over, and the table has no place for its entry
    if sum(one.resource is not None and one.state not in OVER for one in table.status.savepoints) >= MOST_RELATED:
        message = (
            f"More than {MOST_RELATED} HudiSavepoints name the table; the operator considers no further HudiSavepoints."
        )
        return _stalled(make, SavepointReason.TOO_MANY, message)
    return _reconciling(
        make, ConditionStatus.UNKNOWN, TableReason.PROGRESSING, "Waiting for the next reconcile of the table."
    )


def _answered(savepoint: HudiSavepoint, entry: TableSavepoint, make: ConditionMaker) -> Iterator[Condition]:
    if entry.state is SavepointState.KEPT:
        return _kept(entry, make)
    if entry.state is SavepointState.REMOVED and expires_at(savepoint) is not None:
        return _expired(entry, make)
    if entry.state in _STALLED:
        return _stalled(make, entry.reason, entry.message)
    return _reconciling(make, ConditionStatus.FALSE, entry.reason, entry.message)


def _kept(entry: TableSavepoint, make: ConditionMaker) -> Iterator[Condition]:
    """Yield the conditions of an existing savepoint; it is not ready if the table cannot be restored to it."""
    complete, reason, message = _data(entry)
    if complete is ConditionStatus.FALSE:
        yield from _stalled(make, reason, message)
    else:
        yield make(ConditionType.READY, ConditionStatus.TRUE, SavepointReason.KEPT, entry.message)
    yield make(ConditionType.DATA_COMPLETE, complete, reason, message)


def _data(entry: TableSavepoint) -> tuple[ConditionStatus, SavepointReason, str]:
    """Return whether all files of a savepoint exist: when it was made, and at the last clean."""
    kept = entry.retained
    if kept is not None and kept.missing:
        gone = f"The clean that ended at {kept.as_of} did not find {counted(kept.missing, 'file')} of the savepoint"
        message = f"{entry.message} {gone}, so the table cannot be restored to it."
        return ConditionStatus.FALSE, SavepointReason.FILES_MISSING, message
    if entry.data_complete is ConditionStatus.FALSE:
        message = f"{entry.message} A clean before it may have removed files of the commit."
        return ConditionStatus.FALSE, SavepointReason.INSTANT_CLEANED, message
    if entry.data_complete is ConditionStatus.TRUE:
        return ConditionStatus.TRUE, SavepointReason.KEPT, "No clean before the savepoint removed files of the commit."
    message = "The active timeline does not show whether a clean before the savepoint removed files of the commit."
    return ConditionStatus.UNKNOWN, SavepointReason.CLEANS_UNKNOWN, message


def _expired(entry: TableSavepoint, make: ConditionMaker) -> Iterator[Condition]:
    """Yield the condition of an expired savepoint: a planned end is no failure, and neither is one without a savepoint.

    Ready would be a lie if True, and continued work if False, as kstatus reads it: without Ready and any other
    condition, a resource counts as settled.
    """
    if entry.since is None:
        yield from _stalled(make, SavepointReason.EXPIRED, entry.message)
    else:
        yield make(ConditionType.EXPIRED, ConditionStatus.TRUE, SavepointReason.EXPIRED, entry.message)


def _stalled(make: ConditionMaker, reason: str, message: str) -> Iterator[Condition]:
    yield make(ConditionType.READY, ConditionStatus.FALSE, reason, message)
    yield make(ConditionType.STALLED, ConditionStatus.TRUE, reason, message)


def _reconciling(make: ConditionMaker, ready: ConditionStatus, reason: str, message: str) -> Iterator[Condition]:
    yield make(ConditionType.READY, ready, reason, message)
    yield make(ConditionType.RECONCILING, ConditionStatus.TRUE, reason, message)


def _ending(
    savepoint: HudiSavepoint | InvalidObject, table: HudiTable | InvalidObject | None, *, now: datetime
) -> SavepointStep:
    """Return the step of a deleted resource: it waits only for its table, and never for ever."""
    if SAVEPOINT_FINALIZER not in savepoint.metadata.finalizers:
        return SavepointStep(status=None)
    if (why := _not_waited_for(savepoint, table, now=now)) is not None:
        return SavepointStep(
            status=None, stays=True, is_left=True, released=f"{why}; a savepoint that was made stays in the table."
        )
    assert isinstance(savepoint, HudiSavepoint), "a resource that cannot be read is not waited for"
    if savepoint.spec.deletion_policy is SavepointDeletionPolicy.RETAIN:
        message = "deletionPolicy is Retain: a savepoint that was made stays in the table."
        return SavepointStep(status=None, stays=True, released=message)
    entry = entry_of(savepoint, table)
    if entry is not None and entry.state in _GOING:
        stays = entry.state is SavepointState.RETAINED
        return SavepointStep(status=None, released=entry.message, stays=stays, is_left=stays and not entry.adopted)
    pause = growing_pause(savepoint.metadata.deletion_timestamp, now=now, least=ENDING_SECONDS)
    return SavepointStep(status=_status(savepoint, table, now=now), requeue=pause)


def _not_waited_for(
    savepoint: HudiSavepoint | InvalidObject, table: HudiTable | InvalidObject | None, *, now: datetime
) -> str | None:
    """Return why the resource waits for no table, and leaves the savepoint unchanged."""
    if isinstance(savepoint, InvalidObject):
        return "This version of the operator cannot read the spec"
    if table is None:
        return f"This namespace no longer has a HudiTable {savepoint.spec.table_ref.name}"
    if table.metadata.deletion_timestamp is not None:
        return f"The HudiTable {table.metadata.name} is being deleted"
    since = parse_time(savepoint.metadata.deletion_timestamp) or now
    says_nothing = entry_of(savepoint, table) is None or isinstance(table, InvalidObject)
    return "The table does not report on the savepoint" if says_nothing and now - since >= PATIENCE else None
