"""What must hold in every state, and when a table that is left in peace counts as at rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.model.cluster import Cluster
from tests.model.drivers import unread
from tests.model.lake import TOOL_ROWS
from tests.model.operations import operations_owed
from tests.model.world import World

from hudi_jobs.contract import ConcurrencyMode, Outcome, Service
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.planning.facts.runs.continuous import is_healthy
from hudi_operator.planning.model import CreateJob, JobPhase, LaunchJob, Observation
from hudi_operator.planning.model.reasons import RunTrouble
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.services.registry import SERVICES

STARVING = 6
"""How many times its threshold the count of a service that can run may reach."""
MOST_OBEYED = 3
"""How often a person may have to do what the status says."""


def check_plan(world: World, index: int, seen: Observation, plan: Plan) -> None:
    """What must hold for every decision."""
    found = (_of_jobs(seen, plan), _of_strangers(world, index, seen, plan), _of_takeover(world, index, plan))
    for what in (*(one for some in found for one in some), *_of_order(plan), *_of_turns(plan)):
        world.wrong(what)


def _launches(plan: Plan) -> list[ActiveJob]:
    return [action.job for action in plan.actions if isinstance(action, LaunchJob)]


def _of_jobs(seen: Observation, plan: Plan) -> Iterator[str]:
    living = {one.name for one in seen.jobs if one.phase is not JobPhase.OVER}
    names = [one.name for one in plan.active_jobs]
    lanes = [one.service is Service.INGESTION for one in plan.active_jobs]
    alone = [one for one in plan.active_jobs if one.inside is None]
    if seen.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED and len(alone) > 1:
        yield "a serialized table has two Jobs"
    if len(lanes) != len(set(lanes)):
        yield "two Jobs of one kind"
    if not living <= set(names):
        yield "a Job that runs is forgotten"
    if len(names) != len(set(names)):
        yield "a Job is remembered twice"


def _of_strangers(world: World, index: int, seen: Observation, plan: Plan) -> Iterator[str]:
    """What the operator did is its own, and what it did not do stops a Serialized table until a person accepts it."""
    cluster = world.clusters[index]
    if plan.foreign and not world.intruded:
        yield f"what the operator did itself is taken for another writer's: {plan.foreign[0].action}"
    if world.is_serialized and seen.snapshot.timeline is not None and _launches(plan):
        written = [one.time for one in world.lake.commits if one.sources and one.sources[0] >= TOOL_ROWS]
        if max((*written, *_strange_services(world)), default="") > cluster.accepted:
            yield "a run starts beside another writer that nobody has accepted"
    if cluster.obeyed > MOST_OBEYED:
        yield "the person does what the status says, and it does not help"


def _strange_services(world: World) -> Iterator[str]:
    """Yield the times of services by another tool, of kinds that no run of ours has begun."""
    made_by = {"clean": Service.CLEANING, "compaction": Service.COMPACTION, "clustering": Service.CLUSTERING}
    begun = {run.decided.service for run in world.runs}
    for one in world.lake.entries.values():
        is_strange = one.planner.startswith("tool") and one.writer == one.planner
        if one.state == "completed" and is_strange and made_by.get(one.action) not in begun:
            yield one.time


def _of_takeover(world: World, index: int, plan: Plan) -> Iterator[str]:
    """The first run of ours on a table of others begins after quiet, whatever has been forgotten meanwhile."""
    is_first = _launches(plan) and not world.clusters[index].created
    if is_first and world.is_serialized and world.now - world.foreign_moved < world.scenario.quiet:
        yield "a run starts beside a writer that moves, on a table that it wrote"


def _of_order(plan: Plan) -> Iterator[str]:
    """What is due gets its turn; what fails waits longer."""
    at_work = {job.service for job in plan.active_jobs}
    for service in (one for one in SERVICES if one not in at_work and not plan.foreign):
        status = plan.services.of(service)
        has_failed = status.failures or status.infrastructure_failures or status.conflicts
        if status.due and not has_failed and (status.counted or 0) >= STARVING * (status.threshold or 1):
            yield f"{service} starves at {status.counted} of {status.threshold}"


def _of_turns(plan: Plan) -> Iterator[str]:
    """A continuous driver ends for a service only if that starts before the next driver."""
    last = plan.services.ingestion.last_run
    given = last.ended_for if last is not None else None
    if last is None or given is None or all(one.service is not Service.INGESTION for one in _launches(plan)):
        return
    status = plan.services.of(given)
    followed = status.last_run is not None and (status.last_run.started_at or "") >= (last.finished_at or "")
    if status.due and not followed:
        yield f"a driver has ended for {given}, and the next one starts before that"


def check_creation(world: World, index: int, action: LaunchJob | CreateJob) -> None:
    """A run has its own name: what is created again must not be a Job that is over."""
    cluster = world.clusters[index]
    if isinstance(action, LaunchJob) and action.job.name in cluster.created:
        found = [one for one in world.runs if one.cluster == index and one.decided.name == action.job.name]
        if not any(one.is_alive for one in found):
            world.wrong("the name of a run that is over is used again")


def check_stop(world: World, index: int, name: str) -> None:
    """Only what cannot start is stopped."""
    for run in world.runs:
        is_held = run.cluster == index and run.decided.name == name and run.queued_until > world.now
        if is_held and not run.continues:
            world.wrong("a Job that waits in a queue is deleted")


def check_told(world: World, index: int, finished: Iterable[RunStatus]) -> None:
    """The end of a run is told once, and as the timeline has it."""
    cluster = world.clusters[index]
    for run in finished:
        if run.reason == RunTrouble.JOB_REFUSED:
            continue
        if run.job in cluster.told:
            world.wrong("the end of a Job is told twice")
        cluster.told += (run.job,)
        if run.outcome is not Outcome.SUCCEEDED or run.instant is None:
            continue
        archived = any(one.time == run.instant for one in world.lake.archived)
        entry = world.lake.entries.get(run.instant)
        if not archived and (entry is None or entry.state != "completed"):
            world.wrong("the status claims an instant that the timeline does not hold")


def check_answer(world: World, index: int, answered: str) -> None:
    """A request is answered once."""
    cluster = world.clusters[index]
    if answered in cluster.answered:
        world.wrong("a request is answered twice")
    cluster.answered += (answered,)


def check_writers(world: World) -> None:
    """A Serialized table never has two writers of ours at once."""
    if not world.is_serialized:
        return
    writing = [one for one in world.runs if one.instant is not None and one.moves and one.step == "complete"]
    if len({one.instant for one in writing}) > 1:
        world.wrong("two runs write a serialized table at once")


def unrest(world: World) -> str | None:
    """Return what keeps a table from being at rest, or None."""
    stalled = _stalled(world)
    if stalled is not None and world.clusters[0].class_version == world.scenario.wrong_class:
        return None
    owed = () if _owner(world).is_gone else (*_unfinished(world), *_owed(world, stalled))
    return next(iter((*_at_work(world), *operations_owed(world, _owner(world)), *owed)), None)


def _at_work(world: World) -> Iterator[str]:
    if world.arrived < len(world.scenario.arrivals):
        yield "files are still to arrive"
    if any(one.is_alive and not (one.continues and one.step == "between" and not one.killed_at) for one in world.runs):
        yield "a driver runs"
    if any(one.is_alive for one in world.tools):
        yield "another tool is at work"


def _unfinished(world: World) -> Iterator[str]:
    if world.lake.pending:
        yield f"the {world.lake.pending[0].action} stays pending"
    missing = unread(world, world.lake.checkpoint(by_number=True))
    if missing or not set(range(1, len(world.modified) + 1)) <= world.acknowledged:
        yield "input is not ingested"


def _owed(world: World, stalled: str | None) -> Iterator[str]:
    status = _owner(world).status
    if any(job.live is None or not is_healthy(job) for job in status.active_jobs):
        yield "a Job is not told"
    generation = _owner(world).generation
    if any(job.live is not None and job.generation not in {None, generation} for job in status.active_jobs):
        yield "a driver works by an earlier spec"
    for service in SERVICES:
        if service is not Service.INGESTION and status.services.of(service).due:
            yield f"{service} stays due: {status.services.of(service).reason}"
    if stalled is not None:
        yield f"stalled with {stalled}"


def _owner(world: World) -> Cluster:
    return next(
        (one for one in world.clusters if world.lake.owner and one.identity == world.lake.owner[0]), world.clusters[0]
    )


def _stalled(world: World) -> str | None:
    conditions = _owner(world).status.conditions
    return next((one.reason for one in conditions if one.type == "Stalled"), None)
