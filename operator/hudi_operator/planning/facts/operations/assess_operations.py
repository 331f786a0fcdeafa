"""Decides the state of a table's operations: they run one at a time, the oldest first.

An operation has the table to itself from its begin to its end. The operator never gives up an operation that has begun,
whatever happens to its resource, its class or its table: only another run of it can repair a half changed table.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hudi_jobs.contract import GOES_BACK, OperationPhase
from hudi_operator.api.status.operation_status import FINISHED, WAITING, OperationState
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.table_operations import OPERATIONS_SHOWN, NamedOperationJob, TableOperation
from hudi_operator.planning.facts.operations.admission import (
    Held,
    admitted,
    claim_problem,
    requires_approval,
    waiting_state,
)
from hudi_operator.planning.facts.operations.declared import Declared, declared_of, is_without_keys, unacknowledged
from hudi_operator.planning.facts.operations.ended import after_runs
from hudi_operator.planning.facts.operations.operation_kind import Answer
from hudi_operator.planning.facts.runs.tracking import is_wanted
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.timeline import Action

SOON = timedelta(seconds=1)
"""The delay after an operation was recorded: its run starts with the next reconcile."""

_MESSAGE_LIMIT = 1024

Waiting: TypeAlias = list[tuple[Declared, NamedOperationJob]]
"""Operations that may begin, each with the work of its Jobs."""


@dataclass(frozen=True, kw_only=True)
class Operations:
    """The status of a table's operations, and the operation that a run has to start for.

    `maintenance` says why nothing else may start, `at` when time alone changes something.
    """

    entries: tuple[TableOperation, ...] = ()
    following: NamedOperationJob | None = None
    maintenance: str | None = None
    at: datetime | None = None


def assess(
    observation: Observation,
    *,
    active: tuple[ActiveJob, ...],
    finished: tuple[RunStatus, ...],
    held: Held,
    now: datetime,
) -> Operations:
    """Return the state of a table's operations."""
    found = [
        replace(one, entry=_brief(one, after_runs(one.entry, finished, observation, resource=one.resource, now=now)))
        for one in _with_approvals(declared_of(observation, active, now=now), observation)
    ]
    told, waiting = _looked_at(found, observation, held=held, now=now)
    current, job = _current(told, waiting, held)
    entries = tuple(one.entry for one in told if one is not current)
    untold = frozenset(one.entry.uid for one in told if _is_untold(one))
    if current is None:
        return Operations(entries=_shown(entries, untold), maintenance=unacknowledged(told, observation))
    behind = {one.entry.uid: _waiting_state(one) for one, _ in waiting}
    entries = tuple(_behind(entry, current, behind) for entry in entries)
    step = _step(current, job, observation, active=active, held=held, now=now)
    maintenance = step.maintenance or unacknowledged(told, observation)
    return replace(step, entries=_shown((*step.entries, *entries), untold), maintenance=maintenance)


def _with_approvals(found: Iterable[Declared], observation: Observation) -> Iterator[Declared]:
    """Yield each operation with the memory of its need for an approval, until it has begun."""
    for one in found:
        settled = one.resource is None or one.is_finished or (one.must_be_finished and not one.entry.claimed)
        if one.resource is None or settled:
            yield one
            continue
        required = requires_approval(one.resource, observation, before=one.entry.approval_required)
        yield replace(one, entry=one.entry.copy_with(approval_required=required))


def _waiting_state(one: Declared) -> OperationState:
    return waiting_state(one.resource, approval_required=one.entry.approval_required)


def _looked_at(
    found: Iterable[Declared], observation: Observation, *, held: Held, now: datetime
) -> tuple[list[Declared], Waiting]:
    """Return the state of each operation, and the operations that they and their class let begin.

    The class limits how many have begun or may begin. An operation that waits for a person, the class or an unknown
    writer takes no place, so that it does not keep out the operation that resolves its wait.
    """
    limit = observation.table_class.spec.operations.max_per_table if observation.table_class is not None else 1
    told: list[Declared] = []
    waiting: Waiting = []
    places = limit
    for one in found:
        if one.is_finished or one.must_be_finished:
            told.append(_without_keys(one, now=now) if is_without_keys(one, observation) else one)
            places -= not told[-1].is_finished
            continue
        if one.is_going or observation.metadata.deletion_timestamp is not None:
            continue  # has not begun, and never will: the table does not know it any more
        answer, job = _admitted(one, observation, now=now) if places > 0 else (_too_many(one, limit), None)
        told.append(answer)
        if job is not None:
            waiting.append((answer, job))
            places -= held.of(answer.entry) is None
    return told, waiting


def _brief(one: Declared, entry: TableOperation) -> TableOperation:
    """Return the memory without its partitions once the resource shows them, or is gone."""
    told = entry.report.verification if entry.report is not None else None
    if entry.report is None or told is None or entry.state not in FINISHED:
        return entry
    if one.resource is not None and one.resource.status.state not in FINISHED:
        return entry
    brief = told.copy_with(partitions=())
    return entry.copy_with(report=entry.report.copy_with(verification=brief))


def _without_keys(one: Declared, *, now: datetime) -> Declared:
    message = (
        "The erasure had begun when its HudiOperation, the only place of the keys, was removed by hand. Create "
        "another HudiOperation that erases the same keys; it completes the erasure."
    )
    over = {"state": OperationState.FAILED, "reason": OperationReason.KEYS_LOST, "finished_at": format_time(now)}
    return _with(one, message=message, **over)


def _too_many(one: Declared, limit: int) -> Declared:
    message = f"The class allows {limit} operations per table that may begin; it waits until another finishes."
    return _with(one, state=OperationState.PENDING, reason=OperationReason.TOO_MANY, message=message)


def _admitted(one: Declared, observation: Observation, *, now: datetime) -> tuple[Declared, NamedOperationJob | None]:
    assert one.resource is not None, "an operation that has not begun and has no resource is forgotten"
    asked = one.entry.approval_required
    answer = admitted(one.resource, observation, shown=one.entry.job, asked_before=asked)
    return (_answered(one, answer, now=now), None) if isinstance(answer, Answer) else (one, answer)


def _answered(one: Declared, answer: Answer, *, now: datetime) -> Declared:
    over = {"finished_at": format_time(now)} if answer.state in FINISHED else {}
    job = answer.job or one.entry.job
    return _with(one, state=answer.state, reason=answer.reason, message=answer.message, job=job, **over)


def _current(
    told: Iterable[Declared], waiting: Waiting, held: Held
) -> tuple[Declared | None, NamedOperationJob | None]:
    """Return the operation that has the table to itself, or comes next: an operation that has begun goes first.

    A blocked operation does not block others; a repair may be what unblocks it.
    """
    must = sorted((one for one in told if one.must_be_finished), key=lambda one: one.job is None)
    if must:
        return must[0], must[0].entry.job
    may_begin = (one for one in waiting if held.of(one[0].entry) is None)
    return next(may_begin, waiting[0] if waiting else (None, None))


def _step(
    current: Declared,
    job: NamedOperationJob | None,
    observation: Observation,
    *,
    active: tuple[ActiveJob, ...],
    held: Held,
    now: datetime,
) -> Operations:
    """Return the state of the operation that comes next."""
    begun = current.entry.begun
    if current.job is not None:
        return _at_work(current, current.job, observation)
    if (why := held.of(current.entry)) is not None and not begun:
        changes = {"reason": OperationReason.BLOCKED, "report": held.report_of(current.entry)}
        waits = _with(current, state=_waiting_state(current), message=why, **changes)
        return Operations(entries=(waits.entry,))
    if (problem := _claim_problem(current, job, observation)) is not None:
        claim = _answered(current, problem, now=now).entry
        is_over = claim.state in FINISHED
        return Operations(entries=(claim,), maintenance=None if is_over else _alone(claim, claim.message))
    following = _following(current, job, active=active, held=held, now=now)
    state = OperationState.RUNNING if begun else OperationState.DRAINING
    told = _with(current, state=state, reason=following.reason, message=following.message).entry
    finishes = begun and (current.entry.claimed or not is_wanted(current.entry.uid, observation))
    asked = job.copy_with(only_recorded=finishes) if job else None
    return Operations(
        entries=(told,),
        following=asked if following.starts else None,
        maintenance=_alone(told, told.message),
        at=following.at,
    )


def _claim_problem(current: Declared, job: NamedOperationJob | None, observation: Observation) -> Answer | None:
    """Return why no Job starts for an operation that only the resource says has begun; known work continues."""
    if not current.entry.is_bare_claim or current.resource is None:
        return None
    asks = current.entry.approval_required
    return claim_problem(current.resource, observation, job, approval_required=asks)


@dataclass(frozen=True, kw_only=True)
class _Following:
    """Whether the run of an operation starts now, or what it waits for."""

    reason: OperationReason
    message: str
    at: datetime | None = None
    starts: bool = False


def _following(
    current: Declared,
    job: NamedOperationJob | None,
    *,
    active: tuple[ActiveJob, ...],
    held: Held,
    now: datetime,
) -> _Following:
    if current.entry.begun and held.begun is not None:
        return _Following(reason=OperationReason.BLOCKED, message=held.begun)
    if job is None:
        message = (
            "The status no longer says what the operation has to do, so the operator cannot finish it. Check the table."
        )
        return _Following(reason=OperationReason.BLOCKED, message=message)
    retry_at = parse_time(current.entry.retry_at)
    if retry_at is not None and retry_at > now:
        return _Following(reason=OperationReason.RETRYING, message=current.entry.message, at=retry_at)
    if active:
        message = f"No other Job starts; waiting for {', '.join(one.name for one in active)} to end."
        return _Following(reason=OperationReason.DRAINING, message=message)
    at = None if current.may_start else now + SOON
    message = "No Job of the table runs; the Job of the operation starts next."
    return _Following(reason=OperationReason.DRAINING, message=message, at=at, starts=current.may_start)


def _at_work(current: Declared, job: ActiveJob, observation: Observation) -> Operations:
    state, reason = (
        (OperationState.VERIFYING, OperationReason.VERIFYING)
        if _verifies(current.entry, job, observation)
        else (OperationState.RUNNING, OperationReason.AT_WORK)
    )
    message = f"Job {job.name}: {job.message or job.state}"
    told = _with(current, state=state, reason=reason, message=message, job=job.operation).entry
    return Operations(entries=(told,), maintenance=_alone(told, message))


def _verifies(entry: TableOperation, job: ActiveJob, observation: Observation) -> bool:
    """Whether the driver compares rows now; for a restore the timeline shows it too."""
    told = observation.snapshot.told
    if told is not None and (told.uid, told.run) == (entry.uid, job.name):
        return told.phase is OperationPhase.VERIFYING
    if entry.kind not in GOES_BACK or entry.dry_run:
        return False
    timeline = observation.snapshot.timeline
    restores = [one.time for one in (timeline.completed if timeline else ()) if one.action is Action.RESTORE]
    return max(restores, default="") > (job.base_instant or "")


def _behind(entry: TableOperation, current: Declared, behind: Mapping[str, OperationState]) -> TableOperation:
    if entry.uid not in behind:
        return entry
    return entry.copy_with(
        state=behind[entry.uid],
        reason=OperationReason.PENDING,
        message=f"Waiting for HudiOperation {current.entry.resource}.",
    )


def _alone(entry: TableOperation, message: str) -> str:
    return f"Blocked by HudiOperation {entry.resource}, which has the table to itself: {message}"[:_MESSAGE_LIMIT]


def _with(one: Declared, **changes: Any) -> Declared:  # noqa: ANN401 - as for `copy_with`
    message = str(changes.get("message", one.entry.message))[:_MESSAGE_LIMIT]
    return replace(one, entry=one.entry.copy_with(**{**changes, "message": message}))


def _is_untold(one: Declared) -> bool:
    """Whether the resource of a finished operation does not show its end yet: forgotten now, it would be done again."""
    if not one.is_finished or one.resource is None or one.resource.status.reason == OperationReason.CASCADING:
        return False
    return one.resource.status.state not in FINISHED


def _shown(entries: Iterable[TableOperation], untold: Collection[str]) -> tuple[TableOperation, ...]:
    """Return as many operations as status holds: active, `untold`, holding and waiting operations, then the newest."""

    def rank(one: TableOperation) -> int:
        if one.state in FINISHED:
            return 1 if one.uid in untold else 2 if one.reason == OperationReason.NOT_VERIFIED else 4
        return 0 if one.begun or one.state not in WAITING else 3

    ordered = sorted(entries, key=lambda one: one.finished_at or "", reverse=True)
    return tuple(sorted(ordered, key=rank))[:OPERATIONS_SHOWN]
