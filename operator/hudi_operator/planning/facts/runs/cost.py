"""What an ended run cost: reported by its driver, or estimated as its requested cores times its time.

The driver reports when it ends, for itself and for its executors. A driver that was killed or evicted, or whose node
was lost, reports nothing, and neither does an older Spark image. The driver of a continuous ingestion also reports
while it runs, as executors do, so little is missing if they are killed.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_jobs.contract import RunUsage
from hudi_jobs.contract.usage import REPORTS_EVERY_SECONDS
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.api.status.cost import DAYS_REMEMBERED, MOST, RequestedCores, RunCost
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.jobs.sizing import size_of
from hudi_operator.planning.facts.runs.continuous import progress_of
from hudi_operator.planning.model import JobObservation, JobPhase, PodTrouble, TimelineSnapshot
from hudi_operator.planning.model.times import format_time, parse_time

_LONGEST = timedelta(days=DAYS_REMEMBERED)

_HAS_RUN = frozenset(
    {
        JobPhase.RUNNING.value,
        PodTrouble.EXECUTORS_WAITING.value,
        PodTrouble.NO_EXECUTORS.value,
        PodTrouble.OUT_OF_MEMORY.value,
        PodTrouble.EVICTED.value,
        PodTrouble.NODE_LOST.value,
        PodTrouble.DEADLINE_EXCEEDED.value,
    }
)
"""States of a Job whose driver has been at work."""

_ONE_CORE = RequestedCores(driver=1000)
"""The request of a Job of an earlier version, while its table has no class."""


def with_cost(
    run: RunStatus,
    job: ActiveJob,
    observed: JobObservation | None,
    snapshot: TimelineSnapshot,
    *,
    table: HudiTable | None,
    table_class: HudiTableClass | None,
    now: datetime,
) -> RunStatus:
    """Return an ended run with its cost; a Job whose driver never started has none."""
    deadline = None
    if table_class is not None and job.live is None:
        deadline = parse_duration(table_class.spec.job.deadline)
    time = _time_of(run, job, observed, deadline=deadline, now=now)
    if time is None:
        return run
    outcome = observed.outcome if observed is not None else None
    progress = progress_of(job, snapshot) if job.live is not None else None
    usage = (outcome.usage if outcome is not None else None) or (progress.usage if progress is not None else None)
    return run.copy_with(cost=_cost(run, usage, _cores(job, table, table_class), time))


@dataclass(frozen=True, kw_only=True)
class _Time:
    since: datetime
    seconds: int


def _time_of(
    run: RunStatus, job: ActiveJob, observed: JobObservation | None, *, deadline: timedelta | None, now: datetime
) -> _Time | None:
    """Return when the driver of a run was at work.

    The times of its pod win. If these are gone, the time since the driver was first seen to run counts, else the time
    since the decision, but no more than the class's deadline for a run.
    """
    seen = observed.started_at if observed is not None else None
    decided = parse_time(job.started_at) or now
    since = seen or parse_time(job.running_since) or (decided if _has_run(run, job, observed) else None)
    if since is None:
        return None
    ended = observed.ended_at if observed is not None else None
    since = max(min(since, now), now - _LONGEST)
    longest = min(now - decided, now - since)
    if ended is None:
        ended, longest = now, longest if deadline is None else min(longest, deadline)
    length = max(min(ended - since, longest), timedelta())
    return _Time(since=since, seconds=int(length.total_seconds()))


def _has_run(run: RunStatus, job: ActiveJob, observed: JobObservation | None) -> bool:
    if observed is not None and observed.has_run:
        return True
    return run.instant is not None or job.state in _HAS_RUN


def _cores(job: ActiveJob, table: HudiTable | None, table_class: HudiTableClass | None) -> RequestedCores:
    if job.cores is not None:
        return job.cores
    if table is None or table_class is None:
        return _ONE_CORE
    return size_of(job, table.spec, table_class.spec).requested_cores


def _cost(run: RunStatus, usage: RunUsage | None, cores: RequestedCores, time: _Time) -> RunCost:
    used = usage or RunUsage()
    driver, executors = used.driver, used.executors
    measured = (driver.cpu_seconds if driver is not None else 0.0) + (executors.cpu_seconds if executors else 0.0)
    missing = 0 if driver is not None else cores.driver * time.seconds
    if usage is None:
        missing += cores.executors * cores.executor * time.seconds
    elif executors is not None:
        unreported = min(REPORTS_EVERY_SECONDS, time.seconds)
        missing += (executors.number - executors.reported) * cores.executor * unreported
    return RunCost(
        since=format_time(time.since),
        seconds=time.seconds,
        cpu_milliseconds=_bounded(measured * 1000),
        estimated_cpu_milliseconds=_bounded(missing),
        driver_memory_bytes=driver.peak_memory_bytes if driver is not None else None,
        executor_memory_bytes=executors.peak_memory_bytes if executors is not None else None,
        bytes_read=_bounded(used.bytes_read if used.bytes_read is not None else run.bytes_read or 0),
        bytes_written=_bounded(used.bytes_written if used.bytes_written is not None else run.bytes_written or 0),
    )


def _bounded(figure: float) -> int:
    return min(round(figure), MOST)
