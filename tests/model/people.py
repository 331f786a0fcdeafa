"""What may befall operations: what people and GitOps do, a controller that is behind, and a driver that fails."""

from __future__ import annotations

from collections.abc import Callable

from tests.model.operations import LAGS, change, create, delete, recreate, remove
from tests.model.ordered import Resource
from tests.model.restoring import fail
from tests.model.world import World

from hudi_jobs.contract import Service

ORDERS = ("restore", "rollback")


def _create_operation(world: World, index: int) -> None:
    create(world, ORDERS[index])


def _may_order(world: World) -> range:
    cluster = world.clusters[0]
    is_new = len(cluster.operations) + len(cluster.removed) <= len(world.scenario.operations)
    return range(len(ORDERS) if is_new and len(world.lake.commits) > 1 else 0)


def _resources(is_meant: Callable[[Resource], bool]) -> Callable[[World], list[int]]:
    return lambda world: [index for index, one in enumerate(world.clusters[0].operations) if is_meant(one)]


def _approve(world: World, index: int) -> None:
    change(world.clusters[0], world.clusters[0].operations[index], approved=True)


def _delete_operation(world: World, index: int) -> None:
    delete(world, world.clusters[0], world.clusters[0].operations[index])


def _remove_finalizer(world: World, index: int) -> None:
    """A person has the resource gone by force, whatever its operation does."""
    remove(world.clusters[0], world.clusters[0].operations[index])


def _recreatable(world: World) -> list[int]:
    cluster = world.clusters[0]
    names = {one.name for one in cluster.operations}
    return [index for index, one in enumerate(cluster.removed[:1]) if one.name not in names]


def _recreate(world: World, index: int) -> None:
    recreate(world, world.clusters[0].removed[index])


def _may_lag(world: World) -> range:
    return range(1 if world.clusters[0].lags_until <= world.now else 0)


def _lag(world: World, _: int) -> None:
    world.clusters[0].lags_until = world.now + LAGS


def _operating(world: World) -> list[int]:
    at_work = [index for index, one in enumerate(world.runs) if one.moves and one.step == "work"]
    return [index for index in at_work if world.runs[index].decided.service is Service.OPERATION]


def _fail(world: World, index: int) -> None:
    fail(world, world.runs[index])


def _may_delete_table(world: World) -> range:
    return range(1 if world.clusters[0].deleted is None else 0)


def _delete_table(world: World, _: int) -> None:
    world.clusters[0].deleted = world.now


OPERATIONS: dict[str, tuple[Callable[[World], range | list[int]], Callable[[World, int], None]]] = {
    "operation created": (_may_order, _create_operation),
    "operation approved": (_resources(lambda one: not one.approved and one.deleted is None), _approve),
    "operation deleted": (_resources(lambda one: one.deleted is None), _delete_operation),
    "operation recreated": (_recreatable, _recreate),
    "finalizer removed": (_resources(lambda one: one.held and one.deleted is not None), _remove_finalizer),
    "operations lag": (_may_lag, _lag),
    "operation fails": (_operating, _fail),
    "table deleted": (_may_delete_table, _delete_table),
}
"""Each deviation by its name: when it is possible, and what it does."""
