"""The HudiSavepoints that the schedule of a table asks for: which is created now, and which are deleted.

Nothing is remembered: what is declared is one resource for the newest moment of the schedule, under a name that says
the moment. So whoever decides again decides the same, and a creation that is repeated makes no second one.
"""

from collections.abc import Iterator
from datetime import datetime

from hudi_operator.api.resources import SAVEPOINTS, SCHEDULED_LABEL, HudiSavepoint, HudiTable
from hudi_operator.api.spec.schedule import SavepointSchedule
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.planning.model import CreateSavepoint, DeleteSavepoint, Observation
from hudi_operator.planning.model.schedule import InvalidSchedule, latest_due, next_run
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.savepoints.retention import kept
from hudi_operator.planning.savepoints.rules import newest_commit

_WITHOUT = frozenset({SavepointState.REFUSED, SavepointState.LOST, SavepointState.REMOVED})


def scheduled(
    observation: Observation, entries: tuple[TableSavepoint, ...], *, now: datetime
) -> tuple[CreateSavepoint | DeleteSavepoint, ...]:
    """Return what the schedule of a table, on which a run may start, asks for now."""
    schedule = observation.table.spec.savepoints
    if schedule is None:
        return ()
    own = sorted(_own(observation), key=_created)
    states = {one.uid: one.state for one in entries if one.uid}
    deletions = tuple(_deletions(schedule, own, states))
    moment, newest = _moment(schedule, now=now), _newest(observation)
    # Without a commit that has no savepoint yet there is nothing to keep: it is created with the next one.
    taken = {None, *(one.instant for one in entries if one.state not in _WITHOUT)}
    waits = any(states.get(one.metadata.uid, SavepointState.WAITING) is SavepointState.WAITING for one in own)
    if moment is None or newest in taken or waits or any((parse_time(_created(one)) or now) >= moment for one in own):
        return deletions
    name = f"{observation.table.metadata.name}-{moment:%Y%m%d%H%M%S}"
    return (CreateSavepoint(name=name), *deletions)


def schedule_changes_at(observation: Observation, *, now: datetime) -> datetime | None:
    """Return when the schedule of a table comes to its next moment."""
    schedule = observation.table.spec.savepoints
    moment = _moment(schedule, now=now) if schedule is not None else None
    return next_run(schedule.schedule, previous=moment, first=False) if schedule and moment else None


def _moment(schedule: SavepointSchedule, *, now: datetime) -> datetime | None:
    try:
        return latest_due(schedule.schedule, now=now)
    except InvalidSchedule:
        return None  # which blocks the table, and is said there


def _own(observation: Observation) -> Iterator[HudiSavepoint]:
    for one in observation.related.get(SAVEPOINTS, ()):
        if isinstance(one, HudiSavepoint) and is_scheduled(one, observation.table):
            yield one


def is_scheduled(savepoint: HudiSavepoint, table: HudiTable) -> bool:
    """Whether a table has asked for a HudiSavepoint by its schedule, and nobody has taken that from it."""
    metadata = savepoint.metadata
    return metadata.labels.get(SCHEDULED_LABEL) == "true" and metadata.controller == table.metadata.uid


def _created(savepoint: HudiSavepoint) -> str:
    return savepoint.metadata.creation_timestamp or ""


def _newest(observation: Observation) -> str | None:
    timeline = observation.snapshot.timeline
    return newest_commit(timeline) if timeline is not None else None


def _deletions(
    schedule: SavepointSchedule, own: list[HudiSavepoint], states: dict[str, SavepointState]
) -> Iterator[DeleteSavepoint]:
    """Yield the resources that nothing keeps, and those without a savepoint once there is a newer resource."""
    there = {
        one.metadata.uid: moment
        for one in own
        if states.get(one.metadata.uid) is SavepointState.KEPT and (moment := parse_time(_created(one))) is not None
    }
    keeps = kept(there.values(), schedule)
    for number, one in enumerate(own, start=1):
        uid = one.metadata.uid
        is_over = states.get(uid) in _WITHOUT and number < len(own)
        is_forgotten = uid in there and there[uid] not in keeps
        if one.metadata.deletion_timestamp is None and (is_over or is_forgotten):
            yield DeleteSavepoint(name=one.metadata.name, uid=uid)
