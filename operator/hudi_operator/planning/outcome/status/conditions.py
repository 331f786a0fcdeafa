"""Builds the conditions from an observation and a plan, by the rules of kstatus."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract.wording import counted
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.status.conditions import MESSAGE_LIMIT, Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.findings import Finding, Severity
from hudi_operator.planning.model import BlockerReason, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.reasons import TableReason, Waiting
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.findings.find import Findings
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.freshness import fresh_answers
from hudi_operator.planning.outcome.status.readiness import Readiness, readiness


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
