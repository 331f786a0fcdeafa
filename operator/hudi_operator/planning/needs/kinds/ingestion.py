"""Whether ingestion is due, and why or why not."""

from collections.abc import Iterable
from datetime import datetime

from hudi_jobs.contract import ConcurrencyMode, Outcome, Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.schedule import Schedule
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.facts.runs.failures import after_failures
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.times import InvalidSchedule, format_time, next_run, parse_time
from hudi_operator.planning.needs.rescan import unasked


def evaluate(
    memory: ServiceStatus,
    *,
    table: HudiTable,
    table_class: HudiTableClassSpec,
    requested: str | None,
    now: datetime,
    active: Iterable[ActiveJob] = (),
) -> Decision:
    """Return whether ingestion is due; `requested` is an unanswered request for a run now, `active` are all Jobs."""
    ingestion = table.spec.ingestion
    if ingestion is None:
        return _not_due(Reason.NOT_CONFIGURED, "The spec has no ingestion: nothing is ingested.")
    if ingestion.continues and any(job.service is Service.INGESTION for job in active):
        return _not_due(Reason.CONTINUOUS, "A driver reads the source continuously.")
    rescan = unasked(table)
    if requested is not None or rescan is not None:
        message = f"Requested at {requested}." if requested else f"Requested to read files once more: {rescan}."
        return _due(Reason.REQUESTED, message, at=now, priority=Priority.REQUESTED)
    again = _again(memory, table=table, table_class=table_class, now=now)
    if again is not None:
        return again
    if ingestion.continues:
        return _due(Reason.CONTINUOUS, "No driver reads the source.", at=now, priority=_priority(table))
    return _by_schedule(memory, schedule=ingestion.schedule, table=table, now=now)


def _again(
    memory: ServiceStatus, *, table: HudiTable, table_class: HudiTableClassSpec, now: datetime
) -> Decision | None:
    """Return the decision after a failed last run, or None if it has not failed."""
    failed = after_failures(memory, table_class.retry, now=now)
    if failed is not None:
        return _due(Reason.RETRY, failed.message, at=failed.at, priority=_priority(table)) if failed.due else failed
    if memory.last_run is None or memory.last_run.outcome is not Outcome.FAILED:
        return None
    message = "The spec or its circumstances have changed since the last run failed."
    return _due(Reason.RETRY, message, at=now, priority=_priority(table))


def _priority(table: HudiTable) -> Priority:
    """Return the priority of ingestion: a continuous ingestion of a Serialized table goes after other due services."""
    is_serialized = table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    return Priority.CONTINUOUS if table.spec.continues and is_serialized else Priority.INGESTION


def _due(reason: Reason, message: str, *, at: datetime | None, priority: Priority = Priority.INGESTION) -> Decision:
    return Decision(due=True, reason=reason, message=message, at=at, priority=priority)


def _not_due(reason: Reason, message: str, *, at: datetime | None = None) -> Decision:
    return Decision(due=False, reason=reason, message=message, at=at)


def _by_schedule(memory: ServiceStatus, *, schedule: Schedule, table: HudiTable, now: datetime) -> Decision:
    if memory.more_input:
        return _due(Reason.MORE_INPUT, "The last run reached its limits and left input unread.", at=now)
    started = parse_time(memory.last_run.started_at) if memory.last_run else None
    anchor = started or parse_time(table.metadata.creation_timestamp) or now
    try:
        at = next_run(schedule, previous=anchor, first=started is None)
    except InvalidSchedule as error:
        return _not_due(Reason.INVALID_SCHEDULE, f"{error}.")
    rhythm = rhythm_of(schedule)
    if now >= at:
        return _due(Reason.SCHEDULED, f"Scheduled {rhythm}, due since {format_time(at)}.", at=at)
    message = f"Scheduled {rhythm}; the next run is at {format_time(at)}."
    return _not_due(Reason.WAITING_FOR_SCHEDULE, message, at=at)


def rhythm_of(schedule: Schedule) -> str:
    """Return a schedule as part of a sentence."""
    return f"every {schedule.every}" if schedule.every else f"by cron {schedule.cron} ({schedule.time_zone or 'UTC'})"
