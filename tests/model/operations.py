"""Operations: what people and GitOps do with the resources, and what their controller does, and what must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.model.cluster import Cluster, table_of
from tests.model.lake import Record
from tests.model.ordered import Resource, read
from tests.model.world import Run, World, moment

from hudi_jobs.contract import OperationKind, Service
from hudi_operator.api.status.operation_status import FINISHED, OperationState
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.operation_status import decide_operation

LAGS = 200
"""Seconds in which the controller of operations does nothing: it is behind, or its writes are refused."""

GIVES_UP = 900
"""Seconds that a person waits for a second commit, without which there is nothing to go back to."""


def order(world: World) -> None:
    """Create, or approve, what is due, as soon as there is a commit before the newest; in some histories none comes."""
    for at, kind in world.scenario.operations[world.ordered :]:
        is_possible = len(world.lake.commits) > 1
        if at > world.now or not (is_possible or world.now > at + GIVES_UP):
            return
        world.ordered, world.calm_since = world.ordered + 1, world.now
        if kind == "approval":
            approve(world)
        elif is_possible:
            create(world, kind)


def approve(world: World) -> None:
    """Approve the oldest that is not, if any."""
    cluster = world.clusters[0]
    waiting = [one for one in cluster.operations if not one.approved and one.deleted is None]
    for one in waiting[:1]:
        change(cluster, one, approved=True)


def create(world: World, kind: str) -> None:
    """Create a HudiOperation in each cluster to which it is applied; `kind` is a field of its spec, or dry run."""
    newest, before = world.lake.commits[:2]
    for cluster in world.clusters:
        world.serial += 1
        resource = Resource(
            name=f"{kind.replace(' ', '-')}-{world.ordered}",
            uid=f"uid-of-operation-{world.serial}",
            kind="restore" if kind == "dry run" else kind,
            instant=newest.time if kind == "rollback" else before.time,
            created=world.now,
            dry_run=kind == "dry run",
            accepts=world.scenario.optimistic,
        )
        cluster.operations += (resource,)


def recreate(world: World, gone: Resource) -> None:
    """Apply one that was deleted once more, as GitOps does: the API server gives it another uid."""
    world.serial += 1
    uid = f"uid-of-operation-{world.serial}"
    again = replace(gone, uid=uid, created=world.now, held=False, deleted=None, approved=False, status="{}")
    world.clusters[0].operations += (again,)


def change(cluster: Cluster, resource: Resource, **changes: object) -> Resource:
    changed = replace(resource, **changes)  # type: ignore[arg-type]
    cluster.operations = tuple(changed if one.uid == resource.uid else one for one in cluster.operations)
    return changed


def remove(cluster: Cluster, resource: Resource) -> None:
    cluster.operations = tuple(one for one in cluster.operations if one.uid != resource.uid)
    cluster.removed += (resource,)


def delete(world: World, cluster: Cluster, resource: Resource) -> None:
    """Delete a resource as a person does; the API server removes at once what nobody holds."""
    if resource.held:
        change(cluster, resource, deleted=world.now)
    else:
        remove(cluster, resource)
        cluster.let_go += (resource.uid,)


def reconcile_operations(world: World, index: int) -> None:
    """One pass over all resources of a cluster, where one of them or their table has changed, or time calls for it."""
    cluster = world.clusters[index]
    if not cluster.operations or world.now < cluster.lags_until:
        return
    seen = (cluster.stored, cluster.is_gone, cluster.operations)
    if seen == cluster.operations_seen and world.now < cluster.operations_next:
        return
    before = [one.announces for one in cluster.operations]
    pauses = [_reconcile(world, cluster, one) for one in cluster.operations]
    cluster.operations_seen = (cluster.stored, cluster.is_gone, cluster.operations)
    cluster.operations_next = world.now + min(pauses)
    if [one.announces for one in cluster.operations] != before:
        cluster.next_reconcile = min(cluster.next_reconcile, world.now)


def _reconcile(world: World, cluster: Cluster, resource: Resource) -> int:
    table = None if cluster.is_gone else table_of(cluster)
    step = decide_operation(read(resource), table, now=moment(world.now + cluster.skew))
    if step.released is not None:
        _check_release(world, cluster, resource)
        remove(cluster, resource)
        return int(step.requeue)
    if step.hold and not resource.held:
        resource = change(cluster, resource, held=True)
    if step.status is not None:
        stored = step.status.model_dump_json(by_alias=True, exclude_none=True)
        if stored != resource.status:
            resource = change(cluster, resource, status=stored)
    if step.expires:
        delete(world, cluster, resource)
    return int(step.requeue)


def _check_release(world: World, cluster: Cluster, resource: Resource) -> None:
    """What is let go has been finished, or never begins."""
    if resource.uid in open_operations(world) and not cluster.is_gone:
        world.wrong("the resource of an operation that has begun is let go")
    cluster.let_go += (resource.uid,)


def open_operations(world: World) -> set[str]:
    """The operations that have begun and have to be finished, by the uids of their resources.

    Nobody can go on with an erasure whose resource was removed by force: that alone held the keys.
    """
    there = {one.uid for cluster in world.clusters for one in cluster.operations}

    def is_open(uid: str, record: Record) -> bool:
        is_left = record.may_be_left or (record.needs_resource and uid not in there)
        return record.phase != "done" and not is_left

    return {uid for uid, record in world.lake.journal.items() if is_open(uid, record)}


def is_finished(record: Record | None) -> bool:
    """Whether an operation has done all that it was to do, or nothing."""
    return record is None or record.phase == "done"


def lacks_keys(cluster: Cluster, job: ActiveJob) -> bool:
    """Whether no Job can be told what it is to erase, since the resource that holds the keys is gone."""
    operation = job.operation
    if operation is None or operation.kind is not OperationKind.ERASE:
        return False
    return operation.uid not in {one.uid for one in cluster.operations}


def check_operations(world: World, index: int, seen: Observation, plan: Plan) -> None:
    """What must hold for every decision on a table with operations."""
    for what in (*_of_exclusion(plan), *_of_ends(world, plan), *_of_starts(world, index, seen, plan)):
        world.wrong(what)


def _of_exclusion(plan: Plan) -> Iterator[str]:
    """An operation has the table to itself from its Job on, and once it has begun until its end."""
    at_work = [job for job in plan.active_jobs if job.service is Service.OPERATION]
    if at_work and len(plan.active_jobs) > 1:
        yield "another Job is beside that of an operation"
    begun = any(one.begun and one.state not in FINISHED for one in plan.operations)
    launched = [action.job for action in plan.actions if isinstance(action, LaunchJob)]
    if begun and any(job.service is not Service.OPERATION for job in launched):
        yield "a run starts while an operation has begun"


def _of_ends(world: World, plan: Plan) -> Iterator[str]:
    """What is finished is as it says."""
    for one in plan.operations:
        if one.reason == OperationReason.NOT_VERIFIED:
            yield "the rows after an operation are not those that were expected"
        elif one.state is OperationState.FAILED and one.uid in open_operations(world):
            yield "an operation that says that nothing was changed has begun"
        elif one.state is OperationState.SUCCEEDED and not one.dry_run and not is_finished(_record(world, one.uid)):
            yield "an operation that is not finished counts as succeeded"


def _record(world: World, uid: str) -> Record | None:
    return world.lake.journal.get(uid)


def _of_starts(world: World, index: int, seen: Observation, plan: Plan) -> Iterator[str]:
    """What is finished starts no run, and neither does what was let go before it began, or is not approved."""
    cluster = world.clusters[index]
    told = {one.uid for one in seen.table.status.operations if one.state in FINISHED}
    told |= {one.uid for one in cluster.operations if read(one).status.state in FINISHED}
    for action in plan.actions:
        operation = action.job.operation if isinstance(action, LaunchJob) else None
        if operation is None:
            continue
        if operation.uid in told:
            yield "a finished operation starts again"
        if operation.uid in cluster.let_go:
            yield "an operation starts whose resource was let go"
        resource = next((one for one in cluster.operations if one.uid == operation.uid), None)
        needs = world.scenario.approval == "Manual" and not operation.dry_run
        if needs and resource is not None and not resource.approved:
            yield "an operation starts that nobody has approved"


def check_alone(world: World) -> None:
    """While an operation has begun, nothing but its own run writes."""
    if not world.scenario.operations or not open_operations(world):
        return
    if any(_writes(run) for run in world.runs):
        world.wrong("something writes while an operation has begun")


def _writes(run: Run) -> bool:
    return run.moves and run.step == "complete" and run.decided.service is not Service.OPERATION


def check_end_of_table(world: World, cluster: Cluster) -> None:
    """A table is let go only when none of its operations is in between, or may come there."""
    known = {one.uid for one in (*cluster.operations, *cluster.removed)}
    if open_operations(world) & known:
        world.wrong("a table is let go while an operation has begun")


def operations_owed(world: World, cluster: Cluster) -> Iterator[str]:
    """What is still to come of operations for a table to be at rest."""
    if world.ordered < len(world.scenario.operations) and not cluster.is_gone:
        yield "an operation is still to be asked for"
    if open_operations(world):
        yield "an operation that has begun is not finished"
    for one in cluster.operations:
        state = read(one).status.state
        if one.deleted is not None:
            yield "a HudiOperation that was deleted stays"
        elif state not in FINISHED and not (state is OperationState.AWAITING_APPROVAL or cluster.is_gone):
            yield f"a HudiOperation stays {state}: {read(one).status.reason}"
