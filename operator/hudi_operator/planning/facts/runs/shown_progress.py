"""Shows how far a long run is, by the record of its driver's lease, at most once a minute.

A run that has just begun is not asked for, so short runs cost no request, and a status changes once a minute at most.
A continuous ingestion has a document of its own (`continuous.py`).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from hudi_jobs.contract.run_progress import lease_of
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.planning.model.times import format_time, parse_time

_PAUSE = timedelta(minutes=1)
"""The age of a run, and the time since its progress last changed, before its lease is read."""


def leases_to_read(active: Iterable[ActiveJob], *, now: datetime) -> tuple[str, ...]:
    """Return the leases with the progress of the runs whose progress is due to be shown."""
    services = {job.service for job in active if _is_due(job, now=now)}
    return tuple(sorted({lease_of(service) for service in services if service is not None}))


def with_shown_progress(job: ActiveJob, snapshot: TimelineSnapshot, *, now: datetime) -> ActiveJob:
    """Return a run with its progress, if the leases were read and it is due; that of another run shows nothing."""
    if snapshot.run_progress is None or not _is_due(job, now=now):
        return job
    line = next((one.line for one in snapshot.run_progress if one.run == job.name), None)
    return job if line == job.progress else job.copy_with(progress=line, progress_at=format_time(now))


def _is_due(job: ActiveJob, *, now: datetime) -> bool:
    since = parse_time(job.progress_at or job.running_since)
    return job.live is None and since is not None and not timedelta() <= now - since < _PAUSE
