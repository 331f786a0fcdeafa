"""Which pending instants ended runs of a table have left behind, and how certain that is.

A write names no run before it completes. So a driver tells what instants its JVM makes while a batch is under way
(`Progress.made`, and `TaskResult.made` where the batch failed): what is pending under such a name is the run's, however
it ended and whatever else is pending. Without that it is told by the interval in which only the run may have
written, which is said only where it can be nobody else's.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import ConcurrencyMode, OperationKind, Outcome, RepairStep, Service
from hudi_operator.api.status.left import LeftInstant
from hudi_operator.api.status.table import PENDING_REMEMBERED, ActiveJob, RunStatus
from hudi_operator.api.status.takeover import Protection
from hudi_operator.planning.model import START_TROUBLES, Observation
from hudi_operator.planning.model.reasons import RunRemark, RunTrouble
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.runs.continuous import progress_of, told
from hudi_operator.planning.runs.tracking import own_job
from hudi_operator.planning.runs.windows import known_runs
from hudi_operator.services.inside import services_inside
from hudi_operator.timeline import PendingInstant, PendingKind, pending_instants

_NEVER_STARTED = frozenset({*START_TROUBLES, RunTrouble.JOB_REFUSED})
_WRITING = frozenset({OperationKind.ERASE, OperationKind.RESTORE, OperationKind.ROLLBACK})
"""Operations that make a commit: of deletes, or of the checkpoint from before."""
_WRITING_STEPS = frozenset({RepairStep.DEDUPLICATE})
_FIRST_CYCLE = frozenset({Protection.WANTED, Protection.KEPT})
_MAY_LEAVE_WORK = frozenset({Outcome.FAILED, Outcome.FENCED})
"""A run that found nothing to do or gave way has left nothing; one that succeeded has finished its own write."""


def left_behind(observation: Observation, finished: Iterable[RunStatus], *, now: datetime) -> tuple[LeftInstant, ...]:
    """Return the pending instants that ended runs of this table began: those known before, and those just found.

    Nothing is forgotten before the timeline holds it no longer, however many runs fail meanwhile.
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
    """Return an instant with an end that has come: one that has not is of another clock, and was seen by now."""
    ended = parse_time(left.ended_at)
    return left.model_copy(update={"ended_at": format_time(now)}) if ended is not None and ended > now else left


def _of_a_run_that_lived_on(
    pending: Iterable[PendingInstant], observation: Observation, *, now: datetime
) -> Iterator[LeftInstant]:
    """Yield what the driver of a run has named that was seen to end before: its pod was removed, and not its process.

    It may live, and then holds the lease of the table, on which the next run gives way to it.
    """
    document, status = observation.snapshot.progress, observation.table.status
    runs = {run.job for run in known_runs(status.services, status.history)}
    if document is None or document.run not in runs or document.run in {job.name for job in status.active_jobs}:
        return
    for one in pending:
        if one.kind is PendingKind.WRITE and one.instant.time in document.made:
            yield LeftInstant(time=one.instant.time, run=document.run, ended_at=format_time(now))


def is_new_since(job: ActiveJob, pending: PendingInstant, *, is_serialized: bool, newest: str | None = None) -> bool:
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


@dataclass(frozen=True)
class _Told:
    """What is told of the instants of an ended run: `named` by its driver, and those of them that are certainly `dead`.

    `newest` is the newest one of its JVM, None where it left none.
    """

    named: frozenset[str]
    dead: frozenset[str]
    newest: str | None


def _told_of(job: ActiveJob, observation: Observation) -> _Told:
    """Return what is told of the instants of an ended run.

    A driver's report is that of its pod. Its document may be that of another pod of the same Job, which lives; and what
    a Job says of a service that a driver does for it, anybody may say who can write to the table's folder.
    """
    own = own_job(job, observation)
    result = own.outcome.results[0] if own is not None and own.outcome and own.outcome.results else None
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
    """Yield what an ended run has left: what its driver has named, and what else may be nobody else's."""
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
    """Return what a run may have begun and left, beside its `own`: what was not pending when it was decided.

    A batch makes one write, so beside one that is named none is guessed.
    In a Serialized table nobody checks a heartbeat before a write is rolled back that is certainly dead, so a write
    counts only if it can be nobody else's: a run makes one write, shows no heartbeat there unless it does services
    beside its batches, and says up to where its instants may be, by the `newest`. A run that said nothing is not
    believed to have made a write in the first cycle after a takeover.
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
    """Tell whether what was begun while a run was at work on a Serialized table can be nobody else's."""
    takeover = observation.table.status.takeover
    is_new = takeover is not None and takeover.protection in _FIRST_CYCLE
    beats = job.live is not None and bool(services_inside(observation.table.spec) or _takes(job, observation))
    shown = set() if beats else {time for time, _ in observation.snapshot.heartbeats}
    return len(writes) == 1 and shown.isdisjoint(writes) and not (newest is None and is_new)


def _takes(job: ActiveJob, observation: Observation) -> bool:
    live = told(job, observation.snapshot).live
    return live is not None and bool(live.takes)


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


def _makes_writes(job: ActiveJob) -> bool:
    """Whether a Job makes writes of its own: an ingestion, and an operation that writes."""
    operation = job.operation
    if operation is None:
        return job.service is Service.INGESTION
    if operation.dry_run:
        return False
    return operation.kind in _WRITING or (operation.repair is not None and operation.repair.step in _WRITING_STEPS)
