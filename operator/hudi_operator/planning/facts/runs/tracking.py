"""Tracks decided Jobs: still requested, running, ended, or in need of action."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from hudi_jobs.contract import SavepointWork, Service
from hudi_operator.api.resources import ObjectMetadata
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.spec.table_class import JobSettings
from hudi_operator.api.status.runs import ActiveJob, LiveStatus, RunStatus
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.facts.drift import drift_of, stops
from hudi_operator.planning.facts.runs.affected import with_affected
from hudi_operator.planning.facts.runs.continuous import STOPPED, followed, with_live_progress
from hudi_operator.planning.facts.runs.cost import with_cost
from hudi_operator.planning.facts.runs.outcomes import SHORTEST_STAY, conclude, shows_work
from hudi_operator.planning.facts.runs.shown_progress import with_shown_progress
from hudi_operator.planning.model import (
    START_TROUBLES,
    Action,
    CreateJob,
    JobObservation,
    JobPhase,
    Observation,
    PodTrouble,
    RemoveExecutors,
    StopJob,
)
from hudi_operator.planning.model.times import format_time, parse_time


def is_asked_for(job: ActiveJob, observation: Observation) -> bool:
    """Whether a run's resource exists and still wants the decided work; True for runs without a resource."""
    if job.service is Service.OPERATION:
        return job.operation is not None and _is_operation_asked_for(job.operation, observation)
    named = job.named_savepoint
    if named is None:
        return job.service is not Service.SAVEPOINT
    found = (one.metadata for one in observation.related.savepoints)
    metadata = next((one for one in found if one.uid == named.uid), None)
    if metadata is None:
        return False
    return named.work is SavepointWork.REMOVE or metadata.deletion_timestamp is None


def _is_operation_asked_for(operation: NamedOperationJob, observation: Observation) -> bool:
    return operation.only_recorded or is_wanted(operation.uid, observation)


def is_wanted(uid: str, observation: Observation) -> bool:
    """Whether an operation's resource exists and is not being deleted, even if unparsable; likewise its table."""
    metadata = operation_metadata(uid, observation)
    is_there = metadata is not None and metadata.deletion_timestamp is None
    return is_there and observation.metadata.deletion_timestamp is None


def operation_metadata(uid: str, observation: Observation) -> ObjectMetadata | None:
    """Return the metadata of an operation's resource, even if the rest cannot be parsed."""
    return next((each for each in observation.related.metadata_of_operations() if each.uid == uid), None)


def withdrawal_of(job: ActiveJob, observation: Observation) -> str | None:
    """Return why an operation's run, if it started now, would be unwanted; None if it is wanted.

    A record of an earlier run's start may be mere doubt: the next run only finishes what a record shows. A run that has
    reported anything had a pod, whatever the queue says: it may be running in another cluster. Every name in the status
    is looked up, so a missing operation is gone. An unparsable operation exists.
    """
    operation, told = job.operation, observation.snapshot.told
    if operation is None or operation.only_recorded:
        return None
    if told is not None and (told.uid, told.run) == (operation.uid, job.name):
        return None
    if observation.metadata.deletion_timestamp is not None:
        return "The HudiTable was deleted while a queue held the Job."
    if is_wanted(operation.uid, observation):
        return None
    named = [one for one in observation.related.metadata_of_operations() if one.name == operation.resource]
    is_looked_up = any(one.uid == operation.uid for one in observation.table.status.operations)
    if any(one.uid for one in named) or (not named and is_looked_up):
        return "The HudiOperation was deleted while a queue held its Job."
    return None


_MESSAGE_LIMIT = 500

_MOST_ACTIVE = 8
"""The most Jobs in a status; forged Jobs may add to a table's."""

_GIVEN_UP = frozenset({*START_TROUBLES, PodTrouble.NO_EXECUTORS})
"""States of a Job that the operator has stopped because it did not start."""

_CREATION_GRACE = timedelta(minutes=2)
"""How late a Job with a recorded intent may still be created; after that the schedule decides again."""


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """The state of the decided Jobs; `late_at` is when the next of them exceeds its start timeout."""

    active: tuple[ActiveJob, ...]
    finished: tuple[RunStatus, ...]
    actions: tuple[Action, ...]
    late_at: datetime | None = None


def track(observation: Observation, *, desired_image: str, now: datetime) -> Tracked:
    """Compare the remembered Jobs with the existing ones.

    A running Job missing from the status is adopted, because a table must never have two. A finished Job missing from
    the status was processed before.
    """
    remembered = observation.table.status.active_jobs
    active: list[ActiveJob] = []
    finished: list[RunStatus] = []
    actions: list[Action] = []
    for job in map(partial(_with_service, observation=observation), remembered):
        own, living = _found(job, observation)
        if living is not None:
            its = job if living is own else None
            living, stops = _as_remembered(living, observation, job=its, desired_image=desired_image, now=now)
            known = refreshed(job, living) if own or job.uid else adopted(living)
            known = _with_stop(known, living if its is not None else None, stops=stops, now=now)
            known = followed(known, living, observation, now=now)
            active.append(with_shown_progress(known, observation.snapshot, now=now))
            actions += [StopJob(job=active[-1], uid=living.uid, version=living.held_version)] if stops else []
        elif job.service is Service.DELETION:
            continue  # never decided: this table is not being deleted
        elif own is None and _is_only_decided(job, observation, now=now):
            if _may_still_be_created(job, observation, now=now):
                actions.append(CreateJob(job=job))
                active.append(job)
        elif (run := _concluded(job, own, observation, now=now)) is not None:
            finished.append(run)
        else:
            active.append(_with_stop(refreshed(job, own), own, stops=False, now=now) if own else job)
    names = {job.name for job in remembered}
    forgotten = {job.name: job for job in observation.jobs if job.name not in names and job.phase is not JobPhase.OVER}
    for found in forgotten.values():
        living, stops = _as_remembered(found, observation, job=None, desired_image=desired_image, now=now)
        active.append(followed(adopted(living), living, observation, now=now))
        actions += [StopJob(job=active[-1], uid=living.uid)] if stops else []
    actions += _removals(observation.jobs, active)
    return Tracked(
        active=tuple(active[:_MOST_ACTIVE]),
        finished=tuple(finished),
        actions=tuple(actions),
        late_at=_next_late(observation, now=now),
    )


def _concluded(
    job: ActiveJob, own: JobObservation | None, observation: Observation, *, now: datetime
) -> RunStatus | None:
    snapshot = observation.snapshot
    run = conclude(with_live_progress(job, snapshot), observed=own, snapshot=snapshot, now=now)
    if run is None:
        return None
    run = with_affected(run, job, own, observation)
    return with_cost(run, job, own, snapshot, table=observation.table, table_class=observation.table_class, now=now)


def _with_service(job: ActiveJob, *, observation: Observation) -> ActiveJob:
    """Return a Job with the service in its label, if a version without that service lost it."""
    own, _ = _found(job, observation) if job.service is None else (None, None)
    return job.copy_with(service=own.service) if own is not None else job


def _as_remembered(
    found: JobObservation, observation: Observation, *, job: ActiveJob | None, desired_image: str, now: datetime
) -> tuple[JobObservation, bool]:
    """Return an active Job as it will be remembered, and whether to stop it.

    `job` is the decided Job, if this Job is certain to be it.
    """
    if job is not None and found.held_version is not None:
        message = withdrawal_of(job, observation)
        if message is not None:
            return replace(found, trouble=PodTrouble.WITHDRAWN, message=message), True
    stops = _must_stop(found, observation, desired_image=desired_image, now=now)
    return given_up(found) if stops else found, stops


def _with_stop(job: ActiveJob, own: JobObservation | None, *, stops: bool, now: datetime) -> ActiveJob:
    """Return an operation's Job with the time of its last stop request; cleared once a driver may have run."""
    if own is None or job.operation is None:
        return job
    is_kept = own.phase in {JobPhase.ENDING, JobPhase.OVER}
    stopped_at = format_time(now) if stops else job.stopped_at if is_kept else None
    return job.copy_with(stopped_at=None if own.has_run else stopped_at)


def _next_late(observation: Observation, *, now: datetime) -> datetime | None:
    settings = _job_settings(observation)
    moments = (late_from(job, settings) for job in observation.jobs if _waits(job))
    return min((moment for moment in moments if moment > now), default=None)


def _removals(jobs: Iterable[JobObservation], active: Iterable[ActiveJob]) -> Iterator[Action]:
    """Yield the removals of run remnants: executors without a driver, Jobs kept only by foreign containers.

    The status records the end of such a Job first, because deleting it loses its outcome.
    """
    unconcluded = {job.name: job for job in active}
    for found in jobs:
        if found.executors:
            yield RemoveExecutors(job=unconcluded.get(found.name) or adopted(found), pods=found.executors)
        if found.remains and found.name not in unconcluded:
            yield StopJob(job=adopted(found), uid=found.uid)


def _found(job: ActiveJob, observation: Observation) -> tuple[JobObservation | None, JobObservation | None]:
    """Return a remembered run's own Job, and the unfinished Job or pod of its name, preferring its own."""
    own = own_job(job, observation)
    living = [found for found in observation.jobs if found.name == job.name and found.phase is not JobPhase.OVER]
    return own, own if own in living else next(iter(living), None)


def own_job(job: ActiveJob, observation: Observation) -> JobObservation | None:
    """Return a remembered run's own Job, not merely a Job of its name."""
    return next((found for found in observation.jobs if found.name == job.name and is_of_run(found, job)), None)


def is_of_run(found: JobObservation, job: ActiveJob) -> bool:
    """Whether a Job with a remembered run's name was created for that run.

    Before its uid is known, the time of the decision tells, if the Job holds it.
    """
    if job.uid is not None:
        return found.uid == job.uid
    return found.decided_at in {None, job.started_at}


def _is_only_decided(job: ActiveJob, observation: Observation, *, now: datetime) -> bool:
    """Whether a missing Job is still to be created, or can be forgotten.

    A HudiOperation's Job, except a dry run, cannot be forgotten once it may have been created, run and vanished.
    """
    if job.uid is not None or observation.snapshot.instant_of(job.name) is not None:
        return False
    if job.operation is None or job.operation.dry_run:
        return True
    if _may_still_be_created(job, observation, now=now):
        return True
    decided_at = parse_time(job.started_at)
    is_young = decided_at is not None and now - decided_at < SHORTEST_STAY
    return is_young and not shows_work(job, observation.snapshot)


def _may_still_be_created(job: ActiveJob, observation: Observation, *, now: datetime) -> bool:
    unread = any(part.startswith("activeJobs.") for part in observation.table.unreadable)
    if job.service is None or unread or not is_asked_for(job, observation):
        return False  # only a later version of the operator knows its service, or nobody asks for it
    spec, spec_generation = observation.table.spec, observation.table.metadata.generation
    # a person asks for an operation by name
    suspended = observation.suspended_by is not None and job.service is not Service.OPERATION
    if observation.blockers or suspended or spec.management_policy is ManagementPolicy.OBSERVE:
        return False
    if stops(drift_of(observation)):
        return False
    snapshot = observation.snapshot
    if job.generation not in {None, spec_generation} or snapshot.trouble is not None or snapshot.damaged:
        return False  # the Job would differ, or may have existed and done its work
    if any(found.name == job.name for found in observation.jobs):
        return False
    started = parse_time(job.started_at)
    return started is not None and now - started < _CREATION_GRACE


def _must_stop(found: JobObservation, observation: Observation, *, desired_image: str, now: datetime) -> bool:
    if found.phase is JobPhase.STARTING and found.trouble in START_TROUBLES and found.image != desired_image:
        return True
    return starts_late(found, _job_settings(observation), now=now)


def _job_settings(observation: Observation) -> JobSettings:
    return observation.table_class.spec.job if observation.table_class else JobSettings()


def starts_late(found: JobObservation, settings: JobSettings, *, now: datetime) -> bool:
    """Whether a Job's pod, or all its executors, have exceeded the class's start timeout, for whatever reason."""
    return _waits(found) and now >= late_from(found, settings)


def late_from(found: JobObservation, settings: JobSettings) -> datetime:
    """Return the end of the start timeout of a Job's pod, or of its executors."""
    since = found.executors_wait_since or found.waiting_since or found.created_at
    return since + parse_duration(settings.start_timeout)


def _waits(found: JobObservation) -> bool:
    return found.phase is JobPhase.STARTING or found.trouble is PodTrouble.EXECUTORS_WAITING


def given_up(found: JobObservation) -> JobObservation:
    """Return a Job stopped before it started, with the trouble to remember."""
    if found.trouble is PodTrouble.EXECUTORS_WAITING:
        return replace(found, trouble=PodTrouble.NO_EXECUTORS)
    message = found.message or "its pod has not started."
    return replace(found, trouble=found.trouble or PodTrouble.START_TIMEOUT, message=message)


def refreshed(job: ActiveJob, found: JobObservation) -> ActiveJob:
    """Return a remembered Job with its current observation."""
    if job.running_since is None and found.started_at is not None:
        job = job.copy_with(running_since=format_time(found.started_at))
    if found.phase is JobPhase.ENDING and found.trouble is None and job.state in _GIVEN_UP:
        # Stopped for this trouble: keep it.
        return job.copy_with(uid=job.uid or found.uid)
    is_ending = found.phase in {JobPhase.ENDING, JobPhase.OVER}
    is_withdrawn = job.state == PodTrouble.WITHDRAWN and not found.has_run
    if is_ending and (is_withdrawn or (job.live is not None and job.state in STOPPED)):
        return job.copy_with(uid=job.uid or found.uid)  # likewise
    service = job.service or found.service  # an earlier version's status may have lost it
    live = job.live or _live(found)
    state = found.trouble.value if found.trouble is not None else found.phase.value
    message = found.message[:_MESSAGE_LIMIT]
    return job.copy_with(uid=job.uid or found.uid, service=service, live=live, state=state, message=message)


def _live(found: JobObservation) -> LiveStatus | None:
    return LiveStatus(class_version=found.class_version) if found.class_version is not None else None


def adopted(found: JobObservation) -> ActiveJob:
    """Return the memory of a Job missing from the status."""
    job = ActiveJob(
        name=found.name,
        service=found.service,
        attempt=found.attempt,
        started_at=found.decided_at or format_time(found.created_at),
        generation=found.generation,
        base_instant=found.base_instant,
        driver_memory=found.driver_memory,
    )
    return refreshed(job, found)
