"""Why nothing, or no operation, may start on a table."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudi_jobs.contract import ConcurrencyMode, Difference, Service, differences_message
from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.timeline import PendingOwner
from hudi_operator.planning.facts.drift import drift_code, refusing, stops
from hudi_operator.planning.facts.operations.admission import Held
from hudi_operator.planning.facts.writers.foreign import Writers, foreign_message, unknown_message
from hudi_operator.planning.facts.writers.ownership import Ownership
from hudi_operator.planning.facts.writers.pending import (
    RESTORE_PENDING,
    ROLLBACK_OF_SAVEPOINT,
    Instants,
    in_the_way,
    left_alone,
)
from hudi_operator.planning.facts.writers.takeover import Takeover
from hudi_operator.planning.model import Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.services.registry import SERVICES, mode_of
from hudi_operator.timeline import State

ServiceBlocker = tuple[str, str]
"""Why nothing may start, as a reason word and a sentence."""

_NOT_FOR_BEGUN = frozenset({RESTORE_PENDING, ROLLBACK_OF_SAVEPOINT, Waiting.CHECKING_COMMITS.value})
"""Blockers that an operation may have caused itself, or finds out in its run; they do not hold an operation that has
begun.
"""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What decides whether anything may start on a table: its Jobs, pending instants, writers, owner and drift."""

    observation: Observation
    active: tuple[ActiveJob, ...]
    instants: Instants
    drift: tuple[Difference, ...]
    takeover: Takeover
    ownership: Ownership
    writers: Writers


def blocker_of(seen: Situation, maintenance: str | None) -> ServiceBlocker | None:
    """Return why no new run may start for this table, whatever runs now.

    `maintenance` is set while an operation has the table to itself.
    """
    if (alone := under_maintenance(maintenance)) is not None:
        return alone
    if seen.observation.metadata.deletion_timestamp is not None:
        return Waiting.BLOCKED, "The table is being deleted."
    if (suspension := seen.observation.suspended_by) is not None:
        return Waiting.SUSPENDED, f"The table is suspended: no new job starts until {suspension.end}."
    return next(_blockers(seen, seen.writers), None) or _not_quiet(seen) or _waits_for_stranger(seen)


def under_maintenance(message: str | None) -> ServiceBlocker | None:
    """Return why nothing else starts while an operation has the table to itself."""
    return None if message is None else (Waiting.MAINTENANCE, message)


def operation_held(seen: Situation) -> Held:
    """Return why no operation may start; all blockers but the first group hold only an operation that has not begun.

    `spec.suspend` stops scheduled work, but a person asks for an operation by name. An operation that has begun is
    finished whoever has written since: a half restored table is worse than every blocker here.
    """
    found = (*_blockers(seen, seen.writers), _refused_operation(seen.drift), _not_quiet(seen))
    every = [one for one in found if one is not None]
    begun = next((one for one in _blockers(seen, Writers()) if one[0] not in _NOT_FOR_BEGUN), None)
    return Held(
        before=next((message for reason, message in every if reason != RESTORE_PENDING), None),
        restore=next((message for reason, message in every if reason == RESTORE_PENDING), None),
        begun=_message(begun),
        stranger=_message(_waits_for_stranger(seen)),
        heartbeat=_message(_waits_for_heartbeat(seen.instants)),
        obstacles=tuple(dict.fromkeys(message for _, message in every)),
    )


def _message(blocker: ServiceBlocker | None) -> str | None:
    return blocker[1] if blocker is not None else None


def refused_services(drift: tuple[Difference, ...], spec: HudiTableSpec) -> dict[Service, ServiceBlocker]:
    """Return the services that a table's files keep from starting while other services may start.

    A service that runs inside the writer keeps the writer from starting too.
    """
    found: dict[Service, ServiceBlocker] = {}
    if stops(drift):
        return found
    for service in SERVICES:
        differences = refusing(drift, service)
        if differences:
            found[service] = drift_code(differences), differences_message(differences)
            if mode_of(spec, service) is ServiceMode.INLINE:
                found.setdefault(Service.INGESTION, found[service])
    return found


def _refused_operation(drift: tuple[Difference, ...]) -> ServiceBlocker | None:
    found = refusing(drift, Service.OPERATION)
    return None if not found or stops(drift) else (drift_code(found), differences_message(found))


def _not_quiet(seen: Situation) -> ServiceBlocker | None:
    return None if seen.takeover.waits is None else (Waiting.WAITING_FOR_QUIET, seen.takeover.waits)


def _waits_for_stranger(seen: Situation) -> ServiceBlocker | None:
    """Return why nothing starts on a serialized table beside the pending instant of an unknown writer.

    A Hudi writer would roll the instant back before it begins, and would run any plan that it finds.
    """
    if seen.observation.table.spec.concurrency.mode is not ConcurrencyMode.SERIALIZED or seen.active:
        return None
    writes = {one.time for one in seen.instants.of(Service.INGESTION)}
    begun = (one for one in seen.instants.all if one.state == State.INFLIGHT.value or one.time in writes)
    stranger = next((one for one in begun if one.left_alone_until is not None), None)
    if stranger is None:
        return None
    is_ours = stranger.owner is PendingOwner.THIS_TABLE
    reason = Reason.WAITING_FOR_HEARTBEAT if is_ours else Reason.WAITING_FOR_OTHER
    return reason.value, f"{left_alone(stranger)} Nothing starts on a Serialized table beside it."


def _waits_for_heartbeat(instants: Instants) -> ServiceBlocker | None:
    """Return why an operation waits for a write of this table whose process may still run.

    Other runs of an Optimistic table continue beside the write under the lock, but the driver of an operation would
    refuse.
    """
    for one in instants.of(Service.INGESTION):
        if one.owner is PendingOwner.THIS_TABLE and one.left_alone_until is not None:
            return Reason.WAITING_FOR_HEARTBEAT.value, f"{left_alone(one)} No operation begins beside it."
    return None


def _blockers(seen: Situation, writers: Writers) -> Iterator[ServiceBlocker]:
    observation, owned_elsewhere = seen.observation, seen.ownership.elsewhere
    if observation.table.spec.management_policy is ManagementPolicy.OBSERVE:
        yield Waiting.OBSERVED, "The table is only observed: no job starts while spec.managementPolicy is Observe."
    if observation.blockers or observation.table_class is None:
        yield Waiting.BLOCKED, blocked_message(observation)
    if owned_elsewhere is not None:
        yield FindingCode.OWNED_ELSEWHERE, owned_elsewhere
    if stops(seen.drift):
        yield drift_code(seen.drift), differences_message(seen.drift)
    if writers.foreign:
        yield FindingCode.FOREIGN_WRITER, foreign_message(writers.foreign)
    if writers.unknown:
        yield TimelineTrouble.CORRUPT.value, unknown_message(writers.unknown)
    yield from _blockers_in(observation.snapshot)


def _blockers_in(snapshot: TimelineSnapshot) -> Iterator[ServiceBlocker]:
    """Yield the blockers that the timeline shows, or cannot rule out."""
    if (stuck := in_the_way(snapshot)) is not None:
        yield stuck
    if snapshot.trouble is not None:
        yield snapshot.trouble.value, snapshot.message
    if snapshot.read_up_to is not None:
        yield (
            Waiting.CHECKING_COMMITS,
            "The table has more new commits than one reconcile reads. Nothing starts until the operator has checked "
            "all of them for another writer, because two writers without a lock lose data.",
        )


def blocked_message(observation: Observation) -> str:
    """Return the sentence about the blocker of the table."""
    return observation.blockers[0].message if observation.blockers else "The table's class is not known."
