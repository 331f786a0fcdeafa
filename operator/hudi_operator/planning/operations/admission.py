"""Whether an operation may begin: by its class, by a person, and by what the table shows. The driver looks again."""

from dataclasses import dataclass

from hudi_jobs.contract import ConcurrencyMode, OperationKind
from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.spec.operation import OperationApproval
from hudi_operator.api.status.operation import OperationState
from hudi_operator.api.status.table_savepoints import SavepointState
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason, SavepointReason
from hudi_operator.planning.savepoints.rules import newest_commit, refusal_of
from hudi_operator.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Why an operation does not begin: it waits, or fails for good."""

    state: OperationState
    reason: str
    message: str


def admitted(resource: HudiOperation, observation: Observation) -> Answer | str:
    """Return the commit that an operation is about, or why it does not begin."""
    spec, table_class = resource.spec, observation.table_class
    settings = table_class.spec.operations if table_class is not None else None
    if settings is None or spec.kind not in settings.allowed:
        name = table_class.metadata.name if table_class is not None else "of the table"
        return _waits(
            OperationReason.NOT_ALLOWED,
            f"The HudiTableClass {name} allows no {spec.kind}: ask the platform team to add it to operations.allowed.",
        )
    if (refused := _beside_others(resource, observation)) is not None:
        return refused
    found = _instant(resource, observation)
    if isinstance(found, Answer):
        return found
    if settings.approval is OperationApproval.MANUAL and not spec.approved and not spec.dry_run:
        return Answer(
            state=OperationState.AWAITING_APPROVAL,
            reason=OperationReason.AWAITING_APPROVAL,
            message=f"The {spec.kind} of {found} waits for approval: set spec.approved to true.",
        )
    return found


def _beside_others(resource: HudiOperation, observation: Observation) -> Answer | None:
    """Refuse to change an Optimistic table of which nobody has said that the other writers are stopped."""
    is_shared = observation.table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC
    if not is_shared or resource.spec.accept_other_writers or resource.spec.dry_run:
        return None
    return _fails(
        OperationReason.OTHER_WRITERS,
        "The table is Optimistic, and the operator cannot stop its other writers: what they write meanwhile would be "
        "lost. Stop them, then create another HudiOperation with acceptOtherWriters: true. Nothing was changed.",
    )


def _instant(resource: HudiOperation, observation: Observation) -> Answer | str:
    timeline = observation.snapshot.timeline
    if timeline is None:
        return _waits(OperationReason.WAITING, observation.snapshot.message or "There is no table yet.")
    restore = resource.spec.restore
    instant: Answer | str = resource.spec.instant or ""
    if restore is not None and restore.savepoint is not None:
        instant = _of_savepoint(restore.savepoint, observation)
    if isinstance(instant, Answer):
        return instant
    return _refused(resource.spec.kind, instant, timeline) or instant


def _of_savepoint(name: str, observation: Observation) -> Answer | str:
    entries = observation.table.status.savepoints
    entry = next((one for one in entries if one.resource == name), None)
    if entry is not None and entry.state is SavepointState.KEPT and entry.instant is not None:
        return entry.instant
    said = f" {entry.message}" if entry is not None else ""
    return _waits(
        OperationReason.SAVEPOINT_NOT_FOUND, f"The table has no savepoint of a HudiSavepoint {name} now.{said}"
    )


def _refused(kind: OperationKind, instant: str, timeline: Timeline) -> Answer | None:
    """Return why a commit is none that can be gone back to, or removed as the latest."""
    found = refusal_of(instant, timeline)
    # What a savepoint keeps no later clean has taken, whatever the last one says of all others.
    if found is not None and not (found[0] is SavepointReason.INSTANT_CLEANED and _is_kept(instant, timeline)):
        return _fails(found[0], f"{found[1]} Nothing was changed.")
    newest = newest_commit(timeline)
    if kind is OperationKind.ROLLBACK and instant != newest:
        message = f"The latest commit is {newest}, and not {instant}. Nothing was changed."
        return _fails(OperationReason.NOT_LATEST, message)
    return None


def _is_kept(instant: str, timeline: Timeline) -> bool:
    return instant in timeline.counters.savepoints


def _waits(reason: str, message: str) -> Answer:
    return Answer(state=OperationState.PENDING, reason=reason, message=message)


def _fails(reason: str, message: str) -> Answer:
    return Answer(state=OperationState.FAILED, reason=reason, message=message)
