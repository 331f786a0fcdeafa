"""The conditions that follow from an observation and a plan, by the rules of kstatus."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import differences_message
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.acts import PendingOwner
from hudi_operator.api.status.conditions import MESSAGE_LIMIT, Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.table import PendingStatus, ServiceStatus
from hudi_operator.planning.model import BlockerReason, Observation, Plan, TimelineTrouble
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.model.reasons import TableReason, Waiting
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.policy.drift import drift_reason
from hudi_operator.planning.runs.failures import attempts, failure_kind
from hudi_operator.planning.services.rescan import skipped_input
from hudi_operator.planning.services.starting.slots import QUOTAS_REACHED, RESTING
from hudi_operator.planning.status.freshness import fresh_answers
from hudi_operator.planning.status.readiness import Readiness, live_message, maintenance_reason, readiness
from hudi_operator.planning.writers.foreign import foreign_message
from hudi_operator.services.ingestion import INGESTION
from hudi_operator.services.operation import OPERATION
from hudi_operator.services.registry import DEFINITIONS, mode_of
from hudi_operator.services.savepoint import SAVEPOINT


def build_conditions(observation: Observation, plan: Plan, *, now: datetime) -> tuple[Condition, ...]:
    """Return all conditions of a table, Ready first."""
    found = readiness(observation, plan)
    make = ConditionMaker(generation=observation.table.metadata.generation, now=now)
    return (
        make(ConditionType.READY, found.ready, found.reason, found.message),
        *_abnormal(observation, plan, found, make),
        *_services(observation.table.spec, plan, make),
        *(make(ConditionType.FRESH, *answer) for answer in fresh_answers(observation.table.spec, plan, now=now)),
    )


def invalid_conditions(invalid: InvalidObject, *, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a table whose spec this version of the operator cannot read."""
    make = ConditionMaker(generation=invalid.metadata.generation, now=now)
    message = f"The spec is not valid for this version of the operator: {invalid.message}. Correct the spec."
    return (
        make(ConditionType.READY, ConditionStatus.FALSE, BlockerReason.INVALID_SPEC, message),
        make(ConditionType.STALLED, ConditionStatus.TRUE, BlockerReason.INVALID_SPEC, message),
    )


@dataclass(frozen=True, kw_only=True)
class ConditionMaker:
    """Makes conditions that speak about one generation of a spec, as of one moment."""

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


def _abnormal(observation: Observation, plan: Plan, found: Readiness, make: ConditionMaker) -> Iterator[Condition]:
    """Yield the conditions that stand only while they are true."""
    if found.stalled:
        yield make(ConditionType.STALLED, ConditionStatus.TRUE, found.reason, found.message)
    elif found.reconciling is not None:
        yield make(ConditionType.RECONCILING, ConditionStatus.TRUE, found.reconciling, found.work)
    if observation.table.spec.suspend:
        message = "No new job starts until spec.suspend is false; running jobs finish."
        yield make(ConditionType.SUSPENDED, ConditionStatus.TRUE, Waiting.SUSPENDED, message)
    if plan.maintenance is not None:
        yield make(ConditionType.MAINTENANCE, ConditionStatus.TRUE, maintenance_reason(plan), plan.maintenance)
    if plan.owned_elsewhere is not None:
        yield make(
            ConditionType.OWNED_ELSEWHERE, ConditionStatus.TRUE, TableReason.OWNED_ELSEWHERE, plan.owned_elsewhere
        )
    if plan.foreign:
        message = foreign_message(plan.foreign, plan.acceptance_ignored)
        yield make(ConditionType.FOREIGN_WRITER, ConditionStatus.TRUE, TableReason.FOREIGN_WRITER, message)
    if (skipped := skipped_input(observation.table, plan.services.ingestion, plan.active_jobs)) is not None:
        yield make(ConditionType.INPUT_SKIPPED, ConditionStatus.TRUE, *skipped)
    if plan.drift:
        message = differences_message(plan.drift)
        yield make(ConditionType.DRIFT, ConditionStatus.TRUE, drift_reason(plan.drift), message)
    if plan.overdue:
        message = _overdue_message(plan.overdue)
        yield make(ConditionType.PENDING_INSTANT_OVERDUE, ConditionStatus.TRUE, TableReason.OVERDUE, message)


def _overdue_message(overdue: tuple[PendingStatus, ...]) -> str:
    oldest = overdue[0]
    whose = "" if oldest.owner is PendingOwner.THIS_TABLE else "Another tool or an unknown run began it. "
    if oldest.left_alone_until is not None:
        whose += f"It is left alone until {oldest.left_alone_until}. "
    others = f" {len(overdue) - 1} more are overdue too." if len(overdue) > 1 else ""
    return (
        f"{oldest.action} {oldest.time} has been {oldest.state.lower()} since {oldest.since}. "
        f"{whose}{oldest.blocks}{others} See the service under status.services for what is done about it."
    )


def _services(spec: HudiTableSpec, plan: Plan, make: ConditionMaker) -> Iterator[Condition]:
    for definition in DEFINITIONS:
        memory = plan.services.of(definition.service)
        if definition is OPERATION or (definition is SAVEPOINT and plan.services.savepoint is None):
            continue  # of an operation the condition Maintenance tells, and its own status
        if definition is INGESTION:
            if spec.ingestion is not None:
                live = live_message(plan)
                answer = _ingested(memory) if live is None else (ConditionStatus.TRUE, Reason.CONTINUOUS, live)
                yield make(definition.condition, *answer)
        elif mode_of(spec, definition.service) is not ServiceMode.DISABLED:
            yield make(definition.condition, *_served(memory))


_Answer = tuple[ConditionStatus, str, str]
_GOOD = "Up to date."
_NO_RUN_YET = (ConditionStatus.UNKNOWN, TableReason.PROGRESSING, "No run of this spec has ended yet.")


def _ingested(memory: ServiceStatus) -> _Answer:
    last = memory.last_run
    if last is None or (failure_kind(last) is not None and attempts(memory) == 0):
        return _rests(memory) or _without_place(memory) or _NO_RUN_YET
    return _failed(memory) or _without_place(memory) or (ConditionStatus.TRUE, last.outcome, last.message or _GOOD)


_CANNOT_TELL = frozenset({Reason.NO_TABLE, Reason.COUNTER_UNCERTAIN, Reason.INLINE, *TimelineTrouble})


def _served(memory: ServiceStatus) -> _Answer:
    """Return whether a table service has done what was due; what is not due yet is no failure."""
    last = memory.last_run
    failed = _failed(memory)
    if failed is not None:
        return failed
    if memory.reason in _CANNOT_TELL:
        return ConditionStatus.UNKNOWN, memory.reason, memory.message
    rests = _rests(memory)
    waits = rests if memory.reason == Waiting.OBSERVED else _without_place(memory)
    if waits is not None:
        return waits  # whatever an earlier run of ours left; of a table that is observed, it is another tool's to do
    if last is not None and failure_kind(last) is None:
        return ConditionStatus.TRUE, last.outcome, last.message or _GOOD
    if memory.due:
        return rests or _NO_RUN_YET
    return ConditionStatus.TRUE, memory.reason, memory.message


def _rests(memory: ServiceStatus) -> _Answer | None:
    """Return what would be due of a table on which nothing starts until a person has done something."""
    if not memory.due or memory.reason not in RESTING:
        return None
    return ConditionStatus.UNKNOWN, memory.reason, memory.message


def _without_place(memory: ServiceStatus) -> _Answer | None:
    """Return what is said of what is due and finds as many Jobs running as the class allows, which may last for ever.

    A continuous ingestion keeps its place.
    """
    if not memory.due or memory.reason not in QUOTAS_REACHED:
        return None
    return ConditionStatus.UNKNOWN, memory.reason, memory.message


def _failed(memory: ServiceStatus) -> _Answer | None:
    last = memory.last_run
    if last is None or failure_kind(last) is None or attempts(memory) == 0:
        return None
    return ConditionStatus.FALSE, last.reason or last.outcome, f"{last.message} {memory.message}"
