"""Whose a pending instant is, and until when it is left alone.

Hudi itself takes over what it finds: it rolls a pending clustering back before it executes it, and deletes files of a
write outside of the lock, while a driver that lives needs only its inflight file to commit. So the operator deals only
with what a run of this table has begun and no longer works on, and with what nobody can be at work on any more.

No two clocks are compared to tell whose an instant is. How long one has been there counts from when the operator first
saw it, by its own clock; a heartbeat, which the store dates, counts for longer by what the two clocks may differ.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hudi_jobs.contract import ConcurrencyMode, OperationKind, Outcome, RepairStep, Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.table import PENDING_REMEMBERED, ActiveJob, RunStatus
from hudi_operator.api.status.takeover import Protection
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.model import START_TROUBLES, Observation
from hudi_operator.planning.model.reasons import RunRemark, RunTrouble
from hudi_operator.planning.runs.continuous import told
from hudi_operator.planning.runs.windows import SKEW
from hudi_operator.planning.writers.ownership import is_ours
from hudi_operator.services.inside import services_inside
from hudi_operator.services.registry import PLAN_KINDS, SERVICES, mode_of, service_of
from hudi_operator.timeline import PendingInstant, PendingKind, State, pending_instants

HEARTBEAT_TOLERANCE = timedelta(seconds=120)
"""How long Hudi takes a writer for alive after its last sign (`hoodie.client.heartbeat.interval_in_ms` and misses)."""

_NEVER_STARTED = frozenset({*START_TROUBLES, RunTrouble.JOB_REFUSED})
_WRITING = frozenset({OperationKind.ERASE, OperationKind.RESTORE, OperationKind.ROLLBACK})
"""Operations that make a commit: of deletes, or of the checkpoint from before."""
_WRITING_STEPS = frozenset({RepairStep.DEDUPLICATE})
_FIRST_CYCLE = frozenset({Protection.WANTED, Protection.KEPT})
_MAY_LEAVE_WORK = frozenset({Outcome.FAILED, Outcome.FENCED})
"""A run that found nothing to do or gave way has left nothing; one that succeeded has finished its own write."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What tells whose pending instants are.

    `planned` maps plans to the runs that they name, `heartbeats` instants to their last sign in milliseconds since
    1970. `left_behind` are instants that ended runs of this table began.
    """

    is_serialized: bool
    alarm: timedelta
    active: tuple[ActiveJob, ...] = ()
    left_behind: frozenset[str] = frozenset()
    planned: Mapping[str, str]
    heartbeats: Mapping[str, int]
    disabled: frozenset[Service] = frozenset()

    def is_busy(self, pending: PendingInstant) -> bool:
        """Whether a Job of this table that still runs may be at work on an instant.

        What an ended run has left of a service, which a continuous driver did for it, is not the driver's own.
        """
        time = pending.instant.time
        is_left = time in self.left_behind and pending.kind is not PendingKind.WRITE
        return any(
            job.name == self.planned.get(time)
            or (
                not (is_left and job.live is not None)
                and _is_new_since(job, pending, is_serialized=self.is_serialized, newest=_newest_commit(job))
            )
            for job in self.active
        )

    def is_ours(self, pending: PendingInstant) -> bool:
        """Whether a run of this table began an instant."""
        time = pending.instant.time
        return time in self.left_behind or time in self.planned or self.is_busy(pending)

    def left_alone_until(self, pending: PendingInstant, seen_at: datetime, *, now: datetime) -> datetime | None:
        """Return until when an instant is left alone; None when nobody else can be at work on it.

        Nobody else writes to a serialized table by contract, so a plan there that nobody has begun to execute is taken
        over. What has been begun by nobody that is known is left alone there too: it may live.
        """
        if self.is_ours(pending):
            return None
        if self.is_serialized and _is_unclaimed_plan(pending) and service_of(pending) not in self.disabled:
            return None
        overdue = seen_at + self.alarm
        if now < overdue:
            return overdue
        sign = self.heartbeats.get(pending.instant.time)
        dead = None if sign is None else datetime.fromtimestamp(sign / 1000, UTC) + HEARTBEAT_TOLERANCE + SKEW
        return dead if dead is not None and now < dead else None


def watch_of(
    observation: Observation,
    table_class: HudiTableClassSpec,
    *,
    active: tuple[ActiveJob, ...],
    left_behind: Iterable[str],
) -> Watch:
    """Return what is known about who began what."""
    spec, snapshot = observation.table.spec, observation.snapshot
    return Watch(
        is_serialized=spec.concurrency.mode is ConcurrencyMode.SERIALIZED,
        alarm=parse_duration(table_class.pending_instant_alarm),
        active=active,
        left_behind=frozenset(left_behind),
        planned={
            one.instant.time: one.run for one in snapshot.planned if is_ours(one, observation, runs=(), sure=False)
        },
        heartbeats=dict(snapshot.heartbeats),
        disabled=frozenset(service for service in SERVICES if mode_of(spec, service) is ServiceMode.DISABLED),
    )


def left_behind(observation: Observation, finished: Iterable[RunStatus]) -> tuple[str, ...]:
    """Return the pending instants that ended runs of this table began: those known before, and those just found.

    What is pending when a run has ended and was not when it was decided may be the run's own. Nothing is forgotten
    before the timeline holds it no longer, however many runs fail meanwhile.
    """
    known, timeline = observation.table.status.left_behind, observation.snapshot.timeline
    if timeline is None:
        return known
    decided = {job.name: job for job in observation.table.status.active_jobs}
    pending = pending_instants(timeline)
    found = {
        time
        for run in finished
        if run.job in decided
        for time in _left_by(run, decided[run.job], pending, observation=observation)
    }
    left = (one.instant.time for one in pending if one.instant.time in known or one.instant.time in found)
    return tuple(left)[:PENDING_REMEMBERED]


def _left_by(
    run: RunStatus, job: ActiveJob, pending: Iterable[PendingInstant], *, observation: Observation
) -> frozenset[str]:
    """Return what an ended run may have begun and left.

    In a Serialized table nobody checks a heartbeat before a write is rolled back, so a write counts only if it can be
    nobody else's: a run makes one write, shows no heartbeat there unless it does services beside its batches, and says
    up to where its instants may be. A run that said nothing is not believed to have made a write in the first cycle
    after a takeover.
    """
    is_serialized = observation.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    newest = _newest_made(observation, run.job)
    left = [
        one
        for one in pending
        if _may_have_left(run, job, one, is_serialized=is_serialized)
        and _is_new_since(job, one, is_serialized=is_serialized, newest=run.instant if job.live else None)
        and (newest is None or one.instant.time <= newest)
    ]
    writes = {one.instant.time for one in left if one.kind is PendingKind.WRITE}
    if is_serialized and writes:
        takeover = observation.table.status.takeover
        is_new = takeover is not None and takeover.protection in _FIRST_CYCLE
        beats = job.live is not None and bool(services_inside(observation.table.spec) or _takes(job, observation))
        shown = set() if beats else {time for time, _ in observation.snapshot.heartbeats}
        if len(writes) > 1 or writes & shown or (newest is None and is_new):
            return frozenset(one.instant.time for one in left) - writes
    return frozenset(one.instant.time for one in left)


def _takes(job: ActiveJob, observation: Observation) -> bool:
    live = told(job, observation.snapshot).live
    return live is not None and bool(live.takes)


def _newest_made(observation: Observation, job: str) -> str | None:
    """Return the newest instant that a run has made by its own word; None where it left none."""
    outcome = next((one.outcome for one in observation.jobs if one.name == job), None)
    return outcome.results[0].newest_instant if outcome and outcome.results else None


def _may_have_left(run: RunStatus, job: ActiveJob, pending: PendingInstant, *, is_serialized: bool) -> bool:
    """Tell whether a run may have begun an instant; what follows its commit may fail although it has succeeded."""
    if run.reason == RunRemark.DRAINED:
        return _was_at_work(run, job)  # its pod may have been killed within its last batch
    if run.outcome is Outcome.SUCCEEDED:
        return is_serialized and pending.kind is not PendingKind.WRITE
    return run.outcome in _MAY_LEAVE_WORK and run.reason not in _NEVER_STARTED


def _was_at_work(run: RunStatus, job: ActiveJob) -> bool:
    """Whether a continuous driver was seen to run, or has left any sign of it: what it was not cannot be its own."""
    seen = job.live is not None and (job.live.running_since is not None or job.live.state is not None)
    return seen or run.instant is not None or bool(run.batches)


def _newest_commit(job: ActiveJob) -> str | None:
    return job.live.instant if job.live is not None else None


def _is_new_since(job: ActiveJob, pending: PendingInstant, *, is_serialized: bool, newest: str | None = None) -> bool:
    """Whether an instant came while a Job was at work and is of a kind that it makes.

    `newest` is the newest commit of a continuous run, whose writes come one after another: none that is older is its.
    A write is made by an ingestion, and by some operations. Beside others the rest is said only of a clean or rollback
    by a table service: plans name their runs, and its run's driver checks the heartbeat of a write once more.
    """
    if job.pending is None or pending.instant.time in job.pending:
        return False
    if pending.kind is PendingKind.WRITE:
        return _makes_writes(job) and (newest is None or pending.instant.time > newest)
    return is_serialized or (pending.kind is PendingKind.OTHER and job.service not in {None, Service.INGESTION})


def _makes_writes(job: ActiveJob) -> bool:
    """Whether a Job makes writes of its own: an ingestion, and an operation that writes."""
    operation = job.operation
    if operation is None:
        return job.service is Service.INGESTION
    return operation.kind in _WRITING or (operation.repair is not None and operation.repair.step in _WRITING_STEPS)


def _is_unclaimed_plan(pending: PendingInstant) -> bool:
    return pending.kind in PLAN_KINDS and pending.instant.state is State.REQUESTED
