"""Decides which scheduled HudiSavepoints to create and delete: the newest of each day, week and month stay.

Stateless: the desired state is one resource for the schedule's newest moment, with a name that contains the moment. So
a repeated decision is the same, and a repeated creation makes no second resource.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TypeAlias

from hudi_operator.api.resources import HudiSavepoint, HudiTable
from hudi_operator.api.spec.schedule import SavepointSchedule
from hudi_operator.api.status.savepoints import SavepointState, TableSavepoint
from hudi_operator.planning.facts.savepoints.rules import lacks_files, needed_by_restores, newest_commit
from hudi_operator.planning.model import CreateSavepoint, DeleteSavepoint, Observation
from hudi_operator.planning.model.times import InvalidSchedule, latest_due, next_run, parse_time

_Bucket = Callable[[datetime], object]


def kept(made: Iterable[datetime], schedule: SavepointSchedule) -> frozenset[datetime]:
    """Return the moments with savepoints to keep.

    An additional moment never saves another moment: so an incomplete list keeps no fewer of its own moments.
    """
    newest_first = sorted({one.astimezone(UTC) for one in made}, reverse=True)
    rules: tuple[tuple[int, _Bucket], ...] = (
        (schedule.keep_last, lambda one: one),
        (schedule.keep_daily, lambda one: one.date()),
        (schedule.keep_weekly, lambda one: tuple(one.isocalendar())[:2]),
        (schedule.keep_monthly, lambda one: (one.year, one.month)),
    )
    return frozenset(one for count, bucket in rules for one in _newest_of_each(newest_first, bucket)[:count])


def _newest_of_each(newest_first: Iterable[datetime], bucket: _Bucket) -> list[datetime]:
    found: dict[object, datetime] = {}
    for one in newest_first:
        found.setdefault(bucket(one), one)
    return list(found.values())


_Known: TypeAlias = Mapping[str, TableSavepoint]

_MOMENT = "%Y%m%d%H%M%S"
_WITHOUT = frozenset({SavepointState.REFUSED, SavepointState.LOST, SavepointState.REMOVED})


def scheduled(
    observation: Observation, entries: tuple[TableSavepoint, ...], *, now: datetime
) -> tuple[CreateSavepoint | DeleteSavepoint, ...]:
    """Return the creations and deletions that a table's schedule asks for now."""
    schedule = observation.table.spec.savepoints
    if schedule is None:
        return ()
    own = sorted(_own(observation), key=_made)
    known = {one.uid: one for one in entries if one.uid}
    needed = needed_by_restores(observation)
    deletions = tuple(one for one in _deletions(schedule, own, known) if not _is_needed(one, known, needed))
    moment, newest = _moment(schedule, now=now), _newest(observation)
    # Without a commit that lacks a savepoint there is nothing to keep: the savepoint waits for the next commit.
    taken = {None, *(one.instant for one in entries if one.state not in _WITHOUT)}
    waits = any(_state(known, one) in {None, SavepointState.WAITING} for one in own)
    if moment is None or newest in taken or waits or any(_made(one) >= moment for one in own):
        return deletions
    name = f"{observation.table.metadata.name}-{moment:{_MOMENT}}"
    return (CreateSavepoint(name=name), *deletions)


def schedule_changes_at(observation: Observation, *, now: datetime) -> datetime | None:
    """Return the next moment of a table's schedule, or None."""
    schedule = observation.table.spec.savepoints
    moment = _moment(schedule, now=now) if schedule is not None else None
    return next_run(schedule.schedule, previous=moment, first=False) if schedule and moment else None


def _moment(schedule: SavepointSchedule, *, now: datetime) -> datetime | None:
    try:
        return latest_due(schedule.schedule, now=now)
    except InvalidSchedule:
        return None  # blocks the table and is reported there


def _own(observation: Observation) -> Iterator[HudiSavepoint]:
    return (one for one in observation.related.savepoints if is_scheduled(one, observation.table))


def is_scheduled(savepoint: HudiSavepoint, table: HudiTable) -> bool:
    """Whether a table's schedule created a HudiSavepoint, and it still belongs to the table."""
    return savepoint.is_scheduled and savepoint.metadata.controller == table.metadata.uid


def _made(savepoint: HudiSavepoint) -> datetime:
    """Return the moment in a resource's name: the API server's clock may be seconds behind."""
    text = savepoint.metadata.name.rpartition("-")[2]
    try:
        return datetime.strptime(text, _MOMENT).replace(tzinfo=UTC)
    except ValueError:
        return parse_time(savepoint.metadata.creation_timestamp) or datetime.min.replace(tzinfo=UTC)


def _newest(observation: Observation) -> str | None:
    timeline = observation.snapshot.timeline
    return newest_commit(timeline) if timeline is not None else None


def _state(known: _Known, savepoint: HudiSavepoint) -> SavepointState | None:
    entry = known.get(savepoint.metadata.uid)
    return entry.state if entry is not None else None


def _is_needed(deletion: DeleteSavepoint, known: _Known, needed: Mapping[str, str]) -> bool:
    entry = known.get(deletion.uid)
    return deletion.name in needed or (entry is not None and entry.instant in needed)


def _deletions(schedule: SavepointSchedule, own: list[HudiSavepoint], known: _Known) -> Iterator[DeleteSavepoint]:
    """Yield the resources to delete: unretained savepoints, and broken savepoints once a newer whole one exists.

    Savepoints with missing files take no places of whole savepoints, and the reverse.
    """
    there = {one.metadata.uid: _made(one) for one in own if _state(known, one) is SavepointState.KEPT}
    broken = {uid: moment for uid, moment in there.items() if lacks_files(known[uid])}
    whole = {uid: moment for uid, moment in there.items() if uid not in broken}
    keeps = {
        uid for group in (whole, broken) for uid, moment in group.items() if moment in kept(group.values(), schedule)
    }
    newest_whole = max(whole.values(), default=None)
    for number, one in enumerate(own, start=1):
        uid = one.metadata.uid
        is_over = _state(known, one) in _WITHOUT and number < len(own)
        is_replaced = uid in broken and newest_whole is not None and broken[uid] < newest_whole
        is_forgotten = uid in there and uid not in keeps
        if one.metadata.deletion_timestamp is None and (is_over or is_replaced or is_forgotten):
            yield DeleteSavepoint(name=one.metadata.name, uid=uid)
