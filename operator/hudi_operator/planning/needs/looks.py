"""Whether a look at the source could spare the table a Job, and whether it does."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hudi_jobs.contract import FailureReason, Service
from hudi_jobs.contract.wording import shortened
from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.facts.gather import Facts, gather
from hudi_operator.planning.facts.runs.freshness import found_nothing_new, is_since, renewed_every
from hudi_operator.planning.facts.runs.memory import open_request
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.decision import Decision, Reason
from hudi_operator.planning.model.times import InvalidSchedule, format_time, lag_of, next_run
from hudi_operator.planning.needs.kinds import ingestion
from hudi_operator.sources.look import LOOK_PAUSE, SourceLook
from hudi_operator.sources.registry import declared_source

_MESSAGE_SHOWN = 300
_BY_SCHEDULE = frozenset({Reason.SCHEDULED, Reason.WAITING_FOR_SCHEDULE})


def wants_look(observation: Observation, now: datetime) -> bool:
    """Whether a look at the source now may show that an ingestion which is due by its schedule needs no run.

    `observation.look` is the last look of this process at the source of this spec, if there is one: it counts as a tick
    of the schedule, so the next look follows at the next tick.
    """
    table, known = observation.table, observation.table_class
    source = declared_source(table.spec)
    if source is None or not source.can_be_looked_at or table.spec.continues:
        return False
    if known is None or observation.blockers or observation.suspended_by is not None:
        return False
    memory, active = _now_remembered(observation, now)
    if table.spec.management_policy is ManagementPolicy.OBSERVE or _reads(active):
        return False
    found = ingestion.evaluate(
        memory, table=table, table_class=known.spec, requested=open_request(table), now=now, active=active
    )
    tick = _tick_after(observation.look, table.spec, memory, found)
    return _may_be_spared(found, memory) and (tick is None or now >= tick)


def _now_remembered(observation: Observation, now: datetime) -> tuple[ServiceStatus, tuple[ActiveJob, ...]]:
    """Return the memory of ingestion and the Jobs at work; a run that has just ended may be followed at once."""
    status = observation.table.status
    if not _reads(status.active_jobs):
        return status.services.ingestion, status.active_jobs
    facts = gather(observation, default_image="", now=now)  # the image matters to failures alone
    return facts.services.ingestion, facts.active


def _reads(active: Iterable[ActiveJob]) -> bool:
    return any(job.service is Service.INGESTION for job in active)


def with_look(facts: Facts, found: Decision) -> Decision:
    """Return the decision on ingestion after the last look: without new input, the schedule goes on without a run."""
    look = facts.observation.look
    if look is None:
        return found
    if look.problem is not None:
        return _with_problem(found, look)
    tick = _tick_after(look, facts.table.spec, facts.services.ingestion, found)
    if not _may_be_spared(found, facts.services.ingestion) or tick is None or facts.now >= tick:
        return found
    why = _without_news(facts, look, found)
    return found if why is None else _spared(facts, *why, look=look, tick=tick)


def _without_news(facts: Facts, look: SourceLook, found: Decision) -> tuple[Reason, str] | None:
    """Return why a run would find nothing to read, as a reason and a part of a sentence; None if it may."""
    memory, spec = facts.services.ingestion, facts.table.spec
    if (missing := _missing(look, spec)) is not None:
        return Reason.SOURCE_NOT_FOUND, missing
    if memory.look is not None and found_nothing_new(facts.observation, memory, facts.circumstances):
        looked_at = memory.look.looked_at
        what = f"the source had no new input at {looked_at}" if looked_at else "the last run has read all input"
        return Reason.NO_NEW_INPUT, what
    source = declared_source(spec)
    if look.inputs != 0 or source is None or source.without_input is None:
        return None
    # After a failed run, the next run finds nothing to do and ends the failure.
    return None if found.reason is Reason.RETRY else (Reason.NO_NEW_INPUT, "the source has no input that it selects")


def _missing(look: SourceLook, spec: HudiTableSpec) -> str | None:
    """Return the part of a sentence that says that the look found no source, or None."""
    source = declared_source(spec)
    return source.without_input if source is not None and look.inputs == 0 and not look.listed else None


def _may_be_spared(found: Decision, memory: ServiceStatus) -> bool:
    """Whether a run is due by the schedule, or to find out whether the source is there by now."""
    last = memory.last_run
    was_missing = last is not None and last.reason == FailureReason.SOURCE_NOT_FOUND
    return found.due and (found.reason is Reason.SCHEDULED or (found.reason is Reason.RETRY and was_missing))


def _tick_after(
    look: SourceLook | None, spec: HudiTableSpec, memory: ServiceStatus, found: Decision
) -> datetime | None:
    """Return the first tick of the schedule at which another look is possible, or None without a look.

    A source that is missing is looked for all the time, as by retries of a run that did not find it. A look from before
    a run that failed says nothing of why it failed.
    """
    if look is None or spec.ingestion is None:
        return None
    if found.reason is Reason.RETRY and not is_since(look, memory.last_run):
        return None
    if _missing(look, spec) is not None:
        return look.at + LOOK_PAUSE
    try:
        return max(next_run(spec.ingestion.schedule, previous=look.at, first=False), look.at + LOOK_PAUSE)
    except InvalidSchedule:
        return None


def _spared(facts: Facts, reason: Reason, what: str, *, look: SourceLook, tick: datetime) -> Decision:
    """Return the decision that no run is due before the next look.

    Its time stays out of the status where each look would change the status: each change is a write.
    """
    spec = facts.table.spec
    assert spec.ingestion is not None, "only an ingestion looks at a source"
    lag = lag_of(spec, facts.services.ingestion.freshness, now=facts.now)
    is_missing = reason is Reason.SOURCE_NOT_FOUND
    is_rare = not is_missing and tick - look.at >= renewed_every(lag)
    often = "The operator looks again every minute." if is_missing else "Each tick of the schedule looks again."
    next_look = f"The next look is at {format_time(tick)}." if is_rare else often
    message = f"Scheduled {ingestion.rhythm_of(spec.ingestion.schedule)}; {what}, so no job starts. {next_look}"
    return Decision(due=False, reason=reason, message=message, at=tick, shows_time=is_rare)


def _with_problem(found: Decision, look: SourceLook) -> Decision:
    """Return the decision with why the source was not looked at: each tick of the schedule starts a run."""
    if found.reason not in _BY_SCHEDULE:
        return found
    why = shortened(look.message, _MESSAGE_SHOWN)
    message = f"{found.message} Each tick starts a job, because the operator cannot look at the source first: {why}"
    return replace(found, message=message)
