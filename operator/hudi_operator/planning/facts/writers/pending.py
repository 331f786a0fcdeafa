"""The pending instants of each service: their age, their owner, and what they block."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from hudi_jobs.contract import Service
from hudi_operator.api.status.acts import PendingOwner
from hudi_operator.api.status.left import PendingStatus
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.planning.facts.writers.unfinished import Watch
from hudi_operator.planning.model.times import format_time, instant_time, parse_time
from hudi_operator.services.registry import SERVICES, service_of
from hudi_operator.timeline import (
    Instant,
    PendingInstant,
    PendingKind,
    Timeline,
    TimelineZone,
    pending_instants,
)

_BLOCKS_HISTORY = "Cleaning by commits and archival stop before it"
_CONSEQUENCES = {
    PendingKind.WRITE: f"{_BLOCKS_HISTORY}.",
    PendingKind.COMPACTION: f"{_BLOCKS_HISTORY}, and the logs of its file groups grow.",
    PendingKind.LOG_COMPACTION: f"{_BLOCKS_HISTORY}, and its file groups are not compacted.",
    PendingKind.CLUSTERING: f"{_BLOCKS_HISTORY}, and with Reject its file groups take no updates.",
    PendingKind.UNKNOWN: f"{_BLOCKS_HISTORY}.",
    PendingKind.OTHER: "",
}
_METADATA_TABLE_WAITS = " The metadata table is not compacted."
_LAST_VERSION_THAT_BLOCKS_METADATA = 6


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
                blocks=_blocks(pending, timeline),
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


def _blocks(pending: PendingInstant, timeline: Timeline) -> str:
    text = _CONSEQUENCES[pending.kind]
    if text and timeline.properties.version <= _LAST_VERSION_THAT_BLOCKS_METADATA:
        return text + _METADATA_TABLE_WAITS
    return text


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
