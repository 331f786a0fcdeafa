"""Reports changes to a table's history by people and other tools: savepoints, restores, rollbacks of commits.

They block nothing: a person who restores a table wants the restored state. The next ingestion continues from the newest
checkpoint left in the timeline, so the input of undone commits is read again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from hudi_jobs.contract import GOES_BACK, Outcome, Service
from hudi_jobs.contract.wording import listed
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import ACTS_SHOWN, UNDONE_SHOWN, ActStatus, PendingOwner, TimelineStatus
from hudi_operator.planning.facts.runs.affected import known_runs
from hudi_operator.planning.model import Observation, TimelineSnapshot, Undoing
from hudi_operator.planning.model.reasons import TableEvent
from hudi_operator.services.registry import SERVICES
from hudi_operator.timeline import Action, Instant, Timeline
from hudi_operator.timeline.rules.counters import COMMITS

ACT_REASONS: Mapping[str, str] = {
    Action.RESTORE.value: TableEvent.RESTORED,
    Action.ROLLBACK.value: TableEvent.COMMITS_UNDONE,
    Action.SAVEPOINT.value: TableEvent.SAVEPOINTED,
}
_NAMED = 3


def mark_undone(
    services: ServicesStatus,
    history: tuple[RunStatus, ...],
    snapshot: TimelineSnapshot,
    *,
    active: Iterable[ActiveJob] = (),
) -> tuple[ServicesStatus, tuple[RunStatus, ...]]:
    """Mark the remembered runs with instants that a restore or rollback has undone.

    Only instants named by a completed restore or rollback count as undone: a missing instant was archived. `active` are
    the Jobs as remembered before: a continuous Job may have lost commits while it runs.
    """
    undone = _undone(snapshot)
    if not undone:
        return services, history
    last = {service: services.of(service).last_run for service in SERVICES}
    marked = {
        service: services.of(service).copy_with(last_run=_marked(run, undone))
        for service, run in last.items()
        if run is not None and run.instant in undone
    }
    lost = any(run.service is Service.INGESTION and _is_news(run, undone) for run in known_runs(services, history))
    lost = lost or any(job.live is not None and job.live.instant in undone for job in active)
    services = services.replaced(marked)
    if lost:
        # The rows are no longer in the table: the next run reports how far it is behind its source.
        unsure = services.ingestion.copy_with(freshness=None, look=None)
        services = services.replaced({Service.INGESTION: unsure})
    return services, tuple(_marked(run, undone) for run in history)


def _is_news(run: RunStatus, undone: Mapping[str, str]) -> bool:
    return run.instant in undone and run.undone_by is None


def _marked(run: RunStatus, undone: Mapping[str, str]) -> RunStatus:
    by = undone.get(run.instant or "")
    return run if by is None or run.undone_by is not None else run.copy_with(undone_by=by)


def _undone(snapshot: TimelineSnapshot) -> dict[str, str]:
    """Map each undone instant that has not completed again to the instant that undid it."""
    if snapshot.timeline is None:
        return {}
    completed = _completed_times(snapshot.timeline)
    done = (one for one in snapshot.undoings if one.instant.is_completed)
    return {time: one.instant.time for one in done for time in one.targets if time not in completed}


def _completed_times(timeline: Timeline) -> frozenset[str]:
    """Return the completed times except savepoints, which share their commits' times and outlive them."""
    ignored = {Action.SAVEPOINT, Action.ROLLBACK, Action.RESTORE}
    return frozenset(one.time for one in timeline.completed if one.action not in ignored)


def acts_of(observation: Observation) -> tuple[ActStatus, ...]:
    """Return the newest acts of a readable timeline, newest first; known acts keep their details."""
    status, timeline = observation.table.status, observation.snapshot.timeline
    if timeline is None:
        return ()
    known = {(one.time, one.action): one for one in (status.timeline.acts or () if status.timeline else ())}
    owner = PendingOwner.THIS_TABLE if status.active_jobs else PendingOwner.OTHER
    restores = _own_restores(status)
    undoings = {one.instant: one for one in observation.snapshot.undoings}
    were_completed = _were_completed(observation)
    found: list[Instant] = []
    for one in timeline.completed:
        is_known = (one.time, one.action.value) in known
        undoes = one in undoings and not were_completed.isdisjoint(undoings[one].targets)
        if one.action in {Action.SAVEPOINT, Action.RESTORE} or (one.action is Action.ROLLBACK and (is_known or undoes)):
            found.append(one)
    newest = sorted(found, key=lambda one: (one.completion, one.time), reverse=True)[:ACTS_SHOWN]
    return tuple(
        known.get((one.time, one.action.value)) or _act(one, undoings.get(one), owner, restores, timeline)
        for one in newest
    )


def _own_restores(status: HudiTableStatus) -> PendingOwner:
    """Return the owner of a new restore or rollback of commits: this table while such an operation has begun.

    No other run of this operator restores. Another tool's restore during that time would be taken for ours, and fail
    the operation.
    """
    at_work = any(job.operation is not None and job.operation.kind in GOES_BACK for job in status.active_jobs)
    begun = any(one.begun and one.state not in FINISHED and one.kind in GOES_BACK for one in status.operations)
    return PendingOwner.THIS_TABLE if at_work or begun else PendingOwner.OTHER


def _act(
    instant: Instant, undoing: Undoing | None, owner: PendingOwner, restores: PendingOwner, timeline: Timeline
) -> ActStatus:
    targets = sorted(undoing.targets) if undoing else []
    commits = [one for one in timeline.completed if one.action in COMMITS]
    followed = any(targets and targets[-1] < one.time and one.completion < instant.completion for one in commits)
    return ActStatus(
        time=instant.time,
        action=instant.action.value,
        completed_at=instant.completed_at,
        owner=owner if instant.action is Action.SAVEPOINT else restores,
        undone=tuple(targets[:UNDONE_SHOWN]),
        undone_count=len(targets),
        input_lost=followed and instant.action is Action.ROLLBACK,
    )


def _were_completed(observation: Observation) -> frozenset[str]:
    """Return the instants known to have completed that are now missing, except those undone by a restore."""
    status, snapshot = observation.table.status, observation.snapshot
    shown = status.timeline.instants if status.timeline else ()
    times = {one.time for one in shown if one.state == "COMPLETED" and one.action not in ACT_REASONS}
    runs = known_runs(status.services, status.history)
    times |= {run.instant for run in runs if run.instant and run.outcome is Outcome.SUCCEEDED and not run.undone_by}
    restored = {time for one in snapshot.undoings if one.instant.action is Action.RESTORE for time in one.targets}
    completed = _completed_times(snapshot.timeline) if snapshot.timeline else frozenset[str]()
    return frozenset(times - restored - completed)


def new_acts(before: TimelineStatus | None, after: TimelineStatus | None) -> Iterator[ActStatus]:
    """Yield other tools' acts since an earlier reconcile, oldest first; the first reconcile reports none."""
    if before is None or before.acts is None or after is None:
        return
    known = {(one.time, one.action) for one in before.acts}
    # When a newer act drops out of a full list, an older act may reappear.
    oldest = min(map(_moment, before.acts)) if len(before.acts) == ACTS_SHOWN else ""
    for one in reversed(after.acts or ()):
        if (one.time, one.action) not in known and one.owner is PendingOwner.OTHER and _moment(one) > oldest:
            yield one


def _moment(act: ActStatus) -> str:
    return act.completed_at or act.time


def act_message(act: ActStatus) -> str:
    """Return the sentence that describes an act and its consequence."""
    if act.action == Action.SAVEPOINT:
        return f"Savepoint of {act.time}: its files are kept by cleaning, and archival stops before it."
    what = "Restored" if act.action == Action.RESTORE else "Completed commits were rolled back"
    undid = f"{what} by {act.action} {act.time} of another tool: undid {_named(act.undone, act.undone_count)}."
    if act.input_lost:
        return (
            f"{undid} The checkpoint of a later commit covers their input, so ingestion does not read it again. Where "
            f"rows are missing, read files again with a HudiOperation that has rescan, and produce messages again."
        )
    return (
        f"{undid} Ingestion continues from the newest checkpoint that the timeline holds, so that the input of "
        "undone commits is read again."
    )


def _named(times: Collection[str], count: int) -> str:
    if not times:
        return "no known instant"
    return listed(times, _NAMED, count=count)
