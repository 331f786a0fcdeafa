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
    # Where a pod outlives an earlier Job of the same name, the one that is not over counts.
    observed = {job.name: job for job in sorted(observation.jobs, key=lambda job: job.phase is not JobPhase.OVER)}
    active: list[ActiveJob] = []
    finished: list[RunStatus] = []
    actions: list[Action] = []
    for job in remembered:
        found = observed.get(job.name)
        if found is None and job.uid is None:
            if _may_still_be_created(job, observation, now=now):
                actions.append(CreateJob(job=job))
                active.append(job)
            continue
        if found is not None and found.phase is not JobPhase.OVER:
            active.append(refreshed(job, found))
            if _must_stop(found, observation, desired_image=desired_image, now=now):
                actions.append(StopJob(job=active[-1], uid=found.uid))
            continue
        run = conclude(job, observed=found, look=observation.look, now=now)
        if run is None:
            active.append(job if found is None else refreshed(job, found))
        else:
            finished.append(run)
    names = {job.name for job in remembered}
    active += [adopted(job) for job in observation.jobs if job.name not in names and job.phase is not JobPhase.OVER]
    return Tracked(active=tuple(active), finished=tuple(finished), actions=tuple(actions))


def _may_still_be_created(job: ActiveJob, observation: Observation, *, now: datetime) -> bool:
    spec = observation.table.spec
    if observation.obstacles or spec.suspend or spec.management_policy is ManagementPolicy.OBSERVE:
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
        return job.model_copy(update={"uid": found.uid})  # stopped for this trouble: what it will be remembered for
    state = found.trouble.value if found.trouble is not None else found.phase.value
    message = found.message[:500] if found.trouble is not None else ""
    return job.model_copy(update={"uid": found.uid, "state": state, "message": message})


def adopted(found: JobObservation) -> ActiveJob:
    """Return the memory of a Job that status has forgotten."""
    job = ActiveJob(
        name=found.name,
        service=found.service,
        attempt=found.attempt,
        started_at=format_time(found.created_at),
        base_instant=found.base_instant,
        driver_memory=found.driver_memory,
    )
    return refreshed(job, found)
