"""Concludes the runs of operations, and removes memory of a table that an operation made invalid.

The checkpoint, the counts and the pending instants come from the timeline with every reconcile. The position in the
source is forgotten with the runs that a restore has undone (`facts/writers/acts.py`).
"""

from collections.abc import Iterable
from datetime import datetime

from hudi_jobs.contract import FailureReason, OperationPhase, OperationReport, Outcome, TaskResult
from hudi_jobs.contract.operations.operation import MOST_OBSTACLES
from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.operation_status import (
    FINISHED,
    OperationReportStatus,
    OperationState,
    VerificationStatus,
)
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_parts import Protection, TakeoverStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.operations.admission import other_writers
from hudi_operator.planning.facts.operations.kinds.operation_registry import may_be_left
from hudi_operator.planning.facts.runs.failures import (
    NO_FAILURES,
    FailureKind,
    attempts,
    budget_of,
    failure_kind,
    failures_of,
    one_more,
)
from hudi_operator.planning.facts.runs.outcomes import shows_work
from hudi_operator.planning.facts.runs.tracking import own_job
from hudi_operator.planning.model import START_TROUBLES, JobObservation, JobPhase, Observation, TimelineSnapshot
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.model.times import format_time, retry_delay
from hudi_operator.services.registry import SERVICES


def has_changed_history(before: HudiTableStatus, entries: tuple[TableOperation, ...]) -> bool:
    """Whether an operation that changed the table has ended in this reconcile."""
    over = {one.uid for one in before.operations if one.state in FINISHED}
    return any(one.begun and one.state in FINISHED and one.uid not in over for one in entries)


def services_after(services: ServicesStatus) -> ServicesStatus:
    """Return the memory of services: a service that found nothing to do, or no new input, may find some now."""
    present = [one for one in SERVICES if getattr(services, one.lower()) is not None]
    return services.replaced({one: services.of(one).copy_with(last_no_op_instant=None, look=None) for one in present})


def takeover_after(takeover: TakeoverStatus | None, observation: Observation) -> TakeoverStatus | None:
    """Return the memory of a takeover: if its savepoint is gone, the next table service makes another savepoint."""
    timeline = observation.snapshot.timeline
    if takeover is None or timeline is None or takeover.protection is not Protection.KEPT:
        return takeover
    if takeover.savepoint in timeline.counters.savepoints:
        return takeover
    return takeover.copy_with(protection=Protection.WANTED, savepoint=None)


_MESSAGE_LIMIT = 1024
_UNCHANGED = "Nothing was changed."
_REFUSALS = frozenset({FailureReason.OPERATION_REFUSED, FailureReason.INVALID_REQUEST})


def after_runs(
    entry: TableOperation,
    finished: Iterable[RunStatus],
    observation: Observation,
    *,
    resource: HudiOperation | None,
    now: datetime,
) -> TableOperation:
    """Return the memory of an operation after its runs that have just ended."""
    decided = {job.name: job for job in observation.table.status.active_jobs if job.operation is not None}
    for run in finished:
        job = decided.get(run.job)
        if job is not None and job.operation is not None and job.operation.uid == entry.uid:
            entry = _beside_others(_after(entry, run, job, observation, now=now), resource, observation)
    return entry


def _beside_others(entry: TableOperation, resource: HudiOperation | None, observation: Observation) -> TableOperation:
    """Return the end of a dry run with the obstacle that its driver cannot know: other writers."""
    why = other_writers(resource, observation) if entry.dry_run and resource is not None else None
    if why is None or entry.reason not in {OperationReason.SUCCEEDED, OperationReason.REFUSED}:
        return entry
    report = entry.report or OperationReportStatus()
    obstacles = (why, *report.obstacles)[:MOST_OBSTACLES]
    return entry.copy_with(
        state=OperationState.FAILED,
        reason=OperationReason.OTHER_WRITERS,
        message=f"{why} {entry.message}"[:_MESSAGE_LIMIT],
        report=report.copy_with(obstacles=obstacles),
    )


def _after(
    entry: TableOperation, run: RunStatus, job: ActiveJob, observation: Observation, *, now: datetime
) -> TableOperation:
    found = own_job(job, observation)
    result = _result(found)
    report = result.operation if result is not None else None
    begun = _has_begun(entry, run, job, found, observation.snapshot)
    entry = entry.copy_with(
        **(NO_FAILURES if entry.begun and not begun and _is_recorded(report) else {}),
        job=job.operation,
        report=with_verification(report_status(report) if report is not None else entry.report, entry, observation),
        begun=begun,
    )
    if run.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO} and (report is None or report.verified is not False):
        return _finished(entry, OperationState.SUCCEEDED, OperationReason.SUCCEEDED, run.message or "Done.", now=now)
    if run.reason == FailureReason.NOT_VERIFIED or (report is not None and report.verified is False):
        message = (
            f"{run.message} Nothing starts on the table until this HudiOperation is deleted: check the table first, or "
            "restore it to another commit with another HudiOperation."
        )
        return _finished(entry, OperationState.FAILED, OperationReason.NOT_VERIFIED, message, now=now)
    if run.reason == FailureReason.NOT_ERASED:
        return _finished(entry, OperationState.FAILED, OperationReason.NOT_ERASED, run.message, now=now)
    if not entry.begun and run.reason in _REFUSALS:
        # A driver that refuses an operation says so; a driver that cannot read its request has not come that far.
        said = "" if run.reason == FailureReason.OPERATION_REFUSED else f" {_UNCHANGED}"
        return _finished(entry, OperationState.FAILED, OperationReason.REFUSED, f"{run.message}{said}", now=now)
    settings = observation.table_class.spec.retry if observation.table_class is not None else RetrySettings()
    return after_failure(entry, run, settings, now=now)


def after_failure(entry: TableOperation, run: RunStatus, settings: RetrySettings, *, now: datetime) -> TableOperation:
    """Return the memory after a failed run: an operation that has begun is retried without a limit."""
    kind = failure_kind(run) or FailureKind.JOB
    counted = entry.copy_with(**one_more(entry, kind))
    count, budget = failures_of(counted, kind), budget_of(kind, settings)
    if not entry.begun and budget is not None and count >= budget:
        before = "" if may_be_left(entry.kind) else " before they changed anything"
        message = f"{count} runs failed{before}. Last failure: {run.message}"
        return _finished(entry, OperationState.FAILED, run.reason or OperationReason.REFUSED, message, now=now)
    at = format_time(now + retry_delay(attempts(counted), settings))
    again = "is retried" if may_be_left(entry.kind) else "has changed nothing and is retried"
    what = "has begun and is finished by another run" if entry.begun else again
    return counted.copy_with(
        retry_at=at,
        reason=OperationReason.RETRYING,
        message=f"The operation {what} from {at} on. Last run: {run.message}"[:_MESSAGE_LIMIT],
    )


def _finished(
    entry: TableOperation, state: OperationState, reason: str, message: str, *, now: datetime
) -> TableOperation:
    return entry.copy_with(
        state=state,
        reason=reason,
        message=message[:_MESSAGE_LIMIT],
        finished_at=format_time(now),
        **NO_FAILURES,
        retry_at=None,
    )


def _result(found: JobObservation | None) -> TaskResult | None:
    return found.result if found is not None else None


def _has_begun(
    entry: TableOperation,
    run: RunStatus,
    job: ActiveJob,
    found: JobObservation | None,
    snapshot: TimelineSnapshot,
) -> bool:
    """Whether the table may be half changed; after a run that only checked, it is whole."""
    result = _result(found)
    if entry.dry_run or may_be_left(entry.kind) or _came_to_check(result):
        return False
    if entry.begun:
        return True
    if result is not None:
        return not _wrote_nothing(result, found)
    return not _never_started(run, job, found) or shows_work(job, snapshot)


def _came_to_check(result: TaskResult | None) -> bool:
    report = result.operation if result is not None else None
    return report is not None and report.phase is OperationPhase.CHECKING


def _is_recorded(report: OperationReport | None) -> bool:
    """Whether a checking run found the record of a begun operation that was retried without a limit.

    Then only failures from now on count. A run that died without a report is among the failures of the check.
    """
    return report is not None and report.rows_expected is not None


def _wrote_nothing(result: TaskResult, found: JobObservation | None) -> bool:
    """Whether a run reports no change, as a result without a report does.

    Except if the report was too long for the outcome, or another driver may have been at work before this driver.
    """
    if result.operation is not None:
        return _came_to_check(result)
    return found is None or not (found.had_others or (found.outcome is not None and found.outcome.truncated))


def _never_started(run: RunStatus, job: ActiveJob, found: JobObservation | None) -> bool:
    """Whether no pod of an ended Job has ever run: its pods show it, or the operator removed the Job first.

    If somebody else removed the Job, or its time ran out, a pod may have started after the last look.
    """
    is_shown = found is not None and found.phase is JobPhase.OVER and bool(found.pods)
    is_removed = run.reason in START_TROUBLES and job.stopped_at is not None
    return (is_shown or is_removed) and not (found is not None and found.has_run)


def with_verification(
    report: OperationReportStatus | None, entry: TableOperation, observation: Observation
) -> OperationReportStatus | None:
    """Return a report with the comparison of partitions, as far as the driver has reported it."""
    told = observation.snapshot.told
    if report is None or entry.dry_run:
        return report
    known = entry.report.verification if entry.report is not None else None
    if told is not None and told.uid == entry.uid and told.comparison is not None:
        compared = told.comparison.model_dump(exclude={"listed"})
        listed = [each.model_dump() for each in told.comparison.listed]
        known = VerificationStatus.model_validate({**compared, "partitions": listed})
    return report.copy_with(verification=known)


def report_status(report: OperationReport) -> OperationReportStatus:
    """Return a report as status shows it."""
    return OperationReportStatus.model_validate(report.model_dump(exclude={"phase"}))
