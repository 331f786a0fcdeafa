"""A process that finds not all of its kinds: it does not take over from an operator that needs fewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, cast

import aiohttp
import pytest
from tests.control.bookmarks import BOOKMARK, BOOKMARKS

from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess
from hudi_operator.kube.api import WatchedApi
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import Forbidden, KubernetesError
from hudi_operator.kube.keys import SAVEPOINT, savepoint_key, table_key
from hudi_operator.kube.objects import Kind, ObjectKey
from hudi_operator.kube.transport import Transport
from hudi_operator.runtime.controller import Controller, Trigger
from hudi_operator.runtime.informer import KnownObjects
from hudi_operator.runtime.leadership import Leadership


class Cluster:
    """An API server that serves these plurals."""

    guard: Any = None

    def __init__(self, *plurals: str) -> None:
        self.plurals = set(plurals)
        self.forbidden: str | None = None
        self.refused: str | None = None

    async def are_served(self, kinds: Iterable[Kind]) -> bool:
        return {kind.plural for kind in kinds} <= self.plurals

    async def each(self, kind: Kind, namespace: str | None) -> AsyncIterator[dict[str, Any]]:
        if namespace is not None and namespace == self.refused:
            raise Forbidden(f"{kind.plural} is forbidden in {namespace}", status=403)
        if kind.plural == self.forbidden:
            raise KubernetesError(f"{kind.plural} is forbidden", status=403)
        yield {}


class Election:
    """An election that somebody else wins; `stood` tells that somebody stands."""

    is_leader = False
    seconds_since_renewal = None

    def __init__(self) -> None:
        self.stood = asyncio.Event()

    def check(self) -> None:
        raise AssertionError("nobody writes")

    async def acquire(self) -> None:
        self.stood.set()
        await asyncio.Event().wait()

    async def release(self) -> None:
        pass


async def _nothing(_key: object, _trigger: Trigger) -> None:
    raise AssertionError("nothing is reconciled")


async def _readiness(process: OperatorProcess) -> tuple[int, str]:
    url = f"http://127.0.0.1:{process.health.health_port}/readyz"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


def process_of(kube: object, election: Election, *more: Controller[Any]) -> OperatorProcess:
    controllers = (*CONTROLLERS, *more)
    return OperatorProcess(
        settings=Settings(spark_image="unused", health_port=0, metrics_port=0),
        kube=cast("WatchedApi", kube),
        controllers=controllers,
        known=KnownObjects(controllers),
        reconcile=_nothing,
        leadership=cast("Leadership", election),
    )


async def test_a_process_stands_for_election_and_is_ready_once_all_its_kinds_can_be_read() -> None:
    cluster, election = Cluster("huditables", "huditableclasses", "hudisavepoints"), Election()
    process = process_of(cluster, election)
    running = asyncio.create_task(process.run())
    await asyncio.sleep(0.2)
    status, why = await _readiness(process)
    assert (election.stood.is_set(), status) == (False, 503)
    assert "hudi-operator crds" in why

    cluster.forbidden = "hudioperations"
    cluster.plurals.add("hudioperations")
    await asyncio.sleep(1.2)
    status, why = await _readiness(process)
    assert (election.stood.is_set(), status) == (False, 503)
    assert "is forbidden" in why

    cluster.forbidden = None
    async with asyncio.timeout(10):
        await election.stood.wait()
    status, why = await _readiness(process)
    assert status == 200, why
    process.stop()
    await running


class Listing(Cluster):
    """An API server that lists one savepoint, which names a table, and no operations before it is told to."""

    async def each(self, kind: Kind, namespace: str | None) -> AsyncIterator[dict[str, Any]]:
        async for _ in super().each(kind, namespace):
            if kind == SAVEPOINT:
                yield {"metadata": {"namespace": "n", "name": "s"}, "spec": {"tableRef": {"name": "a"}}}


async def test_no_table_is_reconciled_before_everything_that_may_name_it_is_known() -> None:
    cluster = Listing("huditables")
    reconciled: list[ObjectKey] = []
    both = asyncio.Event()

    async def reconcile(key: ObjectKey, _trigger: Trigger) -> None:
        reconciled.append(key)
        if len(reconciled) == 2:
            both.set()

    cluster.forbidden = "hudioperations"
    process = OperatorProcess(
        settings=Settings(spark_image="unused", health_port=0, metrics_port=0),
        kube=cast("WatchedApi", cluster),
        controllers=CONTROLLERS,
        known=KnownObjects(CONTROLLERS),
        reconcile=reconcile,
    )
    running = asyncio.create_task(process.run())
    await asyncio.sleep(0.2)
    assert (process.queue.depth, reconciled) == (2, [])
    cluster.forbidden = None
    async with asyncio.timeout(10):
        await both.wait()
    assert set(reconciled) == {savepoint_key("n", "s"), table_key("n", "a")}
    process.stop()
    await running


async def test_no_table_of_a_namespace_is_reconciled_before_the_namespace_can_be_listed_again(
    eventually: Callable[..., Awaitable[Any]],
) -> None:
    cluster = Cluster(*(controller.kind.plural for controller in CONTROLLERS))
    cluster.refused = "n"
    reconciled: list[ObjectKey] = []

    async def reconcile(key: ObjectKey, _trigger: Trigger) -> None:
        reconciled.append(key)

    process = OperatorProcess(
        settings=Settings(
            spark_image="unused", health_port=0, metrics_port=0, watch_namespaces=("n", "o"), resync_seconds=1
        ),
        kube=cast("WatchedApi", cluster),
        controllers=CONTROLLERS,
        known=KnownObjects(CONTROLLERS),
        reconcile=reconcile,
    )
    running = asyncio.create_task(process.run())
    process.queue.add(table_key("n", "a"), Trigger.EVENT)  # as kopf does when it is let in again before the resync
    process.queue.add(table_key("o", "a"), Trigger.EVENT)
    await asyncio.sleep(1)
    assert reconciled == [table_key("o", "a")]
    cluster.refused = None
    await eventually(lambda: table_key("n", "a") in reconciled)
    process.stop()
    await running


def bookmarks() -> dict[str, Any]:
    """The definition of one more kind, as a release brings it."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [{"name": VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"kind": BOOKMARK.name, "plural": BOOKMARK.plural}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{BOOKMARK.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


@pytest.mark.cluster
async def test_a_process_waits_for_a_kind_that_comes_late_and_takes_over_once_the_api_server_serves_it(
    transport: Transport, namespace: str
) -> None:
    election = Election()
    process = process_of(KubernetesClient(transport, operator_namespace=namespace), election, BOOKMARKS)
    running = asyncio.create_task(process.run())
    await asyncio.sleep(3)
    assert (election.stood.is_set(), (await _readiness(process))[0]) == (False, 503)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await transport.request("POST", definitions, body=bookmarks())
    try:
        async with asyncio.timeout(60):
            await election.stood.wait()
        assert (await _readiness(process))[0] == 200
    finally:
        await transport.request("DELETE", f"{definitions}/{BOOKMARK.plural}.{GROUP}")
        process.stop()
        await running
