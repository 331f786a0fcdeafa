"""Classifies failures: the cause, the count in a row, the next attempt; and counts quarantined rows.

Three kinds are counted apart. A failure of the run itself (bad input, out of memory, an error of Hudi) and one of the
infrastructure (a lost node, a missing image, a full quota, an unavailable store) have a budget each. A run that gave
way to another writer is neither: it backs off and is retried for ever. An exhausted budget needs a person; the run is
still retried now and then, so that a table recovers when its cause goes away.

A run counts once, in the reconcile that records its end. A failed batch run does not count, because its retry reports
the same rows. A continuous driver counts while it runs, by its last report.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from hudi_jobs.contract import Outcome
from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_parts import MOST_BAD_ROWS, BadRowsStatus
from hudi_operator.planning.model.decision import Decision, Reason
from hudi_operator.planning.model.healing import run_retry
from hudi_operator.planning.model.reason_registry import entry_of
from hudi_operator.planning.model.reasons import Retry
from hudi_operator.planning.model.times import format_time, parse_time, retry_delay

_AFTER_EXHAUSTION = timedelta(hours=1)
"""The pause between attempts after an exhausted budget, or if the same request would fail again."""


class FailureKind(StrEnum):
    """The cause of a failed run."""

    JOB = "Job"
    INFRASTRUCTURE = "Infrastructure"
    CONFLICT = "Conflict"


def failure_kind(run: RunStatus) -> FailureKind | None:
    """Return the cause of a run's failure, or None if it did not fail."""
    if entry_of(run.outcome).retry is Retry.CONFLICT:
        return FailureKind.CONFLICT
    if run.outcome is not Outcome.FAILED:
        return None
    match run_retry(run.reason):
        case Retry.CONFLICT:
            return FailureKind.CONFLICT
        case Retry.INFRASTRUCTURE:
            return FailureKind.INFRASTRUCTURE
        case _:
            return FailureKind.JOB


def has_passed_over(run: RunStatus) -> bool:
    """Whether a run has committed past lost messages of a stream."""
    return bool(run.skipped) and (bool(run.batches) or failure_kind(run) is None)


def attempts(memory: ServiceStatus | TableOperation) -> int:
    """Return the number of consecutive failed runs, of any kind."""
    return memory.failures + memory.infrastructure_failures + memory.conflicts


def counted(
    memory: ServiceStatus, kind: FailureKind, *, generation: int, circumstances: str | None = None
) -> ServiceStatus:
    """Return the memory after another failure of a kind."""
    return memory.copy_with(
        **one_more(memory, kind), failures_generation=generation, failures_circumstances=circumstances
    )


def failures_of(memory: ServiceStatus | TableOperation, kind: FailureKind) -> int:
    """Return the remembered failures of a kind."""
    count: int = getattr(memory, _COUNTERS[kind])
    return count


def one_more(memory: ServiceStatus | TableOperation, kind: FailureKind) -> dict[str, Any]:
    """Return the counter of a kind after one more failure."""
    return {_COUNTERS[kind]: failures_of(memory, kind) + 1}


def budget_of(kind: FailureKind | None, retry: RetrySettings) -> int | None:
    """Return the class's limit of consecutive failures of a kind, or None if unlimited."""
    if kind is FailureKind.CONFLICT:
        return None
    return retry.max_infrastructure_attempts if kind is FailureKind.INFRASTRUCTURE else retry.max_attempts


def reset_failures(memory: ServiceStatus) -> ServiceStatus:
    """Return the memory without failures."""
    return memory.copy_with(**NO_FAILURES, failures_generation=None, failures_circumstances=None)


_COUNTERS = {
    FailureKind.JOB: "failures",
    FailureKind.INFRASTRUCTURE: "infrastructure_failures",
    FailureKind.CONFLICT: "conflicts",
}
NO_FAILURES: dict[str, Any] = dict.fromkeys(_COUNTERS.values(), 0)


def after_failures(memory: ServiceStatus, retry: RetrySettings, *, now: datetime) -> Decision | None:
    """Return the decision after remembered failures, or None if there are none."""
    last = memory.last_run
    kind = failure_kind(last) if last else None
    if attempts(memory) == 0 or last is None or kind is None:
        return None
    if run_retry(last.reason) is Retry.ON_CHANGE:
        return _hopeless(last, now=now)
    return _exhausted(memory, last, retry, now=now) or _next_attempt(memory, last, kind, retry, now=now)


def next_attempt_at(run: RunStatus, count: int, retry: RetrySettings, *, now: datetime) -> datetime:
    """Return when a failed run is retried after `count` consecutive failures of all kinds."""
    budget, ended = budget_of(failure_kind(run), retry), parse_time(run.finished_at) or now
    if (budget is not None and count >= budget) or run_retry(run.reason) is Retry.ON_CHANGE:
        return ended + _AFTER_EXHAUSTION
    return ended + retry_delay(count, retry)


def _hopeless(last: RunStatus, *, now: datetime) -> Decision:
    at = (parse_time(last.finished_at) or now) + _AFTER_EXHAUSTION
    due = now >= at
    return Decision(
        due=due,
        reason=Reason.RETRY if due else Reason.WAITING_FOR_SPEC_CHANGE,
        message="The last run failed because its request is invalid. It is retried when the spec, the class, the "
        f"Spark image or the operator changes, or when the annotation {REQUESTED_AT_ANNOTATION} asks for it; "
        f"otherwise at {format_time(at)}.",
        at=at,
    )


def _exhausted(memory: ServiceStatus, last: RunStatus, retry: RetrySettings, *, now: datetime) -> Decision | None:
    budgets = (
        (memory.failures, retry.max_attempts, ""),
        (memory.infrastructure_failures, retry.max_infrastructure_attempts, " for reasons outside of the table"),
    )
    at = (parse_time(last.finished_at) or now) + _AFTER_EXHAUSTION
    for failures, budget, why in budgets:
        if failures >= budget and now < at:
            return Decision(
                due=False,
                reason=Reason.RETRIES_EXHAUSTED,
                message=f"Failed {_times(failures)}{why}, the limit of the class; the last reason is "
                f"{last.reason or last.outcome}. Remove the cause, then change the spec or the class, or set the "
                f"annotation {REQUESTED_AT_ANNOTATION}; otherwise it is retried at {format_time(at)}.",
                at=at,
            )
    return None


def _next_attempt(
    memory: ServiceStatus, last: RunStatus, kind: FailureKind, retry: RetrySettings, *, now: datetime
) -> Decision:
    count = failures_of(memory, kind)
    at = (parse_time(last.finished_at) or now) + retry_delay(count, retry)
    word = last.reason or last.outcome.value
    what = "Gave way to another run" if kind is FailureKind.CONFLICT else "Failed"
    due = now >= at
    return Decision(
        due=due,
        reason=Reason.RETRY if due else Reason.WAITING_FOR_RETRY,
        message=f"{what} {_times(count)} ({word}); the next attempt is at {format_time(at)}.",
        at=at,
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times in a row"


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
