"""What became of a run: the driver's word, checked against the timeline.

The timeline decides. A run whose commit is in the timeline has succeeded, whatever its pod said; a run that claims a
commit that is not there has failed.
"""

from datetime import datetime

from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_operator.api.table_status import ActiveJob, RunStatus
from hudi_operator.planning.model import START_TROUBLES, Failure, JobObservation, PodTrouble, TimelineLook
from hudi_operator.planning.times import format_time

NOT_CONFIRMED = "NotConfirmed"
DRIVER_DIED = "DriverDied"
JOB_LOST = "JobLost"
MESSAGE_LIMIT = 1000

_OUT_OF_MEMORY_EXIT = 3  # how a JVM ends by -XX:+ExitOnOutOfMemoryError


def conclude(job: ActiveJob, *, observed: JobObservation | None, look: TimelineLook, now: datetime) -> RunStatus | None:
    """Return how a run ended, or None while that cannot be confirmed because the timeline cannot be read.

    `observed` is the finished Job, or None when it has vanished.
    """
    result = _result(observed)
    if result is not None and result.outcome is Outcome.NOTHING_TO_DO:
        return _run(job, outcome=Outcome.NOTHING_TO_DO, result=result, now=now, message=result.message)
    if look.trouble is not None:
        return None
    instant = look.instant_of(job.name)
    if instant is not None:
        message = _success_message(result)
        return _run(job, outcome=Outcome.SUCCEEDED, result=result, now=now, message=message, instant=instant)
    failure = _failure(job, observed=observed, result=result)
    return _run(job, outcome=Outcome.FAILED, result=result, now=now, message=failure.message, reason=failure.reason)


def _result(observed: JobObservation | None) -> TaskResult | None:
    if observed is None or observed.outcome is None or not observed.outcome.results:
        return None
    return observed.outcome.results[0]


def _success_message(result: TaskResult | None) -> str:
    if result is None or result.outcome is not Outcome.SUCCEEDED:
        return "The driver ended before it could report, and its commit is in the timeline."
    return result.message


def _failure(job: ActiveJob, *, observed: JobObservation | None, result: TaskResult | None) -> Failure:
    if result is not None and result.outcome is Outcome.FAILED:
        return Failure(reason=result.reason or FailureReason.INTERNAL_ERROR, message=result.message)
    if result is not None:
        return Failure(
            reason=NOT_CONFIRMED,
            message="The driver reported success, but the timeline holds no commit of this run: "
            "look at who else writes or restores the table.",
        )
    if observed is None:
        return _lost(job)
    return _died(observed)


def _lost(job: ActiveJob) -> Failure:
    if job.state in START_TROUBLES:
        message = f"Job {job.name} could not start in time and was given up: {job.message or job.state}"
        return Failure(reason=job.state, message=message)
    if job.state in set(PodTrouble):
        return Failure(reason=job.state, message=f"Job {job.name} vanished after its pod had ended: {job.message}")
    return Failure(
        reason=JOB_LOST,
        message=f"Job {job.name} vanished before it reported: somebody deleted it, or its time ran out.",
    )


def _died(observed: JobObservation) -> Failure:
    if observed.trouble is PodTrouble.OUT_OF_MEMORY or observed.exit_code == _OUT_OF_MEMORY_EXIT:
        return Failure(
            reason=FailureReason.OUT_OF_MEMORY,
            message=f"The driver ran out of memory with {observed.driver_memory or 'its'} memory.",
        )
    if observed.trouble is not None:
        return Failure(
            reason=observed.trouble, message=observed.message or f"The driver's pod ended: {observed.trouble}."
        )
    code = "unknown" if observed.exit_code is None else str(observed.exit_code)
    return Failure(
        reason=DRIVER_DIED,
        message=f"The driver ended with exit code {code} and no report; the log of Job {observed.name} says more.",
    )


def _run(
    job: ActiveJob,
    *,
    outcome: Outcome,
    result: TaskResult | None,
    now: datetime,
    message: str,
    reason: str | None = None,
    instant: str | None = None,
) -> RunStatus:
    return RunStatus(
        job=job.name,
        service=job.service,
        outcome=outcome,
        reason=reason,
        message=message[:MESSAGE_LIMIT],
        instant=instant,
        started_at=job.started_at,
        finished_at=format_time(now),
        files_read=result.files_read if result else None,
        bytes_read=result.bytes_read if result else None,
        rows_read=result.rows_read if result else None,
        rows_quarantined=result.rows_quarantined if result else None,
    )
