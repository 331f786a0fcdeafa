"""Whether ingestion is due, and why or why not."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.table_class import HudiTableClassSpec
from hudi_operator.api.table_spec import Schedule
from hudi_operator.api.table_status import RunStatus, ServiceStatus
from hudi_operator.jobs.sizing import grown_memory, resolve_sizing
from hudi_operator.planning.model import RETRY_WITHOUT_HOPE
from hudi_operator.planning.retry import retry_delay
from hudi_operator.planning.schedule import InvalidSchedule, next_run
from hudi_operator.planning.times import format_time, parse_time

EXPLANATION_LIMIT = 1024


class IngestionReason(StrEnum):
    """Why ingestion is due or not."""

    NOT_CONFIGURED = "NotConfigured"
    REQUESTED = "Requested"
    SCHEDULED = "Scheduled"
    MORE_INPUT = "MoreInput"
    RETRY = "Retry"
    WAITING_FOR_SCHEDULE = "WaitingForSchedule"
    WAITING_FOR_RETRY = "WaitingForRetry"
    WAITING_FOR_SPEC_CHANGE = "WaitingForSpecChange"
    INVALID_SCHEDULE = "InvalidSchedule"


@dataclass(frozen=True, kw_only=True)
class Dueness:
    """Whether a run is due now, since or until when, and why."""

    due: bool
    reason: IngestionReason
    message: str
    at: datetime | None = None


def remember_runs(
    memory: ServiceStatus, runs: tuple[RunStatus, ...], *, table: HudiTable, table_class: HudiTableClassSpec | None
) -> ServiceStatus:
    """Return what is remembered of ingestion after these runs have ended."""
    generation = table.metadata.generation
    if memory.failures and memory.failures_generation != generation:
        memory = memory.model_copy(update={"failures": 0, "failures_generation": None, "driver_memory": None})
    for run in runs:
        if run.outcome is Outcome.FAILED and _is_of_an_older_spec(run, table):
            # Says nothing about the spec of today, which is tried at once.
            changes = {"last_run": run, "failures": 0, "failures_generation": None, "more_input": False}
        elif run.outcome is Outcome.FAILED:
            changes = {
                "last_run": run,
                "failures": memory.failures + 1,
                "failures_generation": generation,
                "driver_memory": _next_memory(memory, run, table=table, table_class=table_class),
                "more_input": False,
            }
        else:
            changes = {"last_run": run, "failures": 0, "failures_generation": None, "next_attempt_at": None}
        memory = memory.model_copy(update=changes)
    return memory


def _is_of_an_older_spec(run: RunStatus, table: HudiTable) -> bool:
    jobs = table.status.active_jobs
    generation = next((job.generation for job in jobs if job.name == run.job), None)
    return generation is not None and generation != table.metadata.generation


def judge(
    memory: ServiceStatus, *, table: HudiTable, table_class: HudiTableClassSpec, requested: str | None, now: datetime
) -> Dueness:
    """Return whether ingestion is due; `requested` is an unanswered wish for a run now."""
    ingestion = table.spec.ingestion
    if ingestion is None:
        return Dueness(
            due=False, reason=IngestionReason.NOT_CONFIGURED, message="The spec has no ingestion: nothing is ingested."
        )
    if requested is not None:
        return Dueness(due=True, reason=IngestionReason.REQUESTED, message=f"Requested at {requested}.", at=now)
    if memory.failures:
        return _after_failure(memory, table_class=table_class, now=now)
    if memory.last_run is not None and memory.last_run.outcome is Outcome.FAILED:
        return Dueness(
            due=True, reason=IngestionReason.RETRY, message="The spec has changed since the last run failed.", at=now
        )
    if memory.more_input:
        return Dueness(
            due=True, reason=IngestionReason.MORE_INPUT, message="The last run left input behind at its limits.", at=now
        )
    return _by_schedule(memory, schedule=ingestion.schedule, table=table, now=now)


def explain(memory: ServiceStatus, dueness: Dueness, *, hindrance: tuple[str, str] | None) -> ServiceStatus:
    """Return what is remembered together with why a run is due or not; a hindrance is a word and a sentence."""
    after_failure = memory.failures > 0
    at = format_time(dueness.at) if dueness.at and not dueness.due else None
    changes = {
        "due": dueness.due,
        "reason": dueness.reason.value,
        "message": dueness.message,
        "next_run_at": None if after_failure else at,
        "next_attempt_at": at if after_failure else None,
    }
    if dueness.due and hindrance is not None:
        reason, message = hindrance
        changes |= {"reason": reason, "message": f"{dueness.message} {message}"[:EXPLANATION_LIMIT]}
    return memory.model_copy(update=changes)


def _after_failure(memory: ServiceStatus, *, table_class: HudiTableClassSpec, now: datetime) -> Dueness:
    last = memory.last_run
    reason = last.reason if last else None
    if reason in RETRY_WITHOUT_HOPE:
        return Dueness(
            due=False,
            reason=IngestionReason.WAITING_FOR_SPEC_CHANGE,
            message="The last run failed because of the spec; it is tried again when the spec changes.",
        )
    finished = parse_time(last.finished_at) if last else None
    at = (finished or now) + retry_delay(memory.failures, table_class.retry)
    times = "once" if memory.failures == 1 else f"{memory.failures} times in a row"
    message = f"Failed {times} ({reason}); the next attempt is at {format_time(at)}."
    due = now >= at
    return Dueness(
        due=due, reason=IngestionReason.RETRY if due else IngestionReason.WAITING_FOR_RETRY, message=message, at=at
    )


def _by_schedule(memory: ServiceStatus, *, schedule: Schedule, table: HudiTable, now: datetime) -> Dueness:
    started = parse_time(memory.last_run.started_at) if memory.last_run else None
    anchor = started or parse_time(table.metadata.creation_timestamp) or now
    try:
        at = next_run(schedule, previous=anchor, first=started is None)
    except InvalidSchedule as error:
        return Dueness(due=False, reason=IngestionReason.INVALID_SCHEDULE, message=f"{error}.")
    rhythm = f"every {schedule.every}" if schedule.every else f"by cron {schedule.cron} ({schedule.time_zone or 'UTC'})"
    if now >= at:
        return Dueness(
            due=True,
            reason=IngestionReason.SCHEDULED,
            message=f"Scheduled {rhythm}, due since {format_time(at)}.",
            at=at,
        )
    return Dueness(
        due=False,
        reason=IngestionReason.WAITING_FOR_SCHEDULE,
        message=f"Scheduled {rhythm}; the next run is at {format_time(at)}.",
        at=at,
    )


def _next_memory(
    memory: ServiceStatus, run: RunStatus, *, table: HudiTable, table_class: HudiTableClassSpec | None
) -> str | None:
    if run.reason != FailureReason.OUT_OF_MEMORY or table_class is None:
        return memory.driver_memory
    current = resolve_sizing(table.spec, table_class, driver_memory=memory.driver_memory).driver.memory
    return grown_memory(current, table_class.limits.driver_memory) or memory.driver_memory


def seconds_until(at: datetime | None, *, now: datetime) -> float | None:
    """Return the seconds until a point in time, never negative."""
    return None if at is None else max((at - now) / timedelta(seconds=1), 0.0)
