"""One pass of the operator in the model: observe, decide, write the status, act, in the reconciler's order."""

from __future__ import annotations

from tests.model import invariants
from tests.model.cluster import Cluster, create_job, delete_job, downgraded, observation
from tests.model.looking import with_look
from tests.model.operations import check_end_of_table, check_operations, lacks_keys
from tests.model.world import World, moment
from tests.planning.world import IMAGE

from hudi_operator.api.status.table_parts import TakeoverPhase
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning import decide as decision
from hudi_operator.planning.facts.operations.declared import has_begun
from hudi_operator.planning.model import CreateJob, LaunchJob, Observation, StopJob
from hudi_operator.planning.outcome.life import refused
from hudi_operator.planning.outcome.plan import Plan

LONGEST = 3600
LONGEST_POLL = 300
"""A table that could not be read is seen whole at its next poll."""
AGAIN = 15
BUSY = 60
OBEYS_AFTER = 1800
"""How long a condition stands before a person does what it says."""


def reconcile(world: World, index: int) -> None:
    """Reconcile once. What goes wrong in this pass is in `fault`, which is used up by it."""
    cluster = world.clusters[index]
    if cluster.deleted is not None and not has_begun(cluster.status):
        _end(world, index)
    else:
        _reconcile(world, index)


def _reconcile(world: World, index: int) -> None:
    cluster = world.clusters[index]
    now = moment(world.now + cluster.skew)
    if cluster.fault == "downgrade":
        cluster.status = downgraded(cluster.status)
        cluster.stored = ""
    seen = with_look(world, cluster, observation(world, index))
    fault, cluster.fault = cluster.fault, ""
    plan = decision.decide(seen, default_image=IMAGE, now=now)
    _accept_what_was_there(world, index, seen, plan)
    invariants.check_plan(world, index, seen, plan)
    check_operations(world, index, seen, plan)
    pause = LONGEST if plan.changes_in is None else min(int(plan.changes_in), LONGEST)
    cluster.next_reconcile = world.now + (BUSY if plan.active_jobs else max(pause, AGAIN))
    if seen.snapshot.trouble is not None:
        cluster.next_reconcile = min(cluster.next_reconcile, world.now + LONGEST_POLL)
    if fault == "conflict":
        cluster.next_reconcile = world.now + AGAIN
        return
    _store(world, index, plan)
    if fault == "dies":
        cluster.look = None
        cluster.next_reconcile = world.now + AGAIN
        return
    for action in plan.actions:
        if isinstance(action, StopJob):
            invariants.check_stop(world, index, action.job.name)
            delete_job(world, index, action.job.name)
        elif not isinstance(action, LaunchJob | CreateJob):
            continue  # the model's drivers have no executors
        elif fault == "refused" or lacks_keys(cluster, action.job):
            after = refused(plan, action.job, message="quota", now=now)
            _store(world, index, after, counted=len(plan.finished), again=True)
            cluster.next_reconcile = world.now + AGAIN
            return
        else:
            invariants.check_creation(world, index, action)
            if not create_job(world, index, action.job):
                cluster.next_reconcile = world.now + AGAIN
                return
    _obey(world, index, plan)


def _end(world: World, index: int) -> None:
    """End a table that was deleted: its Jobs are stopped, and its data stays. The steps between are not modelled."""
    cluster = world.clusters[index]
    for run in world.runs:
        delete_job(world, index, run.decided.name)
    check_end_of_table(world, cluster)
    cluster.is_gone = True


def _accept_what_was_there(world: World, index: int, seen: Observation, plan: Plan) -> None:
    """With a table, what others wrote to it before is taken over."""
    before, after = seen.table.status.takeover, plan.takeover
    if before is not None and before.phase is TakeoverPhase.WATCHING and after and after.phase is TakeoverPhase.DONE:
        written = (one.time for one in world.lake.commits if one.run is None)
        world.clusters[index].accepted = max(written, default="")


def _store(world: World, index: int, plan: Plan, *, counted: int = 0, again: bool = False) -> None:
    """Write the status, as the API server gives it back."""
    cluster = world.clusters[index]
    stored = plan.status.model_dump_json(by_alias=True, exclude_none=True)
    if stored != cluster.stored:
        cluster.stored, cluster.status = stored, HudiTableStatus.model_validate_json(stored)
    invariants.check_told(world, index, plan.finished[counted:])
    if plan.answered is not None and not again:
        invariants.check_answer(world, index, plan.answered)


def _obey(world: World, index: int, plan: Plan) -> None:
    """Let a person do what the status asks for, half an hour later."""
    cluster = world.clusters[index]
    # What the store says of another operator is true where there is one.
    owner = world.lake.owner if plan.facts.ownership.elsewhere and len(world.clusters) == 1 else None
    stranger = owner[1] if owner else None
    if not plan.foreign and stranger is None:
        cluster.stalled_since = None
        return
    if cluster.stalled_since is None:
        cluster.stalled_since = world.now
    elif world.now - cluster.stalled_since >= OBEYS_AFTER and not any(one.is_alive for one in world.tools):
        if stranger is not None:
            cluster.decided += (("takeOver", "owner", stranger),)
        else:
            cluster.decided += (("acceptCommits", "upTo", plan.foreign[0].time),)
            cluster.accepted = plan.foreign[0].time
        cluster.obeyed += 1
        cluster.next_reconcile, world.calm_since = world.now + AGAIN, world.now
        cluster.stalled_since = None


def must_reconcile(world: World, cluster: Cluster, seen: object) -> bool:
    """Whether time or an event calls for a reconcile."""
    return not cluster.is_gone and (world.now >= cluster.next_reconcile or seen != cluster.seen)


def events_of(world: World, index: int) -> object:
    """What announces itself to the operator of a cluster, and the timeline, which it polls."""
    cluster = world.clusters[index]
    jobs = tuple((one.decided.name, one.pod, one.sidecar) for one in world.runs if one.cluster == index)
    busy = any(one.is_alive for one in world.runs if one.cluster == index)
    table = None if busy else tuple((one.time, one.state) for one in world.lake.entries.values())
    asked = tuple(one.announces for one in cluster.operations)
    annotations = tuple(sorted(cluster.annotations.items()))
    return jobs, table, cluster.generation, cluster.class_version, annotations, asked, cluster.decided, cluster.deleted
