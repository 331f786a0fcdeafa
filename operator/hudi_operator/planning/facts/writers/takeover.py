"""Takes over a table that others have written, but only after a quiet time.

A table is *adopted* if neither its status nor its timeline names a run of this operator. A cron job may still write to
it, and the first concurrent run would lose rows. So the operator watches first, in Observe too, and starts no run on a
Serialized table until the table has been unchanged for as long as the class asks. Only its own clock counts: a lost or
impossible memory starts the watch again.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.spec.table_class import TakeoverSettings
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.table_parts import WRITERS_NAMED, Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.writers.foreign import may_lack_mark
from hudi_operator.planning.facts.writers.ownership import is_ours
from hudi_operator.planning.model import Observation, TimelineSnapshot
from hudi_operator.planning.model.times import format_time, instant_time, parse_time
from hudi_operator.timeline import Timeline
from hudi_operator.timeline.rules.counters import COMMITS

_PENDING_NAMED = 3
_WRITER_LIMIT = 256
_LONGEST_SHOWN = timedelta(days=2)


@dataclass(frozen=True, kw_only=True)
class Takeover:
    """The remembered takeover; `waits` says why no run starts, and `until` when that may end."""

    status: TakeoverStatus | None = None
    waits: str | None = None
    until: datetime | None = None


def check_takeover(
    observation: Observation,
    settings: TakeoverSettings,
    *,
    runs: Collection[RunStatus],
    active: Collection[ActiveJob],
    now: datetime,
) -> Takeover:
    """Return a takeover's progress after this reconcile."""
    before, snapshot = observation.table.status.takeover, observation.snapshot
    if snapshot.trouble is not None:
        return Takeover(status=before)
    if snapshot.timeline is None:
        return Takeover()
    begins = _is_adopted(observation, runs, active) if before is None else _is_left_to_others(observation, before)
    if not begins and (before is None or before.phase is TakeoverPhase.DONE):
        return Takeover(status=before)
    watched = _watched(None if begins else before, snapshot, now=now)
    return _evaluated(observation, settings, watched, since=parse_time(watched.since) or now, now=now)


def concealed(before: TakeoverStatus | None) -> Takeover:
    """Return the takeover of a table that may not be read: only that it was completed."""
    if before is None or before.phase is not TakeoverPhase.DONE:
        return Takeover()
    return Takeover(status=before.copy_with(savepoint=None, writers=(), seen=None))


def with_reports(
    takeover: Takeover, observation: Observation, finished: Iterable[RunStatus], *, now: datetime
) -> Takeover:
    """Return the takeover after runs reported its savepoint; a lost status learns of the savepoint again."""
    results = {job.name: job.result for job in observation.jobs}
    status = takeover.status
    for run in finished:
        result = results.get(run.job)
        reported = result.savepoint if result is not None else None
        if reported is None or (status is None and not reported):
            continue
        if status is None:
            status = TakeoverStatus(phase=TakeoverPhase.DONE, since=format_time(now))
        if status.phase is TakeoverPhase.DONE and (reported or status.protection is not None):
            protection = Protection.KEPT if reported else Protection.OVER
            status = status.copy_with(protection=protection, savepoint=reported[:32] or None)
    return replace(takeover, status=status)


def _evaluated(
    observation: Observation, settings: TakeoverSettings, watched: TakeoverStatus, *, since: datetime, now: datetime
) -> Takeover:
    spec = observation.table.spec
    is_observed = spec.management_policy is ManagementPolicy.OBSERVE
    until = since + parse_duration(settings.quiet_for)
    if is_observed:
        quiet = now >= until
        phase = TakeoverPhase.QUIET if quiet else TakeoverPhase.WATCHING
        return Takeover(status=watched.copy_with(phase=phase), until=None if quiet else until)
    if now >= until or spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC:
        protection = Protection.WANTED if settings.savepoint else None
        done = TakeoverStatus(phase=TakeoverPhase.DONE, since=format_time(now), protection=protection)
        return Takeover(status=done)
    status = watched.copy_with(phase=TakeoverPhase.WATCHING)
    return Takeover(status=status, waits=_message(status, settings, until=until), until=until)


def _is_adopted(observation: Observation, runs: Collection[RunStatus], active: Collection[ActiveJob]) -> bool:
    """Tell whether no run of ours is named; a recreated resource continues with its operator's table."""
    snapshot = observation.snapshot
    is_known = runs or active or observation.table.status.left_behind
    marks = (*snapshot.marks, *snapshot.planned)
    return not is_known and not any(mark.operator in {None, observation.operator} for mark in marks)


def _is_left_to_others(observation: Observation, before: TakeoverStatus) -> bool:
    """Whether others write again to a taken-over table while it is only observed."""
    known = observation.table.status.timeline
    verified = known.verified_up_to if known else None
    is_observed = observation.table.spec.management_policy is ManagementPolicy.OBSERVE
    if before.phase is not TakeoverPhase.DONE or not is_observed or verified is None:
        return False
    snapshot, timeline = observation.snapshot, observation.snapshot.timeline
    assert timeline is not None, "only a table is watched"
    marked = (one.instant for one in snapshot.marks if not is_ours(one, observation))
    unmarked = (one for one in snapshot.unmarked if not may_lack_mark(one, snapshot, timeline))
    damaged = (one.instant for one in snapshot.damaged)  # their author is unknown
    return any(one.completion > verified for one in (*marked, *unmarked, *damaged))


def _watched(before: TakeoverStatus | None, snapshot: TimelineSnapshot, *, now: datetime) -> TakeoverStatus:
    """Return since when the table is unchanged; a remembered time in the future is ignored."""
    seen = _fingerprint(snapshot)
    since = parse_time(before.since) if before is not None and before.seen == seen else None
    still = since if since is not None and since <= now else now
    return TakeoverStatus(since=format_time(still), seen=seen, writers=tuple(_writers(snapshot)))


def _fingerprint(snapshot: TimelineSnapshot) -> str:
    """Return a hash of the newest instant, the number of instants, the pending instants, and all heartbeats.

    The number reveals archivals and deleted savepoints, which leave no instant.
    """
    timeline = snapshot.timeline
    assert timeline is not None, "only a table is watched"
    newest = max((max(one.time, one.completion) for one in timeline.instants), default="")
    pending = sorted((one.time, one.action.value, one.state.value) for one in timeline.pending)
    seen = repr((newest, len(timeline.instants), timeline.properties.version, pending, sorted(snapshot.heartbeats)))
    return hashlib.sha256(seen.encode()).hexdigest()[:32]


def _writers(snapshot: TimelineSnapshot) -> Iterator[str]:
    """Describe possible writers: pending instants, and the pace of the newest commits."""
    timeline = snapshot.timeline
    assert timeline is not None, "only a table is watched"
    beats = dict(snapshot.heartbeats)
    for one in timeline.pending[-_PENDING_NAMED:]:
        beat = beats.get(one.time)
        sign = "no heartbeat"
        if beat is not None:
            sign = f"a heartbeat of {format_time(datetime.fromtimestamp(beat / 1000, UTC))}"
        yield f"{one.action.value} {one.time} is {one.state.value.lower()}, with {sign}"[:_WRITER_LIMIT]
    more = len(timeline.pending) - _PENDING_NAMED
    if more > 0:
        yield f"{more} more instants are pending"
    yield from _pace(snapshot, timeline)


def _pace(snapshot: TimelineSnapshot, timeline: Timeline) -> Iterator[str]:
    commits = [one for one in timeline.completed if one.action in COMMITS]
    if not commits:
        return
    newest = sorted(commits, key=lambda one: one.completion)[-10:]
    last = newest[-1]
    text = f"{last.action.value} {last.time}"
    operation = dict(snapshot.operations).get(last.time)
    if operation is not None:
        text += f" ({operation})"
    text += " is the newest commit"
    moments = sorted(moment for one in newest if (moment := instant_time(one.time)) is not None)
    gaps = [following - one for one, following in pairwise(moments)]
    if len(gaps) > 1:
        pace = timedelta(seconds=median(gap.total_seconds() for gap in gaps))
        text += f"; of the newest {len(newest)}, a commit came about every {_length(pace)}"
    yield text[:_WRITER_LIMIT]


def _length(gap: timedelta) -> str:
    seconds = int(gap.total_seconds())
    if seconds < 2 * 60:
        return f"{seconds}s"
    if gap < timedelta(hours=2):
        return f"{round(seconds / 60)}m"
    return f"{round(seconds / 3600)}h" if gap < _LONGEST_SHOWN else f"{gap.days} days"


def _message(status: TakeoverStatus, settings: TakeoverSettings, *, until: datetime) -> str:
    seen = f" Seen: {'; '.join(status.writers)}." if status.writers else ""
    return (
        f"Others wrote this table, so nothing starts until it has been quiet for {settings.quiet_for}. It has been "
        f"quiet since {status.since} and is taken over at {format_time(until)} if it stays so.{seen} Stop every other "
        "writer, or let all of them write under a lock (spec.concurrency.mode: Optimistic)."
    )[: WRITERS_NAMED * _WRITER_LIMIT]
