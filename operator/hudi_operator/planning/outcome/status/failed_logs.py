"""Decides which failed runs the operator reads the end of the log of, and what the status keeps.

The status keeps the log of the newest failed run of each service. It never keeps the log of an erasure, which may hold
the erased keys, and a completed erasure removes all logs, since their lines may hold values of erased rows.
"""

from collections.abc import Iterator
from datetime import datetime

from hudi_jobs.contract import OperationKind, Outcome, Service
from hudi_operator.api.status.runs import ActiveJob, FailedRunLog
from hudi_operator.planning.model import JobObservation, PodTrouble, StopJob
from hudi_operator.planning.model.reasons import RunTrouble
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.plan import Plan

_STOPPED_AS_FAILED = frozenset({PodTrouble.NO_EXECUTORS.value, RunTrouble.NO_PROGRESS.value})
"""States of a started Job that the operator stops because it fails; the pod and its log go with the Job."""


def runs_with_wanted_log(plan: Plan) -> tuple[JobObservation, ...]:
    """Return the runs that have failed by this plan, or that it stops as failed, and that have a log to read."""
    if plan.observation.logs is None:
        return ()
    failed = _failed(plan) - {one.job for one in plan.observation.table.status.failed_logs}
    return tuple(one for one in plan.observation.jobs if one.name in failed and one.has_run and one.pods)


def failed_logs(plan: Plan, *, now: datetime) -> tuple[FailedRunLog, ...]:
    """Return the logs that the status keeps, with those that were read for this plan."""
    observation = plan.observation
    if observation.logs is None:
        return ()
    kept = {} if _is_erased(plan) else {one.service: one for one in observation.table.status.failed_logs}
    failed = _failed(plan)
    for run in observation.jobs:
        text = observation.logs.get(run.name) if run.name in failed else None
        if text and run.service is not None:
            kept[run.service] = FailedRunLog(service=run.service, job=run.name, read_at=format_time(now), text=text)
    return tuple(kept.values())


def _failed(plan: Plan) -> set[str]:
    """Return the names of the failed runs with logs that may be kept; of an unknown operation nothing is kept."""
    stopped = {one.job.name for one in plan.actions if isinstance(one, StopJob) and one.job.state in _STOPPED_AS_FAILED}
    ended = {one.job for one in plan.finished if one.outcome is Outcome.FAILED}
    harmless = {job.name for job in _jobs_of_operations(plan) if not _erases(job)}
    operations = {one.name for one in plan.observation.jobs if one.service is Service.OPERATION}
    return (stopped | ended) - (operations - harmless)


def _is_erased(plan: Plan) -> bool:
    done = {one.job for one in plan.finished if one.outcome is Outcome.SUCCEEDED}
    return any(
        job.name in done and _erases(job) and job.operation is not None and not job.operation.dry_run
        for job in _jobs_of_operations(plan)
    )


def _jobs_of_operations(plan: Plan) -> Iterator[ActiveJob]:
    return (job for job in plan.observation.table.status.active_jobs if job.operation is not None)


def _erases(job: ActiveJob) -> bool:
    return job.operation is not None and job.operation.kind is OperationKind.ERASE
