"""What becomes of the savepoints of a table: each of a resource, those of nobody, and what the next run does.

What status remembers of a resource can only be lost in the safe direction: a savepoint of which nothing says who made
it counts as adopted and stays, and one whose commit is decided is never made on another.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.status.table import ActiveJob, RunStatus
from hudi_operator.api.status.table_savepoints import (
    SAVEPOINTS_SHOWN,
    NamedSavepointJob,
    SavepointState,
    TableSavepoint,
)
from hudi_operator.api.status.takeover import TakeoverStatus
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.savepoints.declared import Declared, declared_of, unreadable_entries
from hudi_operator.planning.savepoints.rules import Refusal, newest_commit, refusal_of
from hudi_operator.timeline import Action, Timeline

_MESSAGE_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class Savepoints:
    """What is remembered and shown of all savepoints of a table, and what the next run is for, if anything.

    `failures` are the runs in a row that failed for what the next one is for.
    """

    entries: tuple[TableSavepoint, ...] = ()
    following: NamedSavepointJob | None = None
    failures: int = 0


@dataclass(kw_only=True)
class _Seen:
    """What is seen of the table; `claimed` are the instants whose savepoints belong to a resource."""

    timeline: Timeline | None
    trouble: str | None
    takeover: str | None
    limit: int
    now: datetime
    saved: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()
    claimed: dict[str, str] = field(default_factory=dict)


_Answer = tuple[TableSavepoint, SavepointWork | None]


def assess(
    observation: Observation,
    *,
    active: tuple[ActiveJob, ...],
    finished: tuple[RunStatus, ...],
    takeover: TakeoverStatus | None,
    now: datetime,
) -> Savepoints:
    """Return what becomes of the savepoints of a table."""
    seen = _seen(observation, takeover, now=now)
    found = declared_of(observation, active=active, finished=finished, now=now)
    unread = tuple(unreadable_entries(observation))
    seen.claimed = {one.instant: one.resource or "" for one in unread if one.instant and one.since} | _claims(found)
    answers = [(declared, *_answer(declared, seen)) for declared in found]
    entries = [entry for _, entry, _ in answers]
    work = [(declared, entry, work) for declared, entry, work in answers if work is not None]
    # Whoever has failed least goes first, so that one that always fails stops no other.
    work.sort(key=lambda one: (one[1].failures, one[2] is SavepointWork.MAKE))
    all_entries = (*entries, *unread, *_of_nobody(seen))[:SAVEPOINTS_SHOWN]
    if not work:
        return Savepoints(entries=all_entries)
    declared, entry, what = work[0]
    return Savepoints(entries=all_entries, following=_job(declared, what, seen), failures=entry.failures)


def _seen(observation: Observation, takeover: TakeoverStatus | None, *, now: datetime) -> _Seen:
    snapshot, table_class = observation.snapshot, observation.table_class
    trouble = snapshot.message or str(snapshot.trouble) if snapshot.trouble is not None else None
    timeline = snapshot.timeline if trouble is None else None
    begun = (one for one in timeline.pending if one.action is Action.SAVEPOINT) if timeline else ()
    return _Seen(
        timeline=timeline,
        trouble="The table may not be read." if observation.is_hidden else trouble,
        takeover=takeover.savepoint if takeover is not None else None,
        limit=table_class.spec.savepoints.max_per_table if table_class is not None else 0,
        now=now,
        saved=frozenset(timeline.counters.savepoints if timeline else ()),
        begun=frozenset(one.time for one in begun),
    )


def _claims(found: Iterable[Declared]) -> dict[str, str]:
    """Return the commits that are decided for resources, by name: of several the first has the commit."""
    claims: dict[str, str] = {}
    for declared in found:
        named = declared.job.named_savepoint if declared.job is not None else None
        target = named.instant if named is not None else declared.target if declared.since is not None else None
        decided = declared.memory.instant if declared.memory is not None else None
        is_settled = declared.savepoint.spec.instant is not None or declared.refusal is not None
        for instant in () if declared.is_gone else (target, None if is_settled else decided):
            if instant is not None:
                claims.setdefault(instant, declared.savepoint.metadata.name)
    return claims


def _owner(target: str | None, declared: Declared, seen: _Seen) -> str | None:
    """Return the other resource that has the savepoint on a commit, or is to have it."""
    owner = seen.claimed.get(target or "")
    return owner if owner != declared.savepoint.metadata.name else None


def _answer(declared: Declared, seen: _Seen) -> _Answer:
    if declared.is_deleted:
        return _ending(declared, seen, removes=declared.removes, why="The resource is deleted")
    if declared.has_expired(seen.now):
        return _ending(declared, seen, removes=True, why="The savepoint has expired")
    return _living(declared, seen)


def _living(declared: Declared, seen: _Seen) -> _Answer:
    if declared.is_gone:
        return _lost(declared), None
    told = _told(declared, seen)
    if told is not None:
        return told, None
    target = declared.target
    if target is not None and target in seen.saved:
        return _there(declared, target, seen), None
    if declared.since is not None:
        return _lost(declared), None
    if seen.timeline is None or newest_commit(seen.timeline) is None:
        message = "The table has no commit yet."
        return _entry(declared, SavepointState.WAITING, SavepointReason.NO_COMMIT, message), None
    return _wanted(declared, target, seen, seen.timeline)


def _lost(declared: Declared) -> TableSavepoint:
    message = f"The savepoint on {declared.target} is no longer in the table. It is not made again; create another."
    return _entry(declared, SavepointState.LOST, SavepointReason.LOST, message)


def _told(declared: Declared, seen: _Seen) -> TableSavepoint | None:
    """Return what is said where the timeline does not decide."""
    if declared.job is not None:
        message = f"Job {declared.job.name} makes it: {declared.job.message or declared.job.state}"
        return _entry(declared, SavepointState.WAITING, SavepointReason.AT_WORK, message)
    if declared.refusal is not None:
        return _entry(declared, SavepointState.REFUSED, SavepointReason.REFUSED, declared.refusal)
    return None if seen.trouble is None else _as_it_was(declared, seen.trouble)


def _there(declared: Declared, target: str, seen: _Seen) -> TableSavepoint:
    """Take a savepoint of the table for the resource's own, unless it is another's."""
    owner = _owner(target, declared, seen)
    if owner is not None:
        message = f"HudiSavepoint {owner} has the savepoint on {target}, and there can be one on a commit."
        return _entry(declared, SavepointState.REFUSED, SavepointReason.ALREADY_SAVEPOINTED, message)
    if target == seen.takeover and declared.since is None:
        message = f"The savepoint on {target} is the operator's own from the takeover, which removes it later."
        return _entry(declared, SavepointState.REFUSED, SavepointReason.ALREADY_SAVEPOINTED, message)
    seen.claimed[target] = declared.savepoint.metadata.name
    entry = _entry(
        declared, SavepointState.KEPT, SavepointReason.KEPT, f"The table has a savepoint on commit {target}."
    )
    return entry.model_copy(
        update={"since": declared.since or format_time(seen.now), "adopted": declared.was_adopted, "failures": 0}
    )


def _wanted(declared: Declared, target: str | None, seen: _Seen, timeline: Timeline) -> _Answer:
    newest = newest_commit(timeline)
    if not declared.is_held:
        message = "The operator has just seen it."
        return _entry(declared, SavepointState.WAITING, SavepointReason.WAITING, message), None
    if target is None and newest is not None and (newest in seen.saved or newest in seen.claimed):
        message = (
            f"The newest commit {newest} has a savepoint already, and there can be one on a commit: the next commit is "
            "kept. Name the instant instead to adopt the savepoint."
        )
        return _entry(declared, SavepointState.WAITING, SavepointReason.ALREADY_SAVEPOINTED, message), None
    refusal = _refusal(declared, target, seen) or refusal_of(target or newest or "", timeline)
    if refusal is not None:
        passes = refusal[0] is SavepointReason.INSTANT_PENDING
        return _entry(declared, SavepointState.WAITING if passes else SavepointState.REFUSED, *refusal), None
    seen.claimed[target or newest or ""] = declared.savepoint.metadata.name
    message = "It waits for its turn."
    return _entry(declared, SavepointState.WAITING, SavepointReason.WAITING, message), SavepointWork.MAKE


def _refusal(declared: Declared, target: str | None, seen: _Seen) -> Refusal | None:
    """Return why the table has no place for another savepoint."""
    owner = _owner(target, declared, seen)
    if owner is not None:
        message = f"HudiSavepoint {owner} asks for the savepoint on {target}, and there can be one on a commit."
        return SavepointReason.ALREADY_SAVEPOINTED, message
    if len(seen.saved) >= seen.limit:
        message = f"The table has {len(seen.saved)} savepoints, and its class allows {seen.limit}. Remove one."
        return SavepointReason.TOO_MANY, message
    return None


def _ending(declared: Declared, seen: _Seen, *, removes: bool, why: str) -> _Answer:
    """Return how far the end of a savepoint has come."""
    over = _over(declared, seen, removes=removes, why=why)
    if over is not None:
        return over, None
    state, changes = (
        SavepointState.REMOVING,
        {"since": declared.since or format_time(seen.now), "adopted": declared.was_adopted},
    )
    if seen.trouble is not None:
        entry = _entry(declared, state, SavepointReason.WAITING, f"{why}; {seen.trouble}")
        return entry.model_copy(update=changes), None
    seen.claimed[declared.target or ""] = declared.savepoint.metadata.name
    message = f"{why}; the savepoint on {declared.target} is to be removed."
    return _entry(declared, state, SavepointReason.WAITING, message).model_copy(update=changes), SavepointWork.REMOVE


def _over(declared: Declared, seen: _Seen, *, removes: bool, why: str) -> TableSavepoint | None:
    """Return what is said where nothing is left to remove. What this resource does not have is never removed."""
    target, state = declared.target, SavepointState
    if declared.job is not None:
        message = f"{why}; Job {declared.job.name} is at work on it: {declared.job.message or declared.job.state}"
        return _entry(declared, state.REMOVING, SavepointReason.AT_WORK, message)
    if not _has(declared, seen):
        what = f"has no savepoint on {target} any more" if declared.is_gone else "had no savepoint"
        return _entry(declared, state.REMOVED, SavepointReason.REMOVED, f"{why}; it {what}.")
    if seen.trouble is None and target not in seen.saved | seen.begun:
        return _entry(declared, state.REMOVED, SavepointReason.REMOVED, f"{why}; the savepoint on {target} is gone.")
    if not removes or declared.is_given_up:
        message = f"{why}, and the savepoint on {target} stays in the table."
        return _entry(declared, state.RETAINED, SavepointReason.RETAINED, message)
    return None


def _has(declared: Declared, seen: _Seen) -> bool:
    """Whether a resource has a savepoint, or may have one as far as can be seen."""
    target = declared.target
    if target is None or _owner(target, declared, seen) is not None:
        return False
    may_have = declared.may_have_made and (seen.trouble is not None or target in seen.saved | seen.begun)
    return (declared.since is not None and not declared.is_gone) or declared.has_made or may_have


def _entry(declared: Declared, state: SavepointState, reason: SavepointReason, message: str) -> TableSavepoint:
    named = declared.job.named_savepoint if declared.job is not None else None
    return TableSavepoint(
        instant=declared.target or (named.instant if named is not None else None),
        resource=declared.savepoint.metadata.name,
        uid=declared.uid,
        state=state,
        reason=reason,
        message=message[:_MESSAGE_LIMIT],
        adopted=declared.was_adopted if declared.since is not None else False,
        since=declared.since,
        failures=declared.failures,
    )


def _as_it_was(declared: Declared, trouble: str) -> TableSavepoint:
    """Return what was known of a savepoint while the table cannot be read."""
    state = SavepointState.KEPT if declared.since is not None else SavepointState.WAITING
    reason = SavepointReason.KEPT if declared.since is not None else SavepointReason.WAITING
    entry = _entry(declared, state, reason, trouble)
    if not declared.has_made:
        return entry
    return entry.model_copy(update={"adopted": False})


def _job(declared: Declared, work: SavepointWork, seen: _Seen) -> NamedSavepointJob:
    newest = newest_commit(seen.timeline) if seen.timeline is not None else None
    return NamedSavepointJob(
        work=work,
        instant=declared.target or newest or "",
        resource=declared.savepoint.metadata.name,
        uid=declared.uid,
        comment=declared.savepoint.spec.comment or "",
        adopted=work is SavepointWork.REMOVE and declared.was_adopted,
    )


def _of_nobody(seen: _Seen) -> Iterator[TableSavepoint]:
    for instant in sorted(seen.saved - seen.claimed.keys(), reverse=True):
        is_own = instant == seen.takeover
        message = "The operator's own, from the takeover." if is_own else "A HudiSavepoint with this instant adopts it."
        yield TableSavepoint(instant=instant, reason=SavepointReason.KEPT, message=message)
