"""Why nothing, or no operation, may start on a table."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudi_jobs.contract import Difference, Service, differences_message
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.status.acts import PendingOwner
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.planning.facts.case import Case, stranger_at_work
from hudi_operator.planning.facts.drift import drift_code, refusing, stops
from hudi_operator.planning.facts.operations.held import Held
from hudi_operator.planning.facts.writers.foreign import Writers, foreign_message, unknown_message
from hudi_operator.planning.facts.writers.pending import left_alone
from hudi_operator.planning.facts.writers.undoing import RESTORE_PENDING, ROLLBACK_OF_SAVEPOINT, in_the_way
from hudi_operator.planning.model import Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.services.registry import SERVICES, mode_of

ServiceBlocker = tuple[str, str]
"""Why nothing may start, as a reason word and a sentence."""

_NOT_FOR_BEGUN = frozenset({RESTORE_PENDING, ROLLBACK_OF_SAVEPOINT, Waiting.CHECKING_COMMITS.value})
"""Blockers that an operation may have caused itself, or finds out in its run; they do not hold an operation that has
begun.
"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The observation and the findings that decide what may start on a table."""

    observation: Observation
    writers: Writers
    drift: tuple[Difference, ...]
    owned_elsewhere: str | None


def table_blocker(seen: Seen) -> ServiceBlocker | None:
    """Return why no new run may start for this table, whatever runs now."""
    if seen.observation.metadata.deletion_timestamp is not None:
        return Waiting.BLOCKED, "The table is being deleted."
    if (suspension := seen.observation.suspended_by) is not None:
        return Waiting.SUSPENDED, f"The table is suspended: no new job starts until {suspension.end}."
    return next(_blockers(seen), None)


def operation_held(
    seen: Seen, quiet: ServiceBlocker | None, stranger: ServiceBlocker | None, heartbeat: ServiceBlocker | None
) -> Held:
    """Return why no operation may start; all blockers but the first group hold only an operation that has not begun.

    `spec.suspend` stops scheduled work, but a person asks for an operation by name. An operation that has begun is
    finished whoever has written since: a half restored table is worse than every blocker here.
    """
    every = [found for found in (*_blockers(seen), _refused_operation(seen), quiet) if found is not None]
    alone = Seen(
        observation=seen.observation, writers=Writers(), drift=seen.drift, owned_elsewhere=seen.owned_elsewhere
    )
    begun = next((found for found in _blockers(alone) if found[0] not in _NOT_FOR_BEGUN), None)
    finishing, beside, alive = (found[1] if found is not None else None for found in (begun, stranger, heartbeat))
    obstacles = tuple(dict.fromkeys(message for _, message in every))
    return Held(
        before=next((message for reason, message in every if reason != RESTORE_PENDING), None),
        restore=next((message for reason, message in every if reason == RESTORE_PENDING), None),
        begun=finishing,
        stranger=beside,
        heartbeat=alive,
        obstacles=obstacles,
    )


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


def _refused_operation(seen: Seen) -> ServiceBlocker | None:
    found = refusing(seen.drift, Service.OPERATION)
    return None if not found or stops(seen.drift) else (drift_code(found), differences_message(found))


def under_maintenance(message: str | None) -> ServiceBlocker | None:
    """Return why nothing else starts while an operation has the table to itself."""
    return None if message is None else (Waiting.MAINTENANCE, message)


def waits_for_stranger(case: Case) -> ServiceBlocker | None:
    """Return why nothing starts on a serialized table beside the pending instant of an unknown writer."""
    stranger = stranger_at_work(case)
    if stranger is None:
        return None
    is_ours = stranger.owner is PendingOwner.THIS_TABLE
    reason = Reason.WAITING_FOR_HEARTBEAT if is_ours else Reason.WAITING_FOR_OTHER
    return reason.value, f"{left_alone(stranger)} Nothing starts on a Serialized table beside it."


def waits_for_heartbeat(case: Case) -> ServiceBlocker | None:
    """Return why an operation waits for a write of this table whose process may still run.

    Other runs of an Optimistic table continue beside the write under the lock, but the driver of an operation would
    refuse.
    """
    for one in case.pending.get(Service.INGESTION, ()):
        if one.owner is PendingOwner.THIS_TABLE and one.left_alone_until is not None:
            return Reason.WAITING_FOR_HEARTBEAT.value, f"{left_alone(one)} No operation begins beside it."
    return None


def _blockers(seen: Seen) -> Iterator[ServiceBlocker]:
    observation, writers = seen.observation, seen.writers
    if observation.table.spec.management_policy is ManagementPolicy.OBSERVE:
        yield Waiting.OBSERVED, "The table is only observed: no job starts while spec.managementPolicy is Observe."
    if observation.blockers or observation.table_class is None:
        yield Waiting.BLOCKED, blocked_message(observation)
    if seen.owned_elsewhere is not None:
        yield FindingCode.OWNED_ELSEWHERE, seen.owned_elsewhere
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
