"""Concludes a continuous run: commits do not turn a failure into success, but they stay counted."""

from datetime import datetime

from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.runs.continuous import DRAINING
from hudi_operator.planning.facts.runs.ended import ended_run
from hudi_operator.planning.model import Failure, TimelineSnapshot
from hudi_operator.planning.model.reasons import Retry, RunRemark, RunTrouble
from hudi_operator.planning.model.registry import words

_GAVE_WAY = words((Outcome,), Retry.CONFLICT)


def conclude_continuous(
    job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot, failure: Failure, *, now: datetime
) -> RunStatus:
    """Return how a run ended; `failure` is the verdict from its Job and pod alone.

    A run asked to end at a batch boundary has succeeded, even if its pod is gone.
    """
    instant = confirmed_commit(job, result, snapshot)
    batches = (result.batches if result is not None else None) or (job.live.batches if job.live is not None else 0)
    outcome, reason, message = _judged(job, result, failure, has_committed=instant is not None)
    batches = max(batches, int(instant is not None))
    run = ended_run(
        job, result, outcome=outcome, reason=reason, message=message, now=now, instant=instant, batches=batches
    )
    ended_for = job.live.ends_for if job.live is not None and job.state == DRAINING else None
    return run.copy_with(ended_for=ended_for)


def _judged(
    job: ActiveJob, result: TaskResult | None, failure: Failure, *, has_committed: bool
) -> tuple[Outcome, str | None, str]:
    is_over = Outcome.SUCCEEDED if has_committed else Outcome.NOTHING_TO_DO
    was_stopped = result is None or result.reason is FailureReason.INTERRUPTED
    if was_stopped and job.state == DRAINING:
        return is_over, RunRemark.DRAINED, f"Ended by the operator: {job.message}"
    if was_stopped and job.state == RunTrouble.NO_PROGRESS:
        return Outcome.FAILED, RunTrouble.NO_PROGRESS, job.message
    if result is None or result.outcome is Outcome.FAILED:
        return Outcome.FAILED, failure.reason, failure.message
    if result.outcome in _GAVE_WAY:
        return result.outcome, result.reason or result.outcome, result.message
    if result.outcome is Outcome.SUCCEEDED and not has_committed:
        return Outcome.FAILED, failure.reason, failure.message
    reason = RunRemark.DRAINED if job.state == DRAINING else None
    message = f"Ended by the operator: {job.message} {result.message}" if reason else result.message
    return is_over, reason, message


def confirmed_commit(job: ActiveJob, result: TaskResult | None, snapshot: TimelineSnapshot) -> str | None:
    """Return a run's newest commit: a commit that names it, or its driver named and the timeline holds.

    A commit older than the active timeline was completed, else it would be pending there.
    """
    marked = snapshot.instant_of(job.name)
    if marked is not None or snapshot.timeline is None:
        return marked
    instants = snapshot.timeline.instants
    named = (result.instant if result is not None else None, job.live.instant if job.live is not None else None)
    first = instants[0].time if instants else ""
    completed = {one.time for one in instants if one.is_completed}
    return next((one for one in named if one is not None and (one in completed or one < first)), None)
