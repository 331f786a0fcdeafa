"""The pending instants of a table: their age, their owner, the service that handles each, and what they block.

A rollback can never finish if a savepoint keeps the commit to undo. Hudi refuses it, and with it every write and
service that first finishes pending work. A write in between would count the commit's input as read, which the rollback
then removes.

A restore removes files by a plan that knows no later instant. Hudi refuses concurrent writes, but not services: a
compaction would keep rows that the restore removes, and a clean would delete files it restores. Only its author can
finish it, or a HudiOperation that continues the recorded work of another HudiOperation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hudi_jobs.contract import FailureReason, Service
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.timeline import LeftInstant, PendingOwner, PendingStatus
from hudi_operator.diagnosis.checks.pending import stops_at
from hudi_operator.diagnosis.checks.undoing import pending_restore, savepointed_rollback
from hudi_operator.planning.facts.writers.leftover import Watch, watch_of
from hudi_operator.planning.model import Observation, TimelineSnapshot
from hudi_operator.planning.model.times import format_time, instant_time, parse_time
from hudi_operator.services.registry import SERVICES, service_of
from hudi_operator.timeline import Instant, Timeline, TimelineZone, pending_instants

ROLLBACK_OF_SAVEPOINT = FailureReason.ROLLBACK_OF_SAVEPOINT.value
"""A pending rollback cannot finish, because a savepoint keeps the commit to undo."""


RESTORE_PENDING = FailureReason.RESTORE_PENDING.value
"""A restore of the table has begun and is not finished."""


def in_the_way(snapshot: TimelineSnapshot) -> tuple[str, str] | None:
    """Return the reason and sentence of the unfinished rollback or restore that blocks every run, or None."""
    if snapshot.timeline is None:
        return None
    if (rollback := savepointed_rollback(snapshot.timeline, snapshot.undoings)) is not None:
        return ROLLBACK_OF_SAVEPOINT, rollback.message
    if (restore := pending_restore(snapshot.timeline)) is not None:
        return RESTORE_PENDING, restore.message
    return None


def pending_statuses(
    timeline: Timeline, previous: ServicesStatus, written: Mapping[str, int], *, watch: Watch, now: datetime
) -> dict[Service, tuple[PendingStatus, ...]]:
    """Return the pending instants of each service, oldest first.

    `written` says when files were written, in milliseconds since 1970, for tables that name instants in local time.
    """
    known = {(one.time, one.action): one for service in SERVICES for one in previous.of(service).pending}
    found: dict[Service, list[PendingStatus]] = {}
    for pending in pending_instants(timeline):
        service = service_of(pending)
        if service is None:
            continue
        instant = pending.instant
        seen_at = _seen_at(instant, known.get((instant.time, instant.action.value)), now=now)
        alone = watch.left_alone_until(pending, seen_at, now=now)
        found.setdefault(service, []).append(
            PendingStatus(
                time=instant.time,
                action=instant.action.value,
                state=instant.state.value,
                since=_since(instant, timeline, known, written, now=now),
                blocks=stops_at(pending, timeline),
                owner=PendingOwner.THIS_TABLE if watch.is_ours(pending) else PendingOwner.OTHER,
                seen_at=format_time(seen_at),
                left_alone_until=format_time(alone) if alone else None,
                run=left.run if (left := watch.left_behind.get(instant.time)) else None,
            )
        )
    return {service: tuple(items) for service, items in found.items()}


def _seen_at(instant: Instant, known: PendingStatus | None, *, now: datetime) -> datetime:
    """Return when the operator first saw an instant in its state: the instant's own time may be from any clock."""
    if known is None or known.state != instant.state.value:
        return now
    return parse_time(known.seen_at) or now


def _since(
    instant: Instant,
    timeline: Timeline,
    known: Mapping[tuple[str, str], PendingStatus],
    written: Mapping[str, int],
    *,
    now: datetime,
) -> str:
    if timeline.properties.timezone is TimelineZone.UTC:
        requested = instant_time(instant.time)
        if requested is not None:
            return format_time(requested)
    before = known.get((instant.time, instant.action.value))
    if before is not None:
        return before.since
    if instant.time in written:
        return format_time(datetime.fromtimestamp(written[instant.time] / 1000, now.tzinfo))
    return format_time(now)


def overdue(
    pending: Iterable[PendingStatus], *, alarm: timedelta, now: datetime
) -> tuple[tuple[PendingStatus, ...], datetime | None]:
    """Return the instants that have been pending for longer than `alarm`, and when the next instant becomes overdue."""
    late: list[PendingStatus] = []
    following: datetime | None = None
    for one in pending:
        since = parse_time(one.since)
        if since is None:
            continue
        if now - since >= alarm:
            late.append(one)
        elif following is None or since + alarm < following:
            following = since + alarm
    return tuple(sorted(late, key=lambda one: one.time)), following


def named(pending: PendingStatus) -> str:
    """Return the name of a pending instant in a sentence, with its owner if the owner is not this table."""
    name = f"{pending.action} {pending.time}"
    return name if pending.owner is PendingOwner.THIS_TABLE else f"{name} of another tool or an unknown run"


def left_alone(pending: PendingStatus) -> str:
    """Return the sentence about a pending instant that is left alone."""
    if pending.owner is PendingOwner.THIS_TABLE:
        return (
            f"The {pending.state.lower()} {named(pending)}, which run {pending.run} left behind, is left alone until "
            f"{pending.left_alone_until}: it has a heartbeat, and its writer may not have ended."
        )
    return (
        f"The {pending.state.lower()} {named(pending)} is left alone until {pending.left_alone_until}, because its "
        "writer may be at work."
    )


@dataclass(frozen=True, kw_only=True)
class Instants:
    """The pending instants of a table.

    `busy` are those on which a running Job of this table may be working, `left_behind` those that ended runs left.
    `overdue` have been pending for longer than the class allows. `changes_at` is when another instant becomes overdue,
    or may be handled.
    """

    pending: Mapping[Service, tuple[PendingStatus, ...]] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()
    left_behind: tuple[LeftInstant, ...] = ()
    overdue: tuple[PendingStatus, ...] = ()
    changes_at: datetime | None = None

    @property
    def all(self) -> tuple[PendingStatus, ...]:
        """All pending instants that belong to a service, oldest first."""
        return tuple(sorted((one for some in self.pending.values() for one in some), key=lambda one: one.time))

    def of(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return all pending instants of a service, oldest first."""
        return self.pending.get(service, ())

    def free(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return the pending instants that a service may handle now, oldest first."""
        return tuple(one for one in self.of(service) if self._is_free(one))

    def left_alone(self, service: Service) -> tuple[PendingStatus, ...]:
        """Return the pending instants of a service that are left alone, oldest first."""
        return tuple(one for one in self.of(service) if one.left_alone_until is not None)

    def abandoned(self, active: Iterable[ActiveJob]) -> tuple[str, ...]:
        """Return the instants that nobody works on any more, oldest first: a run may finish or roll them back."""
        taken = {job.instant for job in active}
        return tuple(one.time for one in self.all if self._is_free(one) and one.time not in taken)

    def _is_free(self, pending: PendingStatus) -> bool:
        return pending.left_alone_until is None and pending.time not in self.busy


def instants_of(
    observation: Observation,
    table_class: HudiTableClassSpec,
    *,
    active: tuple[ActiveJob, ...],
    left_behind: tuple[LeftInstant, ...],
    now: datetime,
) -> Instants:
    """Return the pending instants of a table beside its active Jobs."""
    timeline, written = observation.snapshot.timeline, dict(observation.snapshot.written)
    if timeline is None:
        return Instants(left_behind=left_behind)
    known = observation.table.status.services
    watch = watch_of(observation, table_class, active=active, left_behind=left_behind)
    pending = pending_statuses(timeline, known, written, watch=watch, now=now)
    every = [one for some in pending.values() for one in some]
    late, following = overdue(every, alarm=watch.alarm, now=now)
    moments = [following, *(parse_time(one.left_alone_until) for one in every)]
    return Instants(
        pending=pending,
        busy=frozenset(one.instant.time for one in pending_instants(timeline) if watch.is_busy(one)),
        left_behind=left_behind,
        overdue=late,
        changes_at=min((moment for moment in moments if moment is not None and moment > now), default=None),
    )
