"""Builds the conditions from an observation and a plan, by the rules of kstatus; Fresh among them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_jobs.contract.wording import counted
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.status.conditions import MESSAGE_LIMIT, Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.findings import Finding, Severity
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.planning.facts.runs.failures import attempts, failure_kind
from hudi_operator.planning.model import BlockerReason, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.reasons import TableReason, Waiting
from hudi_operator.planning.model.times import Lag, format_time, known_up_to, lag_of, target_of
from hudi_operator.planning.outcome.findings.find import Findings
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.readiness import Readiness, readiness
from hudi_operator.planning.outcome.status.step import Freshness
from hudi_operator.sources.registry import declared_source

_Answer = tuple[ConditionStatus, str, str]


def fresh_answers(plan: Plan, *, now: datetime) -> Iterator[_Answer]:
    """Yield the condition of a table with a declared freshness; nothing for other tables.

    A missed freshness leaves the table ready. The sentences change with runs, and when the delay has doubled.
    """
    observation, spec = plan.observation, plan.observation.table.spec
    if spec.ingestion is None or spec.ingestion.freshness is None:
        return
    ingestion = plan.services.ingestion
    lag = lag_of(spec, ingestion.freshness, now=now)
    if spec.management_policy is ManagementPolicy.OBSERVE:
        message = "The table is only observed: nothing is ingested, so its freshness is not known."
        yield ConditionStatus.UNKNOWN, Waiting.OBSERVED, message
    elif lag is None:
        yield ConditionStatus.UNKNOWN, TableReason.FRESHNESS_UNKNOWN, _unknown(observation, ingestion)
    elif lag.is_missed(now):
        message = _missed(lag, spec.ingestion.freshness, ingestion.freshness, now=now)
        help_ = _what_helps(ingestion, observation)
        yield ConditionStatus.FALSE, TableReason.FRESHNESS_MISSED, f"{message} {help_}".strip()
    else:
        yield ConditionStatus.TRUE, TableReason.FRESH, f"{_complete(lag)}{_left(ingestion.freshness)}."


def freshness_figures(observation: Observation, known: FreshnessStatus | None, *, now: datetime) -> Freshness:
    """Return the delay of a table for the metrics; a stopped table alarms nobody."""
    spec, moment = observation.table.spec, known_up_to(known, now=now)
    asked = spec.ingestion.freshness if spec.ingestion else None
    rests = observation.suspended_by is not None or spec.management_policy is ManagementPolicy.OBSERVE
    return Freshness(
        complete_up_to=moment,
        backlog_records=known.backlog_records if known else None,
        backlog_bytes=known.backlog_bytes if known else None,
        target=target_of(asked) if asked is not None and not rests else None,
    )


def _complete(lag: Lag) -> str:
    return f"Everything that was in the source up to {format_time(lag.complete_up_to)} is in the table"


def _missed(lag: Lag, asked: str, known: FreshnessStatus | None, *, now: datetime) -> str:
    behind = _duration(lag.at_least(now))
    return (
        f"{_complete(lag)}{_left(known)}. The freshness of {asked} has been missed since {format_time(lag.missed_at)}; "
        f"the table is at least {behind} behind now."
    )


def _left(known: FreshnessStatus | None) -> str:
    """Return how much input the newest run left, as the end of a sentence."""
    figures = () if known is None else ((known.backlog_records, "record"), (known.backlog_bytes, "byte"))
    left = [f"{number} {what}{'' if number == 1 else 's'}" for number, what in figures if number is not None]
    if not left:
        return ""
    nothing = not any(number for number, _ in figures)
    return f", and its newest run left {'nothing' if nothing else ' or '.join(left)} to read"


def _duration(length: timedelta) -> str:
    hours, seconds = divmod(round(length.total_seconds()), 3600)
    minutes, seconds = divmod(seconds, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def _unknown(observation: Observation, ingestion: ServiceStatus) -> str:
    last = ingestion.last_run
    if observation.suspended_by is not None:
        return "The table is suspended, and no run has reported how far its source has been read."
    if last is None or failure_kind(last) is not None:
        return (
            "No run of this source has succeeded yet, so it is not known how far behind the table is. "
            f"{ingestion.message}"
        )
    return (
        "No run of this source has reported yet how far it was read; the next run will, unless its Spark image is "
        f"older than the operator. {ingestion.message}"
    )


def _what_helps(ingestion: ServiceStatus, observation: Observation) -> str:
    """Return what the table waits for, and what a person can do about it."""
    if (suspension := observation.suspended_by) is not None:
        return f"The table is suspended: nothing is ingested until {suspension.end}."
    if attempts(ingestion):
        return f"The last run failed: see status.services.ingestion.lastRun. {ingestion.message}"
    if ingestion.more_input:
        return (
            f"Runs reach their limits and leave input unread: raise {_limits(observation.table.spec)}, "
            f"or give the driver more resources under spec.execution. {ingestion.message}"
        )
    if ingestion.reason == Reason.WAITING_FOR_SCHEDULE:
        return f"A shorter schedule reads the source sooner. {ingestion.message}"
    return ingestion.message


def _limits(spec: HudiTableSpec) -> str:
    """Return the fields that limit a run of the source."""
    source = declared_source(spec)
    return " or ".join(source.limit_fields if source is not None else ())


def build_conditions(plan: Plan, findings: Findings, *, now: datetime) -> tuple[Condition, ...]:
    """Return all conditions of a table, Ready first."""
    found = readiness(plan, findings.current)
    make = ConditionMaker(generation=plan.observation.table.metadata.generation, now=now)
    return (
        make(ConditionType.READY, found.ready, found.reason, found.message),
        *_progress(plan.observation, found, make),
        make(ConditionType.HEALTHY, *_healthy(findings.shown, plan.observation.snapshot)),
        *(make(ConditionType.FRESH, *answer) for answer in fresh_answers(plan, now=now)),
    )


def invalid_conditions(invalid: InvalidObject, *, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a table with a spec that this version of the operator cannot read."""
    make = ConditionMaker(generation=invalid.metadata.generation, now=now)
    message = f"The spec is not valid for this version of the operator: {invalid.message}. Correct the spec."
    unread = TimelineSnapshot(trouble=TimelineTrouble.NOT_OBSERVED, message=message)
    return (
        make(ConditionType.READY, ConditionStatus.FALSE, BlockerReason.INVALID_SPEC, message),
        make(ConditionType.STALLED, ConditionStatus.TRUE, BlockerReason.INVALID_SPEC, message),
        make(ConditionType.HEALTHY, *_healthy(invalid.status.findings, unread)),
    )


@dataclass(frozen=True, kw_only=True)
class ConditionMaker:
    """Makes conditions for a generation of a spec at a moment."""

    generation: int
    now: datetime

    def __call__(self, kind: ConditionType, status: ConditionStatus, reason: str, message: str) -> Condition:
        """Return a condition; a message that is too long loses its end."""
        return Condition(
            type=kind,
            status=status,
            observed_generation=self.generation,
            last_transition_time=format_time(self.now),
            reason=reason,
            message=message[:MESSAGE_LIMIT],
        )


def _progress(observation: Observation, found: Readiness, make: ConditionMaker) -> Iterator[Condition]:
    """Yield the conditions that are present only while they are true."""
    if found.stalled:
        yield make(ConditionType.STALLED, ConditionStatus.TRUE, found.reason, found.message)
    elif found.reconciling is not None:
        yield make(ConditionType.RECONCILING, ConditionStatus.TRUE, found.reconciling, found.work)
    if (suspension := observation.suspended_by) is not None:
        message = f"No new job starts until {suspension.end}; running jobs finish."
        yield make(ConditionType.SUSPENDED, ConditionStatus.TRUE, Waiting.SUSPENDED, message)


def _healthy(findings: tuple[Finding, ...], snapshot: TimelineSnapshot) -> tuple[ConditionStatus, str, str]:
    """Return Healthy by the worst finding, which comes first; without any, Unknown if the timeline is unreadable."""
    serious = [one for one in findings if one.severity is not Severity.INFO]
    if serious:
        more = len(serious) - 1
        others = f" {counted(more, 'other finding')} {'is' if more == 1 else 'are'} in status.findings." if more else ""
        return ConditionStatus.FALSE, serious[0].code, f"{serious[0].message[: MESSAGE_LIMIT - len(others)]}{others}"
    if snapshot.trouble is not None:
        return ConditionStatus.UNKNOWN, snapshot.trouble, snapshot.message
    return ConditionStatus.TRUE, TableReason.NO_FINDINGS, "Nothing needs a person's attention."
