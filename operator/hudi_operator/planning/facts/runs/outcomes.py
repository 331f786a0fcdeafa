"""Concludes a run: its result, and its driver's word, checked against the timeline.

The timeline decides. A run whose instant completed in the timeline has succeeded, whatever its pod said; a run that
claims a missing instant has failed. Archival and the removal of a savepoint complete no instant: there only the
driver's word counts.
"""

from datetime import datetime, timedelta

from hudi_jobs.contract import (
    GOES_BACK,
    FailureReason,
    OperationPhase,
    Outcome,
    SavepointStep,
    SavepointWork,
    Service,
    TaskResult,
)
from hudi_jobs.contract.wording import counted
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.planning.facts.runs.continuous import DRAINING, cut_names
from hudi_operator.planning.model import START_TROUBLES, Failure, JobObservation, Mark, PodTrouble, TimelineSnapshot
from hudi_operator.planning.model.reason_registry import words
from hudi_operator.planning.model.reasons import Retry, RunRemark, RunTrouble
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.services.ingestion import INGESTION
from hudi_operator.services.registry import definition_of, leaves_no_instant
from hudi_operator.timeline import Action, Instant, Timeline
from hudi_operator.timeline.rules.counters import COMMITS


def shows_work(job: ActiveJob, snapshot: TimelineSnapshot) -> bool:
    """Whether a run has reported past its check, or a restore has appeared since it was decided.

    A lack of traces proves nothing: reports are skipped when the store fails.
    """
    operation, told, timeline = job.operation, snapshot.told, snapshot.timeline
    if operation is None or operation.dry_run:
        return False
    if told is not None and (told.uid, told.run) == (operation.uid, job.name):
        return told.phase is not OperationPhase.CHECKING
    if operation.kind not in GOES_BACK or timeline is None:
        return False
    restores = (one.time for one in timeline.instants if one.action is Action.RESTORE)
    return max(restores, default="") > (job.base_instant or "")


def confirmed_instant(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> str | None:
    """Return the instant that a run completed, or None if the timeline holds none.

    A commit names its run. Table services cannot always leave their name. Their instant is the instant that the driver
    reported, else the pending instant given to the run, else the first of its kind after the newest instant at the
    run's start. A run that reports failure is believed.
    """
    marked = snapshot.instant_of(job.name)
    came_to_nothing = result is not None and result.outcome is not Outcome.SUCCEEDED
    if marked is not None or snapshot.timeline is None or came_to_nothing:
        return marked
    completed = [instant.time for instant in _completed(job.service, snapshot.timeline)]
    reported = result.instant if result is not None else None
    if job.service is Service.INGESTION:
        # With other writers, its commit may be older than the commits whose metadata was read.
        read = {instant.time for instant in snapshot.unmarked} | {time for _, time in snapshot.runs}
        return reported if reported in completed and reported not in read else None
    if reported is not None:
        return reported if reported in completed else None
    if job.instant in completed:
        return job.instant
    return next((time for time in completed if time > (job.base_instant or "")), None)


def may_be_damaged(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> bool:
    """Whether an unreadable commit may belong to an ingestion that reported no instant."""
    reported = result is not None and (result.outcome is not Outcome.SUCCEEDED or result.instant is not None)
    if job.service is not Service.INGESTION or reported or snapshot.instant_of(job.name) is not None:
        return False
    commits = (one.instant for one in snapshot.damaged if one.instant.action in INGESTION.completes)
    return any(one.time > (job.base_instant or "") for one in commits)


def _completed(service: Service | None, timeline: Timeline) -> tuple[Instant, ...]:
    definition = definition_of(service) if service is not None else None
    actions = definition.completes if definition else frozenset()
    return tuple(instant for instant in timeline.completed if instant.action in actions)


def is_restored(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> bool:
    """Whether a run that reports success left no restore pending, and none of the commits it removed."""
    if result is None or result.outcome is not Outcome.SUCCEEDED:
        return False
    timeline, report = snapshot.timeline, result.operation
    if job.operation is None or job.operation.dry_run or timeline is None:
        return True
    removed = set(report.removed) if report is not None else set()
    stays = any(one.time in removed for one in timeline.completed if one.action in COMMITS)
    return not stays and not any(one.action is Action.RESTORE for one in timeline.pending)


MESSAGE_LIMIT = 1000

_FIGURES = (
    "rows_read",
    "rows_quarantined",
    "files_read",
    "bytes_read",
    "records_skipped",
    "file_groups",
    "files_written",
    "files_deleted",
    "bytes_written",
)


def ended_run(
    job: ActiveJob,
    result: TaskResult | None,
    *,
    outcome: Outcome,
    message: str,
    now: datetime,
    reason: str | None = None,
    instant: str | None = None,
    batches: int | None = None,
    mark: Mark | None = None,
) -> RunStatus:
    """Return the run with its result's figures; missing figures come from the continuous driver's earlier reports.

    `mark` is the mark of a batch run's commit, with the figures that outlast its driver.
    """
    figures = {name: _first(name, result, job.live, mark) for name in _FIGURES}
    return RunStatus(
        job=job.name,
        service=job.service,
        outcome=outcome,
        reason=reason,
        message=message[:MESSAGE_LIMIT],
        instant=instant,
        started_at=job.started_at,
        finished_at=format_time(now),
        batches=batches,
        skipped=_skipped(job, result),
        **figures,
    )


def _first(name: str, *sources: object) -> int | None:
    return next((value for one in sources if (value := getattr(one, name, None)) is not None), None)


def _skipped(job: ActiveJob, result: TaskResult | None) -> tuple[str, ...] | None:
    """Return where the run skipped lost messages in a commit."""
    if result is not None and result.records_skipped is not None:
        return cut_names(result.skipped) or None
    return job.live.skipped if job.live is not None else None


_GAVE_WAY = words((Outcome,), Retry.CONFLICT)


def conclude_continuous(
    job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot, failure: Failure, *, now: datetime
) -> RunStatus:
    """Return how a run ended; `failure` is the verdict from its Job and pod alone.

    A run asked to end at a batch boundary has succeeded, even if its pod is gone.
    """
    instant = confirmed_commit(job, result, snapshot)
    batches = (result.batches if result is not None else None) or (job.live.batches if job.live is not None else 0)
    outcome, reason, message = _judged(job, result, failure, has_committed=instant is not None)
    batches = max(batches, int(instant is not None))
    run = ended_run(
        job, result, outcome=outcome, reason=reason, message=message, now=now, instant=instant, batches=batches
    )
    ended_for = job.live.ends_for if job.live is not None and job.state == DRAINING else None
    return run.copy_with(ended_for=ended_for)


def _judged(
    job: ActiveJob, result: TaskResult | None, failure: Failure, *, has_committed: bool
) -> tuple[Outcome, str | None, str]:
    is_over = Outcome.SUCCEEDED if has_committed else Outcome.NOTHING_TO_DO
    was_stopped = result is None or result.reason is FailureReason.INTERRUPTED
    if was_stopped and job.state == DRAINING:
        return is_over, RunRemark.DRAINED, f"Ended by the operator: {job.message}"
    if was_stopped and job.state == RunTrouble.NO_PROGRESS:
        return Outcome.FAILED, RunTrouble.NO_PROGRESS, job.message
    if result is None or result.outcome is Outcome.FAILED:
        return Outcome.FAILED, failure.reason, failure.message
    if result.outcome in _GAVE_WAY:
        return result.outcome, result.reason or result.outcome, result.message
    if result.outcome is Outcome.SUCCEEDED and not has_committed:
        return Outcome.FAILED, failure.reason, failure.message
    reason = RunRemark.DRAINED if job.state == DRAINING else None
    message = f"Ended by the operator: {job.message} {result.message}" if reason else result.message
    return is_over, reason, message


def confirmed_commit(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> str | None:
    """Return a run's newest commit: a commit that names it, or its driver named and the timeline holds.

    A commit older than the active timeline was completed, else it would be pending there.
    """
    marked = snapshot.instant_of(job.name)
    if marked is not None or snapshot.timeline is None:
        return marked
    instants = snapshot.timeline.instants
    named = (result.instant if result is not None else None, job.live.instant if job.live is not None else None)
    first = instants[0].time if instants else ""
    completed = {one.time for one in instants if one.is_completed}
    return next((one for one in named if one is not None and (one in completed or one < first)), None)


SHORTEST_STAY = timedelta(minutes=1)
"""The shortest time that a finished Job exists: the least `job.ttlAfterFinished` of a class."""


_OUT_OF_MEMORY_EXIT = 3  # a JVM's exit code with -XX:+ExitOnOutOfMemoryError


def conclude(
    job: ActiveJob, *, observed: JobObservation | None, snapshot: TimelineSnapshot, now: datetime
) -> RunStatus | None:
    """Return how a run ended, or None while its effect on an unreadable timeline is unknown.

    `observed` is the finished Job, or None if it has vanished.
    """
    result = _result(observed)
    if result is not None and result.outcome is Outcome.NOTHING_TO_DO and job.live is None:
        return ended_run(
            job, result, outcome=Outcome.NOTHING_TO_DO, now=now, message=result.message, reason=result.reason
        )
    is_untold = snapshot.trouble is not None or may_be_damaged(job, result, snapshot)
    if is_untold and not (observed is None and _never_let_go(job, now=now)):
        return None
    if job.live is not None:
        failure = _failure(job, observed=observed, result=result)
        return conclude_continuous(job, result, snapshot, failure, now=now)
    # A commit of an operation's run is only part of its work.
    completes_none = job.savepoint is SavepointStep.REMOVE or job.service is Service.OPERATION
    instant = None if completes_none else confirmed_instant(job, result, snapshot)
    if instant is not None or _needs_no_instant(job, result, snapshot):
        mark = snapshot.mark_of(job.name)
        message = _success_message(result, mark)
        return ended_run(job, result, outcome=Outcome.SUCCEEDED, now=now, message=message, instant=instant, mark=mark)
    if result is not None and result.outcome in _GAVE_WAY:
        reason = result.reason or result.outcome
        return ended_run(job, result, outcome=result.outcome, now=now, message=result.message, reason=reason)
    failure = _failure(job, observed=observed, result=result)
    return ended_run(job, result, outcome=Outcome.FAILED, now=now, message=failure.message, reason=failure.reason)


def _never_let_go(job: ActiveJob, *, now: datetime) -> bool:
    """Whether a queue held a vanished Job so recently that it cannot have run since."""
    stopped_at = parse_time(job.stopped_at)
    is_withdrawn = job.state == PodTrouble.WITHDRAWN
    return is_withdrawn and stopped_at is not None and now - stopped_at < SHORTEST_STAY


def _is_confirmed(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> bool:
    """Whether the timeline shows the result of a HudiSavepoint's run.

    A savepoint has its commit's time, so the run has no instant of its own. A run that reports failure is believed.
    """
    named, timeline = job.named_savepoint, snapshot.timeline
    if named is None or (result is not None and result.outcome is not Outcome.SUCCEEDED):
        return False
    saved = timeline.counters.savepoints if timeline is not None else ()
    if named.work is SavepointWork.MAKE:
        return named.instant in saved
    begun = (one for one in timeline.pending if one.action is Action.SAVEPOINT) if timeline is not None else ()
    return named.instant not in {*saved, *(one.time for one in begun)}


def _needs_no_instant(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> bool:
    if job.named_savepoint is not None:
        return _is_confirmed(job, result, snapshot)
    if job.service is Service.OPERATION:
        return is_restored(job, result, snapshot)
    leaves_none = leaves_no_instant(job.service) or job.savepoint is SavepointStep.REMOVE
    return leaves_none and result is not None and result.outcome is Outcome.SUCCEEDED


def _result(observed: JobObservation | None) -> TaskResult | None:
    return observed.result if observed is not None else None


def _success_message(result: TaskResult | None, mark: Mark | None) -> str:
    if result is not None and result.outcome is Outcome.SUCCEEDED:
        return result.message
    rows = mark.rows_quarantined if mark is not None else None
    quarantined = f" {counted(rows, 'row')} {'was' if rows == 1 else 'were'} quarantined." if rows else ""
    return f"The driver did not report success, but the timeline shows its work as completed.{quarantined}"


def _failure(job: ActiveJob, *, observed: JobObservation | None, result: TaskResult | None) -> Failure:
    if job.state == PodTrouble.NO_EXECUTORS and (result is None or result.outcome is Outcome.FAILED):
        message = f"The run was ended because none of its executors started in time. {job.message}"
        return Failure(reason=PodTrouble.NO_EXECUTORS, message=message)
    if result is not None and result.outcome is Outcome.FAILED:
        return Failure(reason=result.reason or FailureReason.INTERNAL_ERROR, message=result.message)
    if result is not None:
        return Failure(
            reason=RunTrouble.NOT_CONFIRMED,
            message="The driver reported success, but the timeline holds nothing that this run completed: find out "
            "who else writes or restores the table.",
        )
    if observed is None:
        return _lost(job)
    return _died(job, observed)


def _lost(job: ActiveJob) -> Failure:
    if job.state == PodTrouble.WITHDRAWN:
        return Failure(reason=job.state, message=f"Job {job.name} was removed before it had a pod: {job.message}")
    if job.state in START_TROUBLES:
        message = f"Job {job.name} could not start in time and was given up: {job.message or job.state}"
        return Failure(reason=job.state, message=message)
    if job.state in set(PodTrouble):
        return Failure(reason=job.state, message=f"Job {job.name} vanished after its pod had ended: {job.message}")
    if job.uid is None:
        message = f"Job {job.name} was not seen: it was never created, or it ran and disappeared between two looks."
        return Failure(reason=RunTrouble.JOB_LOST, message=message)
    return Failure(
        reason=RunTrouble.JOB_LOST,
        message=f"Job {job.name} vanished before it reported: somebody deleted it, or its time ran out.",
    )


def _died(job: ActiveJob, observed: JobObservation) -> Failure:
    if observed.trouble is PodTrouble.OUT_OF_MEMORY or observed.exit_code == _OUT_OF_MEMORY_EXIT:
        return Failure(
            reason=FailureReason.OUT_OF_MEMORY,
            message=f"The driver ran out of memory with {observed.driver_memory or 'its'} memory.",
        )
    if observed.trouble is not None:
        return Failure(
            reason=observed.trouble, message=observed.message or f"The driver's pod ended: {observed.trouble}."
        )
    if observed.exit_code is None and job.state in set(PodTrouble):
        # A lost node's pod is collected at once, often before its end is seen.
        return Failure(reason=job.state, message=job.message)
    code = "unknown" if observed.exit_code is None else str(observed.exit_code)
    return Failure(
        reason=RunTrouble.DRIVER_DIED,
        message=f"The driver ended with exit code {code} and no report; see the log of Job {observed.name}.",
    )


def refused_run(job: ActiveJob, *, message: str, now: datetime) -> RunStatus:
    """Return the failed run for a refused Job."""
    message = f"The Kubernetes API refused the Job: {message}"
    return ended_run(job, None, outcome=Outcome.FAILED, reason=RunTrouble.JOB_REFUSED, message=message, now=now)
