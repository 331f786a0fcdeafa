"""The progress of an erasure on the tables that read its table: one HudiOperation for each, created once.

The list of readers is recorded at the first look and loses no table: a reader that reads another table by now still
holds what it has read. The operations are created once the erasure of the table itself has succeeded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hudi_jobs.contract.operations.erase import MOST_CASCADED
from hudi_jobs.contract.wording import counted
from hudi_operator.api.resources import HudiOperation, InvalidObject, ObjectMetadata
from hudi_operator.api.status.operation_status import FINISHED, WAITING, CascadedErasure, OperationState
from hudi_operator.jobs.resources import cascaded_name, is_cascaded_from
from hudi_operator.planning.model.reasons import OperationReason

_SHORT = 256
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class CascadeSeen:
    """The tables that read the table now, readers in other namespaces, and the existing HudiOperations by name.

    `unsuitable` maps tables to the reason why the same keys cannot be erased from them, which may have changed since.
    """

    readers: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    unsuitable: Mapping[str, str] = field(default_factory=dict)
    operations: Mapping[str, HudiOperation | InvalidObject | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Cascade:
    """The state of a cascade: its tables, and the next steps; `creates` are the tables without an operation yet.

    `deletes` are the operations of tables that have become unsuitable, because the obstacle of such an operation may
    pass.
    """

    entries: tuple[CascadedErasure, ...]
    state: OperationState
    reason: str
    message: str
    creates: tuple[str, ...] = ()
    deletes: tuple[ObjectMetadata, ...] = ()


def cascade_tables(operation: HudiOperation, readers: Iterable[str]) -> tuple[CascadedErasure, ...]:
    """Return the tables of the cascade, the earlier recorded tables first."""
    known = {one.table: one for one in operation.status.cascade}
    new = (CascadedErasure(table=name, operation=cascaded_name(operation, name)) for name in readers)
    return (*known.values(), *(one for one in new if one.table not in known))[:MOST_CASCADED]


def cascaded(operation: HudiOperation, seen: CascadeSeen, *, own: str) -> Cascade:
    """Return the state of an operation that has succeeded on its own table; `own` is the message about that table."""
    tables = cascade_tables(operation, seen.readers)
    entries = tuple(_look(one, operation, seen) for one in tables)
    outdated = (_outdated(one, operation, seen) for one in tables)
    deletes = tuple(one.metadata for one in outdated if one is not None)
    going = [one for one in entries if one.ready is None]
    creates = tuple(one.table for one in going if one.reason is None)
    if going:
        message = f"Done on the table itself. On the tables that read it: {_told(going)}"
        return Cascade(
            entries=entries,
            state=OperationState.RUNNING,
            reason=OperationReason.CASCADING,
            message=message,
            creates=creates,
            deletes=deletes,
        )
    failed = [one for one in entries if one.ready is False]
    if failed:
        message = f"Done on the table itself, but not on all tables that read it: {_told(failed)}"
        return Cascade(
            entries=entries,
            state=OperationState.FAILED,
            reason=OperationReason.CASCADE_FAILED,
            message=message,
            deletes=deletes,
        )
    also = f" The same applies to {', '.join(one.table for one in entries)}." if entries else ""
    return Cascade(
        entries=entries,
        state=OperationState.SUCCEEDED,
        reason=OperationReason.SUCCEEDED,
        message=f"{own}{also}{_told_elsewhere(seen.elsewhere, operation.metadata.namespace)}".strip(),
    )


def _look(one: CascadedErasure, operation: HudiOperation, seen: CascadeSeen) -> CascadedErasure:
    found, unsuitable = seen.operations.get(one.operation), seen.unsuitable.get(one.table)
    if one.ready is not None:
        return one
    if found is None:
        gone = unsuitable if one.reason is None else "It was deleted before it finished."
        return one if gone is None else _failed(one, gone)
    if isinstance(found, InvalidObject):
        return _failed(one, f"It is not valid: {found.message}")
    if not is_cascaded_from(found, operation, one.table):
        return _failed(one, "Another HudiOperation, which does not ask for the same, has this name.")
    told = found.status
    waits_for_ever = told.state in WAITING and told.reason == OperationReason.TABLE_NOT_FOUND
    if unsuitable is not None and (waits_for_ever or _outdated(one, operation, seen) is not None):
        return _failed(one, unsuitable)
    ready = told.state is OperationState.SUCCEEDED if told.state in FINISHED else None
    reason, message = told.reason or OperationReason.PENDING, (told.message or "")[:_SHORT]
    return one.copy_with(ready=ready, reason=reason, message=message)


def _outdated(one: CascadedErasure, operation: HudiOperation, seen: CascadeSeen) -> HudiOperation | None:
    """Return the operation of a table that has become unsuitable, unless its Job is at work or it has begun."""
    found = seen.operations.get(one.operation)
    if one.table not in seen.unsuitable or not isinstance(found, HudiOperation):
        return None
    is_untouched = found.status.state in {*WAITING, OperationState.DRAINING} and not found.status.begun
    return found if is_untouched and is_cascaded_from(found, operation, one.table) else None


def _failed(one: CascadedErasure, message: str) -> CascadedErasure:
    return one.copy_with(ready=False, reason=OperationReason.CASCADE_FAILED, message=message[:_SHORT])


def _told(entries: list[CascadedErasure]) -> str:
    told = [
        f"HudiOperation {one.operation} of table {one.table} is {one.reason or 'next'}: "
        f"{one.message or 'not seen yet.'}"
        for one in entries[:_NAMED]
    ]
    more = [f"And {len(entries) - _NAMED:,} more."] if len(entries) > _NAMED else []
    return " ".join((*told, *more))


def _told_elsewhere(names: tuple[str, ...], namespace: str) -> str:
    """Return the sentence on readers that are not erased: tables of other namespaces are only counted."""
    own = sorted(name.partition("/")[2] for name in names if name.startswith(f"{namespace}/"))
    count = len(names) - len(own)
    if not count:
        return ""
    behind = f", nor from {', '.join(own[:_NAMED])} behind them" if own else ""
    return f" NOT erased from {counted(count, 'table')} of other namespaces, which the operator's log names{behind}."
