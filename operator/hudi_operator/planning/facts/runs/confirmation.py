"""Confirms a run's work in the timeline."""

from hudi_jobs.contract import Outcome, Service, TaskResult
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.services.ingestion import INGESTION
from hudi_operator.services.registry import definition_of
from hudi_operator.timeline import Instant, Timeline


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
