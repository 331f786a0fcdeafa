"""Counts quarantined rows since the last acknowledgement.

A run counts once, in the reconcile that records its end. A failed batch run does not count, because its retry reports
the same rows. A continuous driver counts while it runs, by its last report.
"""

from collections.abc import Iterable

from hudi_operator.api.status.bad_rows import MOST_BAD_ROWS, BadRowsStatus
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.runs.failures import failure_kind


def bad_rows_after(
    before: BadRowsStatus | None, finished: Iterable[RunStatus], active: Iterable[ActiveJob]
) -> BadRowsStatus | None:
    """Return the memory of bad rows after these runs have ended, with these Jobs active."""
    memory, running = before or BadRowsStatus(), tuple(active)
    total, since = memory.total, memory.since
    for run in finished:
        rows = _unacknowledged(memory, run.job, run.rows_quarantined) if _has_committed(run) else 0
        total = min(total + rows, MOST_BAD_ROWS)
        since = since or (run.finished_at if rows else None)
    since = since or next((job.live.moved_at for job in running if job.live and _live(memory, job)), None)
    known = memory.run in {job.name for job in running}
    after = BadRowsStatus(
        total=total,
        since=since,
        run=memory.run if known else None,
        acknowledged=memory.acknowledged if known else 0,
    )
    return after if after != BadRowsStatus() else None


def bad_rows(memory: BadRowsStatus | None, active: Iterable[ActiveJob]) -> int:
    """Return the number of unacknowledged rows, with those of a driver that runs."""
    memory = memory or BadRowsStatus()
    return min(memory.total + sum(_live(memory, job) for job in active), MOST_BAD_ROWS)


def acknowledged(active: Iterable[ActiveJob]) -> BadRowsStatus | None:
    """Return the memory after an acknowledgement: rows that the running driver has reported do not count again."""
    for job in active:
        if job.live is not None and job.live.rows_quarantined > 0:
            return BadRowsStatus(run=job.name, acknowledged=min(job.live.rows_quarantined, MOST_BAD_ROWS))
    return None


def _live(memory: BadRowsStatus, job: ActiveJob) -> int:
    return _unacknowledged(memory, job.name, job.live.rows_quarantined) if job.live is not None else 0


def _unacknowledged(memory: BadRowsStatus, run: str, rows: int | None) -> int:
    return max((rows or 0) - (memory.acknowledged if run == memory.run else 0), 0)


def _has_committed(run: RunStatus) -> bool:
    return failure_kind(run) is None or bool(run.batches)
