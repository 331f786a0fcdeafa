"""Finds the pending instants that ended runs left behind, who owns them, and when the operator may clean them up.

A write names no run before it completes. So a driver reports the instants of its JVM while a batch is in progress
(`Progress.made`, and `TaskResult.made` after a failed batch): a pending instant with such a name belongs to the run,
however it ended and whatever else is pending. Without a report, the interval in which only the run may have written
decides, and only if no other writer is possible.

Hudi itself takes over any pending work: it rolls a pending clustering back before executing it, and deletes a write's
files outside the lock, while a living driver needs only its inflight file to commit. So the operator handles only
instants that a run of this table began and no longer works on, and instants that no process can be working on any more.

Ownership never compares two clocks. An instant's age counts from the operator's first sight, by its own clock; a
heartbeat, which the store dates, counts for longer by the possible difference of the clocks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hudi_jobs.contract import ConcurrencyMode, OperationKind, Outcome, RepairStep, Service
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.status.runs import PENDING_REMEMBERED, ActiveJob, RunStatus
from hudi_operator.api.status.table_parts import Protection
from hudi_operator.api.status.timeline import LeftInstant
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.runs.affected import SKEW, known_runs
from hudi_operator.planning.facts.runs.continuous import progress_of, with_live_progress
from hudi_operator.planning.facts.runs.tracking import own_job
from hudi_operator.planning.facts.writers.ownership import is_ours
from hudi_operator.planning.model import START_TROUBLES, Observation
from hudi_operator.planning.model.reasons import RunRemark, RunTrouble
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.services.registry import PLAN_KINDS, SERVICES, mode_of, service_of, services_inside
from hudi_operator.timeline import PendingInstant, PendingKind, State, pending_instants

_NEVER_STARTED = frozenset({*START_TROUBLES, RunTrouble.JOB_REFUSED})
_WRITING = frozenset({OperationKind.ERASE, OperationKind.RESTORE, OperationKind.ROLLBACK})
"""Operations that make a commit: of deletes, or of the earlier checkpoint."""
_WRITING_STEPS = frozenset({RepairStep.DEDUPLICATE})
_FIRST_CYCLE = frozenset({Protection.WANTED, Protection.KEPT})
_MAY_LEAVE_WORK = frozenset({Outcome.FAILED, Outcome.FENCED})
"""A run with nothing to do, or that gave way, left no instant; a successful run has finished its own write."""


def left_behind(observation: Observation, finished: Iterable[RunStatus], *, now: datetime) -> tuple[LeftInstant, ...]:
    """Return the pending instants that ended runs of this table began, known and newly found.

    An instant is remembered until the timeline no longer holds it, however many runs fail meanwhile.
    """
    status, timeline = observation.table.status, observation.snapshot.timeline
    noted = {time: LeftInstant(time=time) for time in status.left_behind}
    known = noted | {one.time: _not_later(one, now=now) for one in status.left_by}
    if timeline is None:
        return tuple(known.values())[:PENDING_REMEMBERED]
    decided = {job.name: job for job in status.active_jobs}
    pending = pending_instants(timeline)
    found = {
        one.time: one
        for run in finished
        if run.job in decided
        for one in _left_by(run, decided[run.job], pending, observation=observation, now=now)
    }
    left = {**found, **known}
    left = {**{one.time: one for one in _of_a_run_that_lived_on(pending, observation, now=now)}, **left}
    times = (one.instant.time for one in pending)
    return tuple(left[time] for time in times if time in left)[:PENDING_REMEMBERED]


def _not_later(left: LeftInstant, *, now: datetime) -> LeftInstant:
    """Return the instant with an end no later than now: a later end comes from another clock."""
    ended = parse_time(left.ended_at)
    return left.copy_with(ended_at=format_time(now)) if ended is not None and ended > now else left


def _of_a_run_that_lived_on(
    pending: Iterable[PendingInstant], observation: Observation, *, now: datetime
) -> Iterator[LeftInstant]:
    """Yield the instants of a run whose pod was removed but whose process wrote on.

    The process may live and hold the table's lease; the next run gives way to it.
    """
    document, status = observation.snapshot.progress, observation.table.status
    runs = {run.job for run in known_runs(status.services, status.history)}
    if document is None or document.run not in runs or document.run in {job.name for job in status.active_jobs}:
        return
    for one in pending:
        if one.kind is PendingKind.WRITE and one.instant.time in document.made:
            yield LeftInstant(time=one.instant.time, run=document.run, ended_at=format_time(now))


def is_new_since(job: ActiveJob, pending: PendingInstant, *, is_serialized: bool, newest: str | None = None) -> bool:
    """Whether an instant appeared while a Job ran, and is of a kind that the Job makes.

    `newest` is the newest commit of a continuous run, whose writes are sequential: an older write is not its own.
    Ingestions and some operations make writes. Beside other writers, only a clean or rollback by a table service
    counts: plans name their runs, and the next driver checks a write's heartbeat once more.
    """
    if job.pending is None or pending.instant.time in job.pending:
        return False
    if pending.kind is PendingKind.WRITE:
        return _makes_writes(job) and (newest is None or pending.instant.time > newest)
    return is_serialized or (pending.kind is PendingKind.OTHER and job.service not in {None, Service.INGESTION})


@dataclass(frozen=True)
class _Told:
    """The reported instants of an ended run: `named` by its driver.

    `dead`: the subset whose writer is known to have exited. Ignore any heartbeat file it left behind. `newest` is the
    newest instant of its JVM, None if it left none.
    """

    named: frozenset[str]
    dead: frozenset[str]
    newest: str | None


def _told_of(job: ActiveJob, observation: Observation) -> _Told:
    """Return the reported instants of an ended run.

    A driver's report belongs to its own pod. The progress document may come from another, living pod of the same Job;
    and anyone with write access to the table's folder can forge a report of a service done by another driver.
    """
    own = own_job(job, observation)
    result = own.result if own is not None else None
    newest = result.newest_instant if result is not None else None
    if not _makes_writes(job):
        return _Told(named=frozenset(), dead=frozenset(), newest=newest)
    document, before = progress_of(job, observation.snapshot), frozenset(job.pending or ())
    reported = frozenset(result.made if result is not None else ()) - before
    written = frozenset(document.made if document is not None else ()) - before
    has_ended = own is not None and own.seen_to_end
    is_of_its_pod = own is not None and document is not None and document.pod in own.pods
    dead = reported | (written if is_of_its_pod else frozenset()) if has_ended else frozenset()
    return _Told(named=reported | written, dead=dead, newest=newest)


def _left_by(
    run: RunStatus, job: ActiveJob, pending: Sequence[PendingInstant], *, observation: Observation, now: datetime
) -> Iterator[LeftInstant]:
    """Yield the instants an ended run left: those its driver named, and others that can belong to no other writer."""
    said = _told_of(job, observation)
    writes = frozenset(one.instant.time for one in pending if one.kind is PendingKind.WRITE)
    own = writes & said.named
    for time in own | _may_be_left(run, job, pending, own=own, newest=said.newest, observation=observation):
        yield LeftInstant(time=time, run=run.job, ended_at=format_time(now), dead=time in own & said.dead)


def _may_be_left(
    run: RunStatus,
    job: ActiveJob,
    pending: Sequence[PendingInstant],
    *,
    own: frozenset[str],
    newest: str | None,
    observation: Observation,
) -> frozenset[str]:
    """Return further instants a run may have left, beside its `own`: those not pending when it was decided.

    A batch makes one write, so next to a named write none is guessed. In a Serialized table a write known to be dead is
    rolled back without a heartbeat check, so a write counts only if no one else can own it: a run makes one write,
    shows no heartbeat there unless it runs services between its batches, and its `newest` bounds its instants. A silent
    run is not assumed to have written in the first cycle after a takeover.
    """
    is_serialized = observation.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    left = [
        one
        for one in pending
        if _may_have_left(run, job, one, is_serialized=is_serialized)
        and is_new_since(job, one, is_serialized=is_serialized, newest=run.instant if job.live else None)
        and (newest is None or one.instant.time <= newest)
    ]
    times = frozenset(one.instant.time for one in left)
    writes = {one.instant.time for one in left if one.kind is PendingKind.WRITE}
    if own or (is_serialized and writes and not _is_the_runs(job, writes, newest=newest, observation=observation)):
        return times - writes
    return times


def _is_the_runs(job: ActiveJob, writes: Collection[str], *, newest: str | None, observation: Observation) -> bool:
    """Tell whether writes begun during a run on a Serialized table can belong to no other writer."""
    takeover = observation.table.status.takeover
    is_new = takeover is not None and takeover.protection in _FIRST_CYCLE
    beats = job.live is not None and bool(services_inside(observation.table.spec) or _takes(job, observation))
    shown = set() if beats else {time for time, _ in observation.snapshot.heartbeats}
    return len(writes) == 1 and shown.isdisjoint(writes) and not (newest is None and is_new)


def _takes(job: ActiveJob, observation: Observation) -> bool:
    live = with_live_progress(job, observation.snapshot).live
    return live is not None and bool(live.takes)


def _may_have_left(run: RunStatus, job: ActiveJob, pending: PendingInstant, *, is_serialized: bool) -> bool:
    """Tell whether a run may have begun an instant; a successful run may still fail after its commit."""
    if run.reason == RunRemark.DRAINED:
        return _was_at_work(run, job)  # its pod may have been killed during its last batch
    if run.outcome is Outcome.SUCCEEDED:
        return is_serialized and pending.kind is not PendingKind.WRITE
    return run.outcome in _MAY_LEAVE_WORK and run.reason not in _NEVER_STARTED


def _was_at_work(run: RunStatus, job: ActiveJob) -> bool:
    """Whether a continuous driver was seen running or left any trace; otherwise no instant is its own."""
    seen = job.live is not None and (job.live.running_since is not None or job.live.state is not None)
    return seen or run.instant is not None or bool(run.batches)


def _makes_writes(job: ActiveJob) -> bool:
    """Whether a Job makes writes of its own: an ingestion, or a writing operation."""
    operation = job.operation
    if operation is None:
        return job.service is Service.INGESTION
    if operation.dry_run:
        return False
    return operation.kind in _WRITING or (operation.repair is not None and operation.repair.step in _WRITING_STEPS)


HEARTBEAT_TOLERANCE = timedelta(seconds=120)
"""How long Hudi considers a writer alive after its last heartbeat (`hoodie.client.heartbeat.interval_in_ms` and
misses).
"""
HEARTBEAT_MARGIN = timedelta(seconds=40)
"""The additional time that a heartbeat counts: a driver, which compares it with its lease, adds half a minute."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """The evidence on who owns pending instants.

    `planned` maps plans to the runs they name, `made` are the instants that the driver of an active run reports for its
    current batch, `heartbeats` maps instants to their last heartbeat in milliseconds since 1970. `left_behind` are the
    instants that ended runs of this table began.
    """

    is_serialized: bool
    alarm: timedelta
    active: tuple[ActiveJob, ...] = ()
    left_behind: Mapping[str, LeftInstant] = field(default_factory=dict)
    planned: Mapping[str, str]
    made: frozenset[str] = frozenset()
    heartbeats: Mapping[str, int]
    disabled: frozenset[Service] = frozenset()

    def is_busy(self, pending: PendingInstant) -> bool:
        """Whether a running Job of this table may be working on an instant.

        A service's instant left by an ended run, done for it by a continuous driver, is not that driver's current work.
        """
        time = pending.instant.time
        if time in self.made and pending.kind is PendingKind.WRITE:
            return True
        is_left = time in self.left_behind and pending.kind is not PendingKind.WRITE
        return any(
            job.name == self.planned.get(time)
            or (
                not (is_left and job.live is not None)
                and is_new_since(job, pending, is_serialized=self.is_serialized, newest=_newest_commit(job))
            )
            for job in self.active
        )

    def is_ours(self, pending: PendingInstant) -> bool:
        """Whether a run of this table began an instant."""
        time = pending.instant.time
        return time in self.left_behind or time in self.planned or self.is_busy(pending)

    def left_alone_until(self, pending: PendingInstant, seen_at: datetime, *, now: datetime) -> datetime | None:
        """Return until when to leave an instant alone; None if no one else can be working on it.

        By contract only this table's runs write to a Serialized table, so a plan that no one has begun there is taken
        over. A begun instant of unknown origin is left alone even there: its writer may live.
        """
        if self.is_ours(pending):
            return self._may_live_until(pending, now=now)
        if self.is_serialized and _is_unclaimed_plan(pending) and service_of(pending) not in self.disabled:
            return None
        overdue = seen_at + self.alarm
        if now < overdue:
            return overdue
        sign = self.heartbeats.get(pending.instant.time)
        dead = None if sign is None else datetime.fromtimestamp(sign / 1000, UTC) + HEARTBEAT_TOLERANCE + SKEW
        return dead if dead is not None and now < dead else None

    def _may_live_until(self, pending: PendingInstant, *, now: datetime) -> datetime | None:
        """Return until when the writer of a left instant may live; None if it is dead.

        If its process was not seen to end, the heartbeat decides, as in the driver. Without a heartbeat there is
        nothing to wait for: a living process holds its run's lease.
        """
        left = self.left_behind.get(pending.instant.time)
        if left is None or left.dead or pending.kind is not PendingKind.WRITE:
            return None
        ended = parse_time(left.ended_at)
        if ended is None or pending.instant.time not in self.heartbeats:
            return None
        dead = ended + HEARTBEAT_TOLERANCE + HEARTBEAT_MARGIN
        return dead if now < dead else None


def watch_of(
    observation: Observation,
    table_class: HudiTableClassSpec,
    *,
    active: tuple[ActiveJob, ...],
    left_behind: Iterable[LeftInstant],
) -> Watch:
    """Return the evidence on who began which instant."""
    spec, snapshot = observation.table.spec, observation.snapshot
    return Watch(
        is_serialized=spec.concurrency.mode is ConcurrencyMode.SERIALIZED,
        alarm=parse_duration(table_class.pending_instant_alarm),
        active=active,
        left_behind={one.time: one for one in left_behind},
        planned={one.instant.time: one.run for one in snapshot.planned if is_ours(one, observation)},
        made=frozenset(
            time for job in active if (told := progress_of(job, snapshot)) is not None for time in told.made
        ),
        heartbeats=dict(snapshot.heartbeats),
        disabled=frozenset(service for service in SERVICES if mode_of(spec, service) is ServiceMode.DISABLED),
    )


def _newest_commit(job: ActiveJob) -> str | None:
    return job.live.instant if job.live is not None else None


def _is_unclaimed_plan(pending: PendingInstant) -> bool:
    return pending.kind in PLAN_KINDS and pending.instant.state is State.REQUESTED
