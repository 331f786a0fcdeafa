"""Jobs that were decided earlier: which still run, which have ended and how, and which must be helped along."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_operator.api.base import parse_duration
from hudi_operator.api.table_spec import ManagementPolicy
from hudi_operator.api.table_status import ActiveJob, RunStatus
from hudi_operator.planning.model import (
    START_TROUBLES,
    Action,
    CreateJob,
    JobObservation,
    JobPhase,
    Observation,
    StopJob,
)
from hudi_operator.planning.outcomes import conclude
from hudi_operator.planning.times import format_time, parse_time

_CREATION_GRACE = timedelta(minutes=2)
"""How long a Job whose intent is recorded may be created late; later the schedule decides anew."""


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """What became of the Jobs that were decided earlier."""

    active: tuple[ActiveJob, ...]
    finished: tuple[RunStatus, ...]
    actions: tuple[Action, ...]


def track(observation: Observation, *, desired_image: str, now: datetime) -> Tracked:
    """Compare the Jobs that status remembers with those that exist.

    A running Job that status has forgotten is adopted, because a table must never have two. A finished one that status
    has forgotten was consumed before.
    """
    remembered = observation.table.status.active_jobs
    active: list[ActiveJob] = []
    finished: list[RunStatus] = []
    actions: list[Action] = []
    for job in remembered:
        own, living = _found(job, observation)
        if living is not None:
            active.append(refreshed(job, living) if own or job.uid else adopted(living))
            if _must_stop(living, observation, desired_image=desired_image, now=now):
                actions.append(StopJob(job=active[-1], uid=living.uid))
        elif own is None and job.uid is None and observation.look.instant_of(job.name) is None:
            if _may_still_be_created(job, observation, now=now):
                actions.append(CreateJob(job=job))
                active.append(job)
        elif (run := conclude(job, observed=own, look=observation.look, now=now)) is not None:
            finished.append(run)
        else:
            active.append(refreshed(job, own) if own else job)
    names = {job.name for job in remembered}
    active += [adopted(job) for job in observation.jobs if job.name not in names and job.phase is not JobPhase.OVER]
    return Tracked(active=tuple(active), finished=tuple(finished), actions=tuple(actions))


def _found(job: ActiveJob, observation: Observation) -> tuple[JobObservation | None, JobObservation | None]:
    """Return the Job of a remembered run, and the Job or pod of its name that is not over: its own before another's."""
    same_name = [found for found in observation.jobs if found.name == job.name]
    own = next((found for found in same_name if is_of_run(found, job)), None)
    living = [found for found in same_name if found.phase is not JobPhase.OVER]
    return own, own if own in living else next(iter(living), None)


def is_of_run(found: JobObservation, job: ActiveJob) -> bool:
    """Whether a Job of the name of a remembered run is the one that was created for it.

    Before its uid is known it is told by when the run was decided; Jobs of earlier versions do not say.
    """
    if job.uid is not None:
        return found.uid == job.uid
    return found.decided_at in {None, job.started_at}


def _may_still_be_created(job: ActiveJob, observation: Observation, *, now: datetime) -> bool:
    spec, spec_generation = observation.table.spec, observation.table.metadata.generation
    if observation.obstacles or spec.suspend or spec.management_policy is ManagementPolicy.OBSERVE:
        return False
    if job.generation not in {None, spec_generation} or observation.look.trouble is not None:
        return False  # the Job would be another one, or has perhaps been there and done its work
    if any(found.name == job.name for found in observation.jobs):
        return False
    started = parse_time(job.started_at)
    return started is not None and now - started < _CREATION_GRACE


def _must_stop(found: JobObservation, observation: Observation, *, desired_image: str, now: datetime) -> bool:
    if found.phase is not JobPhase.STARTING or found.trouble not in START_TROUBLES:
        return False
    if found.image != desired_image:
        return True
    table_class = observation.table_class
    timeout = parse_duration(table_class.spec.job.start_timeout) if table_class else timedelta(minutes=5)
    return now - found.created_at > timeout


def refreshed(job: ActiveJob, found: JobObservation) -> ActiveJob:
    """Return a remembered Job as it is found now."""
    if found.phase is JobPhase.ENDING and found.trouble is None and job.state in START_TROUBLES:
        # Stopped for this trouble: what it will be remembered for.
        return job.model_copy(update={"uid": job.uid or found.uid})
    state = found.trouble.value if found.trouble is not None else found.phase.value
    message = found.message[:500] if found.trouble is not None else ""
    return job.model_copy(update={"uid": job.uid or found.uid, "state": state, "message": message})


def adopted(found: JobObservation) -> ActiveJob:
    """Return the memory of a Job that status has forgotten."""
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
