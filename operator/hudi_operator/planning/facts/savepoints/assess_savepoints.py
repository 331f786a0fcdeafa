"""Decides the state of all savepoints of a table, and the next run for them.

Losing the status's memory of a resource errs on the safe side: a savepoint of unknown origin counts as adopted and
stays, and a decided commit is replaced by another only if it can have no savepoint.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.savepoints import SAVEPOINTS_SHOWN, NamedSavepointJob, RetainedStatus, TableSavepoint
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_parts import TakeoverStatus
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.planning.facts.savepoints.living import Answer, ObservedTable, Work, ending, living, observe_table
from hudi_operator.planning.facts.savepoints.requested import OVER, Declared, declared_of, unreadable_entries
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time


def retained(entry: TableSavepoint, observation: Observation, *, now: datetime) -> RetainedStatus | None:
    """Return the retained files of an existing savepoint, if known."""
    known = (one.retained for one in observation.table.status.savepoints if one.instant == entry.instant)
    before = next((one for one in known if one is not None), None)
    results = [job.result for job in observation.jobs if job.result is not None]
    told = [
        RetainedStatus(**each.model_dump(exclude={"instant"}), as_of=format_time(min(ended, now)))
        for result in results
        if (ended := parse_time(result.finished_at)) is not None
        for each in result.held_back
        if each.instant == entry.instant
    ]
    every = [*told, *([before] if before is not None else [])]
    return max(every, key=lambda one: one.as_of or "", default=None)


@dataclass(frozen=True, kw_only=True)
class Savepoints:
    """The state of all savepoints of a table, and the work of the next run, if any.

    `retry_at` is when the next attempt of a failed savepoint may begin, if no other work comes first.
    """

    entries: tuple[TableSavepoint, ...] = ()
    following: NamedSavepointJob | None = None
    retry_at: datetime | None = None


def assess(
    observation: Observation,
    *,
    active: tuple[ActiveJob, ...],
    finished: tuple[RunStatus, ...],
    services: ServicesStatus,
    takeover: TakeoverStatus | None,
    now: datetime,
) -> Savepoints:
    """Return the state of a table's savepoints; `services` is the memory after the finished runs."""
    seen = observe_table(observation, takeover, now=now)
    in_a_row = attempts(services.savepoint) if services.savepoint is not None else 0
    found = declared_of(observation, active=active, finished=finished, in_a_row=in_a_row, now=now)
    unread = tuple(unreadable_entries(observation))
    seen.claimed = {one.instant: one.resource or "" for one in unread if one.instant and one.since} | _claims(found)
    answers = [(declared, *_answer(declared, seen)) for declared in found]
    entries = (*_in_order(answers, unread), *_of_nobody(seen))[:SAVEPOINTS_SHOWN]
    waiting = [(declared, entry, work) for declared, entry, work in answers if work is not None]
    ready = [one for one in waiting if (at := parse_time(one[1].retry_at)) is None or at <= now]
    if ready:
        # Take the savepoint with the fewest failures first, so that a failing savepoint blocks no other.
        declared, _, work = min(ready, key=lambda one: (one[1].failures, one[2].what is SavepointWork.MAKE))
        return Savepoints(entries=entries, following=_job(declared, work))
    moments = (parse_time(entry.retry_at) for _, entry, _ in waiting)
    return Savepoints(entries=entries, retry_at=min((one for one in moments if one is not None), default=None))


def _in_order(
    answers: Sequence[tuple[Declared, TableSavepoint, Work | None]], unread: Iterable[TableSavepoint]
) -> Iterator[TableSavepoint]:
    """Yield the remembered entries; finished entries last if their resource records the end and they need no place."""
    ended = [entry for declared, entry, _ in answers if entry.state in OVER and declared.says_that_it_is_over]
    yield from (entry for _, entry, _ in answers if entry not in ended)
    yield from unread
    yield from ended


def _claims(found: Iterable[Declared]) -> dict[str, str]:
    """Return the commits decided for resources, by resource name; of several resources the first gets the commit."""
    claims: dict[str, str] = {}
    for declared in found:
        named = declared.job.named_savepoint if declared.job is not None else None
        target = named.instant if named is not None else declared.target if declared.since is not None else None
        decided = declared.memory.instant if declared.memory is not None else None
        is_settled = not declared.takes_latest or declared.refusal is not None
        for instant in () if declared.is_gone else (target, None if is_settled else decided):
            if instant is not None:
                claims.setdefault(instant, declared.name)
    return claims


def _answer(declared: Declared, seen: ObservedTable) -> Answer:
    if declared.is_deleted:
        return ending(declared, seen, removes=declared.removes, why="The resource is deleted")
    if not declared.has_expired(seen.now):
        return living(declared, seen)
    restore = seen.restore_to(declared)
    if restore is None:
        return ending(declared, seen, removes=True, why="The savepoint has expired")
    kept, work = living(declared, seen)
    message = f"The savepoint has expired, and is removed once HudiOperation {restore}, which goes back to it, is over."
    return kept.copy_with(message=message), work


def _job(declared: Declared, work: Work) -> NamedSavepointJob:
    return NamedSavepointJob(
        work=work.what,
        instant=work.instant,
        resource=declared.name,
        uid=declared.uid,
        comment=declared.savepoint.spec.comment or "",
        adopted=work.what is SavepointWork.REMOVE and declared.was_adopted,
    )


def _of_nobody(seen: ObservedTable) -> Iterator[TableSavepoint]:
    for instant in sorted(seen.saved - seen.claimed.keys(), reverse=True):
        is_own = instant == seen.takeover
        message = "The operator's own, from the takeover." if is_own else "A HudiSavepoint with this instant adopts it."
        yield TableSavepoint(instant=instant, reason=SavepointReason.KEPT, message=message)
