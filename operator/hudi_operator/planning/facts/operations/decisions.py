"""Decisions of people: HudiOperations without a Job that the table records once.

A decision waits only for the facts that it is checked against: it blocks no operation, and no operation blocks it. The
table remembers its effect; the answer stays until the resource shows it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.status.operation_status import FINISHED, OperationState
from hudi_operator.api.status.table_operations import DECISIONS_SHOWN, DecisionAnswer, DecisionsStatus
from hudi_operator.api.status.table_parts import RescanState
from hudi_operator.api.values.base import DecisionKind
from hudi_operator.planning.facts.operations.admission import copy_problem
from hudi_operator.planning.facts.operations.operation_kind import Answer, fails, waits, waits_for_table
from hudi_operator.planning.facts.operations.repeated import repetition
from hudi_operator.planning.facts.runs.failures import acknowledged, bad_rows
from hudi_operator.planning.facts.writers.foreign import acceptance
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.model.times import format_time
from hudi_operator.sources.registry import rescan_refusal

_MESSAGE_LIMIT = 1024
_UNCHANGED = "Nothing was changed."


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recorded decision: its answer, and the changed memory of the table."""

    message: str
    changes: Mapping[str, Any] = field(default_factory=dict)


def with_decisions(observation: Observation, *, now: datetime) -> Observation:
    """Return an observation with the decisions of people in the memory of its table."""
    table = observation.table
    after = _decided(observation, now=now)
    kept = after if after != DecisionsStatus() else None
    if kept == table.status.decisions:
        return observation
    status = table.status.copy_with(decisions=kept)
    if _has_acknowledged(table.status.decisions, after):
        status = status.copy_with(bad_rows=acknowledged(table.status.active_jobs))
    return replace(observation, table=table.copy_with(status=status))


def _has_acknowledged(before: DecisionsStatus | None, after: DecisionsStatus) -> bool:
    """Whether a new acknowledgement of bad rows is recorded."""
    known = {one.uid for one in before.answers if one.state in FINISHED} if before is not None else set()
    fresh = (one for one in after.answers if one.uid not in known and one.reason == OperationReason.SUCCEEDED)
    return any(one.kind is DecisionKind.ACKNOWLEDGE_BAD_ROWS for one in fresh)


def _decided(observation: Observation, *, now: datetime) -> DecisionsStatus:
    memory = _still_meant(observation)
    known = {one.uid: one for one in memory.answers if one.state in FINISHED}
    answers: list[DecisionAnswer] = []
    for resource in list(_unanswered(observation))[:DECISIONS_SHOWN]:
        answer = known.get(resource.metadata.uid)
        if answer is None:
            found = _check(resource, observation, memory)
            answer = _answer(resource, found, now=now)
            if isinstance(found, Recorded):
                memory = memory.copy_with(**dict(found.changes))
        answers.append(answer)
    return memory.copy_with(answers=tuple(answers))


def _unanswered(observation: Observation) -> Iterator[HudiOperation]:
    """Yield the decisions without an answer in their resources, the oldest first."""
    for one in observation.related.oldest_operations:
        if one.spec.decision is None or one.metadata.deletion_timestamp is not None:
            continue
        if one.status.state not in FINISHED:
            yield one


def _still_meant(observation: Observation) -> DecisionsStatus:
    """Return the memory without a completed takeover, and without input that was read again."""
    status, record = observation.table.status, observation.snapshot.owner
    memory = status.decisions or DecisionsStatus()
    if record is not None and memory.take_over not in {record.operator, record.run}:
        memory = memory.copy_with(take_over=None)
    last = status.rescan
    if last is None or last.state is RescanState.ASKED:
        return memory
    return memory.copy_with(rescans=tuple(one for one in memory.rescans if one != last.value))


def _answer(resource: HudiOperation, found: Recorded | Answer, *, now: datetime) -> DecisionAnswer:
    assert resource.spec.decision is not None
    state, reason = OperationState.SUCCEEDED, str(OperationReason.SUCCEEDED)
    if isinstance(found, Answer):
        state, reason = found.state, found.reason
    return DecisionAnswer(
        resource=resource.metadata.name,
        uid=resource.metadata.uid,
        kind=resource.spec.decision,
        state=state,
        reason=reason,
        message=found.message[:_MESSAGE_LIMIT],
        finished_at=format_time(now) if state in FINISHED else None,
    )


def _check(resource: HudiOperation, observation: Observation, memory: DecisionsStatus) -> Recorded | Answer:
    if (ended := repetition(resource, observation.table.status) or copy_problem(resource)) is not None:
        return ended
    if observation.is_hidden:
        return waits(OperationReason.BLOCKED, "The table may not be read; see its condition Ready.")
    match resource.spec.decision:
        case DecisionKind.RESCAN:
            return _rescan(resource, observation, memory)
        case DecisionKind.ACCEPT_COMMITS:
            return _accept(resource, observation, memory)
        case DecisionKind.ACKNOWLEDGE_BAD_ROWS:
            return _acknowledge(observation)
        case _:
            return _take_over(resource, observation)


def _rescan(resource: HudiOperation, observation: Observation, memory: DecisionsStatus) -> Recorded | Answer:
    table, asked = observation.table, resource.spec.rescan
    pattern = asked.path_glob if asked is not None else None
    value = f"read{f':{pattern}' if pattern is not None else ''}#{resource.metadata.uid}"
    problem = (
        "The spec of the table has no ingestion." if table.spec.ingestion is None else rescan_refusal(table.spec, value)
    )
    if problem is not None:
        return fails(OperationReason.REFUSED, f"{problem} {_UNCHANGED}")
    if len(memory.rescans) >= DECISIONS_SHOWN:
        message = f"{DECISIONS_SHOWN} requests to read input again wait for a run; this request waits for a free place."
        return waits(OperationReason.TOO_MANY, message)
    what = "All input is" if pattern is None else f"Files that match {pattern!r} are"
    message = f"{what} read once more by the next run of ingestion."
    return Recorded(message=message, changes={"rescans": (*memory.rescans, value)})


def _accept(resource: HudiOperation, observation: Observation, memory: DecisionsStatus) -> Recorded | Answer:
    asked, timeline = resource.spec.accept_commits, observation.snapshot.timeline
    assert asked is not None
    if observation.table.spec.concurrency.mode is not ConcurrencyMode.SERIALIZED:
        message = f"The table is Optimistic, and commits of other writers need no acceptance there. {_UNCHANGED}"
        return fails(OperationReason.REFUSED, message)
    if timeline is None:
        return waits_for_table(observation)
    accepted = acceptance(asked.up_to, timeline)
    if accepted is None:
        message = f"The timeline has no completed instant {asked.up_to}, so nothing was accepted."
        return fails(OperationReason.INSTANT_NOT_FOUND, message)
    message = f"Commits of other writers that had completed by the completion of {asked.up_to} are accepted."
    return Recorded(message=message, changes={"accepted_up_to": max(accepted, memory.accepted_up_to or "")})


def _take_over(resource: HudiOperation, observation: Observation) -> Recorded | Answer:
    asked, snapshot = resource.spec.take_over, observation.snapshot
    assert asked is not None
    if snapshot.trouble is not None:
        return waits_for_table(observation)
    if snapshot.owner_problem:
        return waits(OperationReason.BLOCKED, snapshot.owner_problem)
    record = snapshot.owner
    if record is None:
        message = f"No record beside the table names an owner, so there is nothing to take over. {_UNCHANGED}"
        return fails(OperationReason.OWNER_NOT_FOUND, message)
    owner = record.run if record.operator == observation.operator else record.operator
    if asked.owner != owner:
        message = (
            f"The decision names {asked.owner!r}, and the record beside the table names operator {record.operator}, "
            f"run {record.run}: create another HudiOperation that names {owner}. {_UNCHANGED}"
        )
        return fails(OperationReason.OWNER_NOT_FOUND, message)
    return Recorded(message=f"The table is taken over from {owner}.", changes={"take_over": owner})


def _acknowledge(observation: Observation) -> Recorded | Answer:
    status = observation.table.status
    rows = bad_rows(status.bad_rows, status.active_jobs)
    if not rows:
        message = f"Table {observation.table.metadata.name} has no bad rows to acknowledge. {_UNCHANGED}"
        return fails(OperationReason.REFUSED, message)
    return Recorded(message=f"{rows:,} bad rows are acknowledged; the count begins again.")
