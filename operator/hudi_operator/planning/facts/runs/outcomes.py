"""Concludes a run: the driver's word, checked against the timeline.

The timeline decides. A run whose instant completed in the timeline has succeeded, whatever its pod said; a run that
claims a missing instant has failed. Archival and the removal of a savepoint complete no instant: there only the
driver's word counts.
"""

from datetime import datetime, timedelta

from hudi_jobs.contract import FailureReason, Outcome, SavepointStep, SavepointWork, Service, TaskResult
from hudi_jobs.contract.wording import counted
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.runs.confirmation import confirmed_instant, may_be_damaged
from hudi_operator.planning.facts.runs.continuous_end import conclude_continuous
from hudi_operator.planning.facts.runs.ended import ended_run
from hudi_operator.planning.facts.runs.restored import is_restored
from hudi_operator.planning.model import START_TROUBLES, Failure, JobObservation, Mark, PodTrouble, TimelineSnapshot
from hudi_operator.planning.model.reasons import Retry, RunTrouble
from hudi_operator.planning.model.registry import words
from hudi_operator.planning.model.times import parse_time
from hudi_operator.services.registry import leaves_no_instant
from hudi_operator.timeline import Action

SHORTEST_STAY = timedelta(minutes=1)
"""The shortest time that a finished Job exists: the least `job.ttlAfterFinished` of a class."""

_GAVE_WAY = words((Outcome,), Retry.CONFLICT)

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
