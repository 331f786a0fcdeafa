"""Decides the state of a requested savepoint from the observed table: to be made, refused, kept, lost, or ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.savepoints import SavepointState, TableSavepoint
from hudi_operator.api.status.table_parts import TakeoverStatus
from hudi_operator.planning.facts.savepoints.requested import Declared
from hudi_operator.planning.facts.savepoints.rules import (
    Refusal,
    completeness,
    needed_by_restores,
    newest_commit,
    refusal_of,
)
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time
from hudi_operator.timeline import Action, Timeline

_MESSAGE_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of a run for a resource, and its commit."""

    what: SavepointWork
    instant: str


Answer = tuple[TableSavepoint, Work | None]
"""The entry of a savepoint, and the run it waits for."""


@dataclass(kw_only=True)
class ObservedTable:
    """The observed table state; `claimed` maps instants to the resources that own their savepoints.

    `needed` are the savepoints that restores need, as `needed_by_restores` returns them.
    """

    timeline: Timeline | None
    trouble: str | None
    takeover: str | None
    limit: int
    retry: RetrySettings
    now: datetime
    saved: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()
    needed: Mapping[str, str] = field(default_factory=dict)
    claimed: dict[str, str] = field(default_factory=dict)

    def owner(self, instant: str | None, declared: Declared) -> str | None:
        """Return another resource that owns, or will own, the savepoint on a commit."""
        owner = self.claimed.get(instant or "")
        return owner if owner != declared.name else None

    def restore_to(self, declared: Declared) -> str | None:
        """Return the HudiOperation that restores to a resource's savepoint, if any."""
        target = declared.target
        if declared.since is None or declared.is_gone or declared.job is not None or target not in self.saved:
            return None
        return self.needed.get(declared.name) or self.needed.get(target or "")

    def claim(self, instant: str, declared: Declared) -> None:
        """Reserve a commit for a resource."""
        self.claimed[instant] = declared.name


def observe_table(observation: Observation, takeover: TakeoverStatus | None, *, now: datetime) -> ObservedTable:
    """Return the observed state of a table."""
    snapshot, table_class = observation.snapshot, observation.table_class
    trouble = snapshot.message or str(snapshot.trouble) if snapshot.trouble is not None else None
    timeline = snapshot.timeline if trouble is None else None
    begun = (one for one in timeline.pending if one.action is Action.SAVEPOINT) if timeline else ()
    return ObservedTable(
        timeline=timeline,
        trouble="The table may not be read." if observation.is_hidden else trouble,
        takeover=takeover.savepoint if takeover is not None else None,
        limit=table_class.spec.savepoints.max_per_table if table_class is not None else 0,
        retry=table_class.spec.retry if table_class is not None else RetrySettings(),
        now=now,
        saved=frozenset(timeline.counters.savepoints if timeline else ()),
        begun=frozenset(one.time for one in begun),
        needed=needed_by_restores(observation),
    )


def entry(
    declared: Declared,
    seen: ObservedTable,
    state: SavepointState,
    reason: SavepointReason,
    message: str,
    **changes: Any,  # noqa: ANN401 - as for `copy_with`
) -> TableSavepoint:
    """Return the status entry of a resource's savepoint."""
    named = declared.job.named_savepoint if declared.job is not None else None
    told = TableSavepoint(
        instant=declared.target or (named.instant if named is not None else None),
        resource=declared.name,
        uid=declared.uid,
        state=state,
        reason=reason,
        message=message[:_MESSAGE_LIMIT],
        adopted=declared.was_adopted if declared.since is not None else False,
        since=declared.since,
        data_complete=declared.data_complete,
        failures=declared.failures,
        retry_at=declared.retry_at(seen.retry, now=seen.now),
    )
    return told.copy_with(**changes)


_PASSED_OVER = frozenset({SavepointReason.INSTANT_NOT_FOUND, SavepointReason.INSTANT_CLEANED})
"""Reasons why a decided commit can never get a savepoint, unless it already has one."""


def living(declared: Declared, seen: ObservedTable) -> Answer:
    """Return the state of a savepoint with an existing resource that has not expired."""
    if declared.is_gone:
        return _lost(declared, seen), None
    told = _told(declared, seen)
    if told is not None:
        return told, None
    target = declared.target
    if target is not None and target in seen.saved and seen.timeline is not None:
        return _there(declared, target, seen, seen.timeline), None
    if declared.since is not None:
        return _lost(declared, seen), None
    return _to_be_made(declared, seen)


def _to_be_made(declared: Declared, seen: ObservedTable) -> Answer:
    newest = newest_commit(seen.timeline) if seen.timeline is not None else None
    if seen.timeline is None or newest is None:
        return _waits(declared, seen, SavepointReason.NO_COMMIT, "The table has no commit yet."), None
    if not declared.is_held:
        return _waits(declared, seen, SavepointReason.WAITING, "The operator has just seen the resource."), None
    passed_over = _passed_over(declared, seen, seen.timeline)
    if passed_over is not None:
        return _chosen_again(declared, newest, passed_over, seen, seen.timeline)
    return _wanted(declared, declared.target, newest, seen, seen.timeline)


def _lost(declared: Declared, seen: ObservedTable) -> TableSavepoint:
    message = (
        f"The savepoint on {declared.target} is no longer in the table. It is not made again; create another "
        "HudiSavepoint."
    )
    return entry(declared, seen, SavepointState.LOST, SavepointReason.LOST, message)


def _waits(declared: Declared, seen: ObservedTable, reason: SavepointReason, message: str) -> TableSavepoint:
    return entry(declared, seen, SavepointState.WAITING, reason, message)


def _told(declared: Declared, seen: ObservedTable) -> TableSavepoint | None:
    """Return the state if it does not depend on the timeline."""
    if declared.job is not None:
        message = f"Job {declared.job.name} makes it: {declared.job.message or declared.job.state}"
        return _waits(declared, seen, SavepointReason.AT_WORK, message)
    if declared.refusal is not None and not declared.takes_latest:
        return entry(declared, seen, SavepointState.REFUSED, SavepointReason.REFUSED, declared.refusal)
    if seen.trouble is None:
        return None
    if declared.refusal is not None:
        return _waits(declared, seen, SavepointReason.REFUSED, declared.refusal)
    if declared.since is None:
        return _waits(declared, seen, SavepointReason.WAITING, seen.trouble)
    return entry(declared, seen, SavepointState.KEPT, SavepointReason.KEPT, seen.trouble)


def _there(declared: Declared, target: str, seen: ObservedTable, timeline: Timeline) -> TableSavepoint:
    """Adopt an existing savepoint for the resource, unless it belongs to another."""
    owner, refused = seen.owner(target, declared), SavepointReason.ALREADY_SAVEPOINTED
    if owner is not None:
        message = f"HudiSavepoint {owner} already has the savepoint on {target}; a commit can have only one."
        return entry(declared, seen, SavepointState.REFUSED, refused, message)
    if target == seen.takeover and declared.since is None:
        message = f"The savepoint on {target} is the operator's own from the takeover, which removes it later."
        return entry(declared, seen, SavepointState.REFUSED, refused, message)
    seen.claim(target, declared)
    known = declared.data_complete
    return entry(
        declared,
        seen,
        SavepointState.KEPT,
        SavepointReason.KEPT,
        f"The table has a savepoint on commit {target}.",
        since=declared.since or format_time(seen.now),
        adopted=declared.was_adopted,
        data_complete=completeness(target, timeline) if known is ConditionStatus.UNKNOWN else known,
        failures=0,
        retry_at=None,
    )


def _passed_over(declared: Declared, seen: ObservedTable, timeline: Timeline) -> Refusal | None:
    """Return why the commit chosen as the latest can no longer be kept, so another is chosen.

    A commit with a begun savepoint is left alone: a run finishes or removes that first.
    """
    target = declared.target
    if target is None or not declared.takes_latest or target in seen.begun:
        return None
    if declared.refusal is not None:
        return SavepointReason.REFUSED, declared.refusal
    found = refusal_of(target, timeline)
    return found if found is not None and found[0] in _PASSED_OVER else None


def _chosen_again(declared: Declared, newest: str, why: Refusal, seen: ObservedTable, timeline: Timeline) -> Answer:
    """Choose another commit than the decided commit, which is remembered until the Job of the new commit exists."""
    is_other = newest != declared.target and newest not in seen.saved and seen.owner(newest, declared) is None
    if not is_other or refusal_of(newest, timeline) is not None:
        return _waits(declared, seen, *why), None
    full = _full(seen)
    if full is not None:
        return entry(declared, seen, SavepointState.REFUSED, *full), None
    seen.claim(newest, declared)
    return _waits(declared, seen, *why), Work(what=SavepointWork.MAKE, instant=newest)


def _wanted(declared: Declared, target: str | None, newest: str, seen: ObservedTable, timeline: Timeline) -> Answer:
    if target is None and (newest in seen.saved or newest in seen.claimed):
        message = (
            f"The newest commit {newest} already has a savepoint, and a commit can have only one: the next commit is "
            "kept. To adopt the savepoint, name its instant instead."
        )
        return _waits(declared, seen, SavepointReason.ALREADY_SAVEPOINTED, message), None
    instant = target or newest
    refusal = _taken(declared, instant, seen) or _full(seen) or refusal_of(instant, timeline)
    if refusal is not None:
        is_undone = declared.takes_latest and refusal[0] is SavepointReason.INSTANT_PENDING
        passes = is_undone or (target is None and refusal[0] in _PASSED_OVER)
        return entry(declared, seen, SavepointState.WAITING if passes else SavepointState.REFUSED, *refusal), None
    seen.claim(instant, declared)
    told = _waits(declared, seen, SavepointReason.WAITING, "Waiting for its turn.")
    return told, Work(what=SavepointWork.MAKE, instant=instant)


def _taken(declared: Declared, instant: str, seen: ObservedTable) -> Refusal | None:
    owner = seen.owner(instant, declared)
    if owner is None:
        return None
    message = f"HudiSavepoint {owner} already asks for the savepoint on {instant}; a commit can have only one."
    return SavepointReason.ALREADY_SAVEPOINTED, message


def _full(seen: ObservedTable) -> Refusal | None:
    if len(seen.saved) < seen.limit:
        return None
    message = f"The table has {len(seen.saved)} savepoints, and its class allows {seen.limit}. Remove one."
    return SavepointReason.TOO_MANY, message


def ending(declared: Declared, seen: ObservedTable, *, removes: bool, why: str) -> Answer:
    """Return the state of a savepoint's removal."""
    over = _over(declared, seen, removes=removes, why=why)
    if over is not None:
        return over, None
    target = declared.target or ""
    message = f"the savepoint on {target} is to be removed." if seen.trouble is None else seen.trouble
    told = entry(
        declared,
        seen,
        SavepointState.REMOVING,
        SavepointReason.WAITING,
        f"{why}; {message}",
        since=declared.since or format_time(seen.now),
        adopted=declared.was_adopted,
        **({} if _is_begun(declared) else {"failures": 0, "retry_at": None}),
    )
    if seen.trouble is not None:
        return told, None
    seen.claim(target, declared)
    return told, Work(what=SavepointWork.REMOVE, instant=target)


def _is_begun(declared: Declared) -> bool:
    """Whether removal has been recorded: failed runs to make the savepoint do not count."""
    return declared.memory is not None and declared.memory.state is SavepointState.REMOVING


def _over(declared: Declared, seen: ObservedTable, *, removes: bool, why: str) -> TableSavepoint | None:
    """Return the final state if nothing is left to remove. A savepoint of another resource is never removed."""
    target, state, reason = declared.target, SavepointState, SavepointReason
    if declared.job is not None:
        message = f"{why}; Job {declared.job.name} is at work on it: {declared.job.message or declared.job.state}"
        return entry(declared, seen, state.REMOVING, reason.AT_WORK, message)
    has = _has(declared, seen)
    is_seen_gone = seen.trouble is None and target not in seen.saved | seen.begun
    if is_seen_gone if has else declared.is_gone:
        return entry(declared, seen, state.REMOVED, reason.REMOVED, f"{why}; the savepoint on {target} is gone.")
    if not has:
        return entry(declared, seen, state.REMOVED, reason.REMOVED, f"{why}; it had no savepoint.")
    if not removes or declared.is_given_up:
        message = f"{why}, and the savepoint on {target} stays in the table."
        return entry(declared, seen, state.RETAINED, reason.RETAINED, message)
    return None


def _has(declared: Declared, seen: ObservedTable) -> bool:
    """Whether a resource has a savepoint, or may have it."""
    target = declared.target
    if target is None or seen.owner(target, declared) is not None:
        return False
    may_have = declared.may_have_made and (seen.trouble is not None or target in seen.saved | seen.begun)
    return (declared.since is not None and not declared.is_gone) or declared.has_made or may_have
