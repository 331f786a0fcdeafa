"""The changes that deserve an Event: conditions, new and resolved findings, and acts of runs and of other tools."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_jobs.contract import Effect
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.api.status.operation_status import FINISHED, OperationState
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import PendingOwner
from hudi_operator.planning.facts.runs.affected import affected_message
from hudi_operator.planning.facts.runs.failures import has_passed_over
from hudi_operator.planning.facts.writers.acts import ACT_REASONS, act_message, new_acts
from hudi_operator.planning.model.reasons import (
    OperationEvent,
    OperationReason,
    TableEvent,
)
from hudi_operator.planning.outcome.findings.not_verified import has_table
from hudi_operator.sources.definition import losses
from hudi_operator.timeline import Action


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A change that a person may want to know."""

    warning: bool
    reason: str
    message: str


_RESUMED = Transition(warning=False, reason=TableEvent.RESUMED, message="New jobs may start again.")

_WATCHED = (ConditionType.READY, ConditionType.SUSPENDED, ConditionType.FRESH)
_MAY_BE_FALSE = frozenset({ConditionType.READY, ConditionType.FRESH})


def transitions(before: HudiTableStatus, after: HudiTableStatus) -> tuple[Transition, ...]:
    """Return the Events of a change from one status to the next; none if nothing changed."""
    found = [
        transition
        for kind in _WATCHED
        if (transition := _transition(find_condition(before.conditions, kind), find_condition(after.conditions, kind)))
    ]
    found += [
        *_maintenance_ended(before, after),
        *_operations(before, after),
        *_affected(before, after),
        *_losses(before, after),
        *_acts(before, after),
    ]
    told = {one.reason for one in found}
    return (*found, *(one for one in _findings(before, after) if one.reason not in told))


def _findings(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[Transition]:
    """Yield the new and the resolved findings."""
    known, present = ({one.code for one in status.findings} for status in (before, after))
    for one in after.findings:
        if one.code not in known:
            warning = one.severity is not Severity.INFO
            yield Transition(warning=warning, reason=one.code, message=one.message)
    for one in before.findings:
        if one.code not in present:
            message = f"{one.code}: the finding of {one.since} is gone."
            yield Transition(warning=False, reason=TableEvent.FINDING_RESOLVED, message=message)


def _maintenance_ended(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[Transition]:
    if _is_maintained(before) and not _is_maintained(after):
        yield _RESUMED


def _is_maintained(status: HudiTableStatus) -> bool:
    """Whether an operation has the table to itself, or has left a result that a person has to check."""
    is_left = any(one.code is FindingCode.NOT_VERIFIED for one in status.findings)
    return is_left or any(map(has_table, status.operations))


def _affected(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[Transition]:
    """Yield the effects of newly ended runs on instants of others, and on the leftovers of earlier runs."""
    reported = {run.job for run in before.history}
    for run in reversed(after.history):
        for one in run.affected or () if run.job not in reported else ():
            warning = one.owner is PendingOwner.OTHER and one.effect is not Effect.FINISHED
            yield Transition(warning=warning, reason=one.effect, message=affected_message(one))


def operations_ended(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[TableOperation]:
    """Yield the newly ended operations; an operation that was over when first seen gets no Event."""
    open_before = {one.uid for one in before.operations if one.state not in FINISHED}
    return (one for one in after.operations if one.uid in open_before and one.state in FINISHED)


def event_of(operation: TableOperation) -> OperationEvent:
    """Return the Event about the end of an operation."""
    if operation.state is OperationState.SUCCEEDED:
        return OperationEvent.SUCCEEDED
    is_left = operation.reason == OperationReason.NOT_VERIFIED
    return OperationEvent.NOT_VERIFIED if is_left else OperationEvent.FAILED


def _operations(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[Transition]:
    for one in operations_ended(before, after):
        message = f"HudiOperation {one.resource}: {one.message}"
        yield Transition(warning=one.state is OperationState.FAILED, reason=event_of(one), message=message)


def _losses(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[Transition]:
    """Yield the lost messages of newly ended runs, and at the first loss those of a running driver."""
    lost = {job.name for job in before.active_jobs if job.live is not None and job.live.skipped}
    for job in after.active_jobs:
        if job.live is not None and job.live.skipped and job.name not in lost:
            yield _loss(job.name, job.live.records_skipped, job.live.skipped)
    reported = {run.job for run in before.history}
    for run in reversed(after.history):
        if has_passed_over(run) and run.job not in reported:
            yield _loss(run.job, run.records_skipped, run.skipped or ())


def _loss(run: str, known: int | None, places: Iterable[str]) -> Transition:
    gone = losses(known or 0, places)
    message = f"Run {run} skipped messages that were gone before they could be read: {gone}."
    return Transition(warning=True, reason=FindingCode.RECORDS_SKIPPED, message=message)


def _acts(before: HudiTableStatus, after: HudiTableStatus) -> Iterator[Transition]:
    """Yield the acts of others on the history of the table since the last reconcile."""
    for act in new_acts(before.timeline, after.timeline):
        warning = act.action != Action.SAVEPOINT
        yield Transition(warning=warning, reason=ACT_REASONS[act.action], message=act_message(act))


def _transition(before: Condition | None, after: Condition | None) -> Transition | None:
    if after is None:
        return _RESUMED if before is not None and before.type is ConditionType.SUSPENDED else None
    if before is not None and before.status is after.status and _word(before) == _word(after):
        return None
    if after.type is ConditionType.FRESH and _says_nothing(before, after):
        return None
    warning = after.type in _MAY_BE_FALSE and after.status is ConditionStatus.FALSE
    return Transition(warning=warning, reason=after.reason, message=after.message)


def _says_nothing(before: Condition | None, after: Condition) -> bool:
    """Whether the freshness is unchanged since it was last known, or was only just declared."""
    if after.status is ConditionStatus.FALSE:
        return False
    return after.status is ConditionStatus.UNKNOWN or before is None


def _word(condition: Condition) -> str:
    """Return the part of a condition that must differ for an Event: a ready table stays ready with or without work."""
    return "" if condition.status is ConditionStatus.TRUE else condition.reason
