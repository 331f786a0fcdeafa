"""Keeps the result of an ended run: the outcome, and its driver's figures."""

from datetime import datetime

from hudi_jobs.contract import Outcome, TaskResult
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.runs.continuous import cut_names
from hudi_operator.planning.model import Mark
from hudi_operator.planning.model.times import format_time

MESSAGE_LIMIT = 1000

_FIGURES = (
    "rows_read",
    "rows_quarantined",
    "files_read",
    "bytes_read",
    "records_skipped",
    "file_groups",
    "files_written",
    "files_deleted",
    "bytes_written",
)


def ended_run(
    job: ActiveJob,
    result: TaskResult | None,
    *,
    outcome: Outcome,
    message: str,
    now: datetime,
    reason: str | None = None,
    instant: str | None = None,
    batches: int | None = None,
    mark: Mark | None = None,
) -> RunStatus:
    """Return the run with its result's figures; missing figures come from the continuous driver's earlier reports.

    `mark` is the mark of a batch run's commit, with the figures that outlast its driver.
    """
    figures = {name: _first(name, result, job.live, mark) for name in _FIGURES}
    return RunStatus(
        job=job.name,
        service=job.service,
        outcome=outcome,
        reason=reason,
        message=message[:MESSAGE_LIMIT],
        instant=instant,
        started_at=job.started_at,
        finished_at=format_time(now),
        batches=batches,
        skipped=_skipped(job, result),
        **figures,
    )


def _first(name: str, *sources: object) -> int | None:
    return next((value for one in sources if (value := getattr(one, name, None)) is not None), None)


def _skipped(job: ActiveJob, result: TaskResult | None) -> tuple[str, ...] | None:
    """Return where the run skipped lost messages in a commit."""
    if result is not None and result.records_skipped is not None:
        return cut_names(result.skipped) or None
    return job.live.skipped if job.live is not None else None
