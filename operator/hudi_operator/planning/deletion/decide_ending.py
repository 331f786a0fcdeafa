"""The end of a table: step by step, until a deleted resource may be removed.

All Jobs of the table end first. Then, with `deletionPolicy: Delete`, a Job removes the data: the operator itself can
only read the store. Every path ends. Data that a bounded number of attempts and a bounded time cannot remove stays, and
an Event says where it is and why.

Progress is kept only in the status, so that the next process continues here: the Job in `activeJobs`, its attempts in
`history`.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_jobs.contract.table.facts import SLICES_FIELD, ZONE_FIELD
from hudi_jobs.contract.table.location import canonical_path, is_below_bucket
from hudi_operator.api.spec.table import DeletionPolicy, ManagementPolicy
from hudi_operator.api.spec.table_class import JobQuota, JobSettings, RetrySettings
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.jobs.names import job_name
from hudi_operator.planning.deletion.attempts import (
    SHORT_REQUEUE,
    Attempts,
    EndingObservation,
    last_attempt,
    with_newest,
)
from hudi_operator.planning.facts.drift import drift_between
from hudi_operator.planning.facts.runs.affected import known_runs
from hudi_operator.planning.facts.runs.outcomes import refused_run
from hudi_operator.planning.facts.runs.tracking import adopted, given_up, starts_late
from hudi_operator.planning.facts.writers.ownership import elsewhere, taken_over_from
from hudi_operator.planning.model import (
    START_TROUBLES,
    Action,
    JobObservation,
    JobPhase,
    LaunchJob,
    Release,
    RemoveExecutors,
    StopJob,
    TimelineTrouble,
)
from hudi_operator.planning.model.reasons import EndingEvent, EndingReason, RunTrouble
from hudi_operator.planning.model.times import format_time, parse_time, retry_delay
from hudi_operator.planning.outcome.status.build import with_message
from hudi_operator.planning.outcome.status.conditions import ConditionMaker
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import Transition

_ENDS_DELETION = frozenset({FailureReason.INVALID_REQUEST, FailureReason.TABLE_MISMATCH, FailureReason.OWNED_ELSEWHERE})
"""Failures after which the data of a deleted table stays at once."""

ATTEMPTS = 5
"""After this many failed attempts to remove the data, it stays."""

PATIENCE = timedelta(minutes=10)
"""How long to wait for obstacles to removing the data; an attempt in progress may take longer."""

_LONG_REQUEUE = 10.0
_UNKNOWN = frozenset({TimelineTrouble.ACCESS_DENIED, TimelineTrouble.UNREACHABLE, TimelineTrouble.NOT_OBSERVED})
_OF_INSTANTS = frozenset({ZONE_FIELD, SLICES_FIELD})


def awaits_confirmation(status: HudiTableStatus) -> bool:
    """Whether the newest run reported that the data is gone, so that the store must be checked."""
    last = last_attempt(status.history)
    return last is not None and last.outcome is not Outcome.FAILED


def decide_ending(seen: EndingObservation, *, now: datetime) -> Step:
    """Return the next step of a table's end."""
    seen = replace(seen, jobs=tuple(given_up(job) if _is_given_up(job, seen, now=now) else job for job in seen.jobs))
    known = Attempts.of(seen, now=now)
    if known.live:
        return _wait_for_jobs(seen, known, now=now)
    if known.finished:
        return _wait(
            seen,
            known,
            reason=EndingReason.CONFIRMING_DELETION if not known.failures else EndingReason.DELETION_FAILED,
            message=known.finished[-1].message,
            now=now,
        )
    if any(job.remains for job in seen.jobs):
        return _wait_for_jobs(seen, known, now=now)
    if awaits_confirmation(seen.status):
        return _confirm(seen, known, now=now)
    if seen.policy is not DeletionPolicy.DELETE:
        return _end(seen, Release(reason=EndingEvent.DATA_RETAINED, message=f"The data at {seen.base_path} stays."))
    why = _withheld(seen) or _given_up(seen, known, now=now)
    return _retain(seen, why) if why is not None else _delete(seen, known, now=now)


def refused_ending(seen: EndingObservation, job: ActiveJob, *, message: str, now: datetime) -> Step:
    """Return the step after the API server refused a deletion Job: a failed attempt.

    The observed status is the status that recorded the intent.
    """
    run = refused_run(job, message=message, now=now)
    known = Attempts(finished=(run,), history=with_newest(run, seen.status.history))
    return _wait(seen, known, reason=EndingReason.DELETION_FAILED, message=run.message, now=now)


def _wait_for_jobs(seen: EndingObservation, known: Attempts, *, now: datetime) -> Step:
    deletes = bool(known.live) and all(job.service is Service.DELETION for job in known.live)
    if deletes and seen.policy is DeletionPolicy.DELETE:
        job = known.active[0]
        message = f"Job {job.name} removes the data at {seen.base_path}: {job.message or job.state}"
        reason, pause = EndingReason.DELETING_DATA, _LONG_REQUEUE
    else:
        left = known.live or tuple(job for job in seen.jobs if job.remains)
        why = next((job.message for job in left if job.phase is JobPhase.ENDING), "")
        message = f"Waiting for the pods of {', '.join(job.name for job in left)} to end. {why}".rstrip()
        reason, pause = EndingReason.STOPPING_JOBS, SHORT_REQUEUE
    stop = tuple(_stop(job) for job in seen.jobs if _must_stop(job, seen, now=now))
    return _wait(seen, known, reason=reason, message=message, actions=stop, requeue=pause, now=now)


def _stop(job: JobObservation) -> Action:
    if job.executors:
        return RemoveExecutors(job=adopted(job), pods=job.executors)
    return StopJob(job=adopted(job), uid=job.uid)


def _must_stop(job: JobObservation, seen: EndingObservation, *, now: datetime) -> bool:
    if job.phase in {JobPhase.ENDING, JobPhase.OVER}:
        return job.remains or bool(job.executors)
    return not _is_wanted(job, seen) or _is_given_up(job, seen, now=now)


def _is_wanted(job: JobObservation, seen: EndingObservation) -> bool:
    return job.service is Service.DELETION and seen.policy is DeletionPolicy.DELETE


def _is_given_up(job: JobObservation, seen: EndingObservation, *, now: datetime) -> bool:
    """Whether a deletion Job is stopped because it does not start, or a queue holds it for too long."""
    if not _is_wanted(job, seen) or job.phase not in {JobPhase.STARTING, JobPhase.SUSPENDED}:
        return False
    settings = seen.table_class.spec.job if seen.table_class is not None else JobSettings()
    hopeless = job.trouble in START_TROUBLES or job.phase is JobPhase.SUSPENDED
    return starts_late(job, settings, now=now) or (hopeless and _patience_is_over(seen, now=now))


def _confirm(seen: EndingObservation, known: Attempts, *, now: datetime) -> Step:
    last = last_attempt(known.history)
    snapshot = seen.snapshot
    if last is None or snapshot is None:
        return _wait(seen, known, reason=EndingReason.CONFIRMING_DELETION, message="", now=now)
    if snapshot.trouble is None and snapshot.timeline is None:
        message = f"The data at {seen.base_path} was deleted. {last.message}".strip()
        return _end(seen, Release(reason=EndingEvent.DATA_DELETED, message=message))
    if snapshot.trouble in _UNKNOWN:
        reported = parse_time(last.finished_at) or now
        if now - reported > PATIENCE:
            message = (
                f"A run reported that it deleted the data at {seen.base_path}, but the store could not be read to "
                f"confirm it. Check the path yourself. {snapshot.message}"
            )
            return _end(seen, Release(reason=EndingEvent.DELETION_NOT_CONFIRMED, message=message, warning=True))
        message = (
            f"A run reported that it deleted the data, but the store cannot be read to confirm it: {snapshot.message}"
        )
        return _wait(
            seen, known, reason=EndingReason.CONFIRMING_DELETION, message=message, requeue=_LONG_REQUEUE, now=now
        )
    message = f"Job {last.job} reported that it deleted the data, but {seen.base_path} still holds a Hudi table."
    run = last.copy_with(
        outcome=Outcome.FAILED,
        reason=RunTrouble.NOT_CONFIRMED,
        message=message,
        finished_at=format_time(now),
    )
    # Replaces the run's own report, which was wrong.
    history = tuple(run if one is last else one for one in known.history)
    after = Attempts(history=history)
    return _wait(seen, after, reason=EndingReason.DELETION_FAILED, message=message, now=now)


def _withheld(seen: EndingObservation) -> str | None:
    """Return why this table's data must not be removed, or None."""
    return next(_reasons_to_withhold(seen), None)


def _reasons_to_withhold(seen: EndingObservation) -> Iterator[str]:
    if not is_below_bucket(canonical_path(seen.base_path)):
        yield "basePath is not a folder below a bucket."
    if not seen.claim_held:
        yield "this resource does not hold the claim on basePath, so the folder may be another table's."
    if (owned := _owned_elsewhere(seen)) is not None:
        yield owned
    drift = drift_between(seen.table, seen.snapshot) if seen.table is not None and seen.snapshot is not None else ()
    # A deletion makes no instant, so it needs no zone and no file slices.
    fields = ", ".join(one.field for one in drift if one.stops_everything and one.field not in _OF_INSTANTS)
    if fields:
        yield f"the table at basePath differs from the spec ({fields}), so it may be another table."
    if seen.namespace_terminating:
        yield "its namespace is being deleted, so no job can start there."
    if seen.table is not None and seen.table.spec.management_policy is ManagementPolicy.OBSERVE:
        yield "the table is only observed (spec.managementPolicy)."
    if (suspension := seen.suspended_by) is not None:
        yield f"the table is suspended by {suspension.cause}, so no job starts."
    if seen.namespace is None:
        yield "its namespace cannot be read, so the operator does not know whether the namespace suspends the table."


def _owned_elsewhere(seen: EndingObservation) -> str | None:
    if seen.snapshot is None:
        return None
    known = {job.name for job in seen.status.active_jobs} | {job.name for job in seen.jobs}
    known |= {run.job for run in known_runs(seen.status.services, seen.status.history)}
    take_over = taken_over_from(seen.status)
    return elsewhere(seen.snapshot, operator=seen.operator, status=seen.status, known=known, take_over=take_over)


def _given_up(seen: EndingObservation, known: Attempts, *, now: datetime) -> str | None:
    last = last_attempt(known.history)
    if last is not None and last.reason in _ENDS_DELETION:
        return last.message
    if known.failures >= ATTEMPTS:
        return f"{known.failures} attempts failed. Last failure: {last.message if last else ''}"
    if not _patience_is_over(seen, now=now):
        return None
    if seen.blockers:
        return seen.blockers[0].message
    return f"its deletion took too long, and the last attempt failed: {last.message}" if last else None


def _delete(seen: EndingObservation, known: Attempts, *, now: datetime) -> Step:
    if seen.blockers:
        minutes = int(PATIENCE.total_seconds() // 60)
        message = (
            f"The data at {seen.base_path} cannot be deleted: {seen.blockers[0].message} If this lasts for {minutes} "
            "minutes, the data stays and the resource is removed."
        )
        return _wait(seen, known, reason=EndingReason.DELETION_BLOCKED, message=message, requeue=_LONG_REQUEUE, now=now)
    if _limit_is_reached(seen):
        message = "The class's limit on running jobs is reached: the deletion of the data waits for a job to end."
        return _wait(seen, known, reason=EndingReason.DELETING_DATA, message=message, requeue=_LONG_REQUEUE, now=now)
    last = last_attempt(known.history)
    if last is not None:
        settings = seen.table_class.spec.retry if seen.table_class is not None else RetrySettings()
        due = (parse_time(last.finished_at) or now) + retry_delay(known.failures, settings)
        if now < due:
            message = f"Attempt {known.failures} failed; the next one is at {format_time(due)}. {last.message}"
            wait = min((due - now).total_seconds(), _LONG_REQUEUE)
            return _wait(seen, known, reason=EndingReason.DELETION_FAILED, message=message, requeue=wait, now=now)
    return _launch(seen, known, now=now)


def _limit_is_reached(seen: EndingObservation) -> bool:
    limits = seen.table_class.spec.job_quota if seen.table_class is not None else JobQuota()
    pairs = (
        (seen.running_in_class, limits.running_jobs),
        (seen.running_in_namespace, limits.running_jobs_per_namespace),
    )
    return any(most is not None and running >= most for running, most in pairs)


def _launch(seen: EndingObservation, known: Attempts, *, now: datetime) -> Step:
    job = _intended(seen) or _decided(seen, known, now=now)
    with_job = Attempts(active=(job,), history=known.history)
    message = f"Job {job.name} removes the data at {seen.base_path}: {job.state}"
    return _wait(
        seen,
        with_job,
        reason=EndingReason.DELETING_DATA,
        message=message,
        actions=(LaunchJob(job=job),),
        requeue=_LONG_REQUEUE,
        now=now,
    )


def _intended(seen: EndingObservation) -> ActiveJob | None:
    """Return the decided attempt that has no Job yet."""
    taken = {job.name for job in seen.jobs}
    intents = (job for job in seen.status.active_jobs if job.service is Service.DELETION and job.uid is None)
    return next((job for job in intents if job.name not in taken), None)


def _decided(seen: EndingObservation, known: Attempts, *, now: datetime) -> ActiveJob:
    attempt, last = known.failures + 1, last_attempt(known.history)
    return ActiveJob(
        name=job_name(
            table_name=seen.metadata.name,
            table_uid=seen.metadata.uid,
            service=Service.DELETION,
            # Includes the time, so that a Job missing from the status is never taken for this Job.
            decision=(seen.metadata.deletion_timestamp, format_time(now), attempt, last.job if last else None),
            taken={job.name for job in seen.jobs},
        ),
        service=Service.DELETION,
        attempt=attempt,
        started_at=format_time(now),
        generation=seen.metadata.generation,
    )


def _wait(
    seen: EndingObservation,
    known: Attempts,
    *,
    reason: EndingReason,
    message: str,
    now: datetime,
    actions: tuple[Action, ...] = (),
    requeue: float = SHORT_REQUEUE,
) -> Step:
    conditions = _conditions(seen, reason=reason, message=message, now=now)
    before = next((one.reason for one in seen.status.conditions if one.type is ConditionType.READY), None)
    worth_telling = reason in {EndingReason.DELETION_BLOCKED, EndingReason.DELETION_FAILED} and before != reason
    return Step(
        status=seen.status.copy_with(
            observed_generation=seen.metadata.generation,
            message=message[:512],
            summary=with_message(seen.status.summary, message),
            conditions=conditions,
            active_jobs=known.active,
            history=known.history,
        ),
        finished=known.finished,
        notices=(Transition(warning=True, reason=reason, message=message),) if worth_telling else (),
        actions=actions,
        class_name=seen.table_class.metadata.name if seen.table_class is not None else "",
        running=len(known.active),
        requeue=requeue,
    )


def _conditions(seen: EndingObservation, *, reason: EndingReason, message: str, now: datetime) -> tuple[Condition, ...]:
    make = ConditionMaker(generation=seen.metadata.generation, now=now)
    made = (
        make(ConditionType.READY, ConditionStatus.FALSE, reason, message),
        make(ConditionType.RECONCILING, ConditionStatus.TRUE, reason, message),
    )
    replaced = {ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED}
    return (
        *(condition.carried_over(seen.status.conditions) for condition in made),
        *(one for one in seen.status.conditions if one.type not in replaced),
    )


def _retain(seen: EndingObservation, why: str) -> Step:
    message = (
        f"The data at {seen.base_path} stays although spec.deletionPolicy is Delete: {why} If the data is not needed, "
        "remove the folder, or declare the table again and delete it once the cause is gone."
    )
    return _end(seen, Release(reason=EndingEvent.DATA_RETAINED, message=message, warning=True))


def _end(seen: EndingObservation, release: Release) -> Step:
    return Step(status=seen.status, actions=(release,))


def _patience_is_over(seen: EndingObservation, *, now: datetime) -> bool:
    began = parse_time(seen.metadata.deletion_timestamp)
    return began is not None and now - began > PATIENCE + _last_batch(seen)


def _last_batch(seen: EndingObservation) -> timedelta:
    """Return how long a continuous ingestion may take to end before the data can be removed."""
    ingestion = seen.table.spec.ingestion if seen.table is not None else None
    if ingestion is None or not ingestion.continues or seen.table_class is None:
        return timedelta()
    return parse_duration(seen.table_class.spec.job.drain_timeout)
