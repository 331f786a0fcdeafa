"""Decides the end of a savepoint after its resource was deleted or has expired."""

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.planning.facts.savepoints.declared import Declared
from hudi_operator.planning.facts.savepoints.seen import Answer, ObservedTable, Work, entry
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time


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
