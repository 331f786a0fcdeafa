"""Decides the state of a requested savepoint: to be made, refused, kept, or lost."""

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.status.conditions import ConditionStatus
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.planning.facts.savepoints.completeness import completeness
from hudi_operator.planning.facts.savepoints.declared import Declared
from hudi_operator.planning.facts.savepoints.rules import Refusal, newest_commit, refusal_of
from hudi_operator.planning.facts.savepoints.seen import Answer, ObservedTable, Work, entry
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time
from hudi_operator.timeline import Timeline

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
