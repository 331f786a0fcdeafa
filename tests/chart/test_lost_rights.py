"""A process with the rights that the chart gives it in two namespaces, one of which takes them away, or is deleted."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.keys import table_key
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.kube.transport import MERGE_PATCH, Transport
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.informer import KnownObjects

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

Document = dict[str, Any]
Eventually = Callable[..., Awaitable[Any]]
GROUP = "/apis/hudi-operator.io/v1beta1"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"


class World:
    """The chart's release in a namespace of its own, which serves two others: `stays` and `leaves`."""

    def __init__(self, transport: Transport, mark: str) -> None:
        self._transport = transport
        self.home, self.stays, self.leaves = mark, f"{mark}-stays", f"{mark}-leaves"
        self.account = f"{mark}-hudi-operator"
        self.binding = f"{RIGHTS}/namespaces/{self.leaves}/rolebindings/{mark}-hudi-operator-tables"
        self.reconciled: list[ObjectKey] = []

    async def request(self, method: str, path: str, **options: Any) -> Document:
        return await self._transport.request(method, path, **options)

    async def token(self) -> str:
        """Return a token of the operator's account."""
        path = f"/api/v1/namespaces/{self.home}/serviceaccounts/{self.account}/token"
        made = await self.request("POST", path, body={"spec": {"expirationSeconds": 3600}})
        return str(made["status"]["token"])

    async def create_table(self, namespace: str, name: str) -> None:
        spec = {"basePath": f"s3a://lake/{namespace}/{name}", "type": "CopyOnWrite", "recordKey": ["id"]}
        metadata = {"name": name, "finalizers": [FINALIZER]}
        body = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "metadata": metadata, "spec": spec}
        await self.request("POST", f"{GROUP}/namespaces/{namespace}/huditables", body=body)

    async def let_go(self, namespace: str) -> None:
        path = f"{GROUP}/namespaces/{namespace}/huditables"
        tables = [table["metadata"]["name"] async for table in self._transport.list_items(path)]
        for name in tables:
            change = {"metadata": {"finalizers": None}}
            await self.request("PATCH", f"{path}/{name}", body=change, content_type=MERGE_PATCH)

    async def binding_is_gone(self) -> bool:
        try:
            await self.request("GET", self.binding)
        except NotFound:
            return True
        return False

    async def reconcile(self, key: ObjectKey, _trigger: Trigger) -> None:
        self.reconciled.append(key)

    def names(self) -> set[str]:
        return {key.name for key in self.reconciled}

    @asynccontextmanager
    async def operator(self, *, resync_seconds: float = 1) -> AsyncIterator[OperatorProcess]:
        """Run a process that finds the API server, and its account, as in a pod."""
        self.reconciled.clear()
        settings = Settings(
            spark_image="unused",
            watch_namespaces=(self.leaves, self.stays),
            resync_seconds=resync_seconds,
            health_port=0,
            metrics_port=0,
            shutdown_seconds=5,
        )
        async with await KubernetesClient.connect(operator_namespace=self.home) as kube:
            process = OperatorProcess(
                settings=settings,
                kube=kube,
                controllers=CONTROLLERS,
                known=KnownObjects(CONTROLLERS),
                reconcile=self.reconcile,
            )
            running = asyncio.create_task(process.run())
            try:
                yield process
            finally:
                process.stop()
                await running


@pytest.fixture
async def world(
    transport: Transport, helm: Any, chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    world = World(transport, f"test-{uuid.uuid4().hex[:8]}")
    for namespace in (world.home, world.stays, world.leaves):
        await world.request("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
    place = f"--namespace={world.home}"
    served = f"--set=watchNamespaces={{{world.stays},{world.leaves}}}"
    # A node that does not exist: the rights are wanted here, and no pod of the operator.
    nowhere = f"--set=nodeSelector.nowhere={world.home}"
    try:
        result = helm("install", world.home, str(chart), place, "--skip-crds", nowhere, served)
        assert result.returncode == 0, result.stderr
        administrator = os.environ["KUBECONFIG"]
        with monkeypatch.context() as patched:
            kubeconfig = tmp_path / "kubeconfig"
            write_kubeconfig(kubeconfig, Path(administrator), await world.token())
            patched.setenv("KUBECONFIG", str(kubeconfig))
            yield world
    finally:
        helm("uninstall", world.home, place)
        for namespace in (world.home, world.stays, world.leaves):
            await world.request("DELETE", f"/api/v1/namespaces/{namespace}")
            await world.let_go(namespace)


def write_kubeconfig(path: Path, administrator: Path, token: str) -> None:
    """Write a copy of the administrator's kubeconfig for whom the token is."""
    document = yaml.safe_load(administrator.read_text())
    for user in document["users"]:
        user["user"] = {"token": token}
    path.write_text(yaml.safe_dump(document))


async def test_a_namespace_that_is_deleted_with_the_rights_in_it_holds_up_no_other_also_after_a_restart(
    world: World, eventually: Eventually
) -> None:
    await world.create_table(world.stays, "stays")
    await world.create_table(world.leaves, "leaves")
    async with world.operator() as process:
        await eventually(lambda: world.names() == {"stays", "leaves"}, seconds=60)
        await world.request("DELETE", f"/api/v1/namespaces/{world.leaves}")
        await eventually(world.binding_is_gone, seconds=60)
        await eventually(lambda: process.resync.refused == {world.leaves}, seconds=60)
        await world.create_table(world.stays, "created-meanwhile")
        await eventually(lambda: "created-meanwhile" in world.names(), seconds=60)
        # The rights may have gone in the midst of a listing, and the next one need not have ended.
        await eventually(lambda: process.resync.problem is None, seconds=60)
        assert table_key(world.leaves, "leaves") in process.known
    async with world.operator(resync_seconds=600) as process:  # only the watches tell of what is new
        await eventually(lambda: world.names() == {"stays", "created-meanwhile"}, seconds=60)
        await eventually(lambda: process.watcher.problem is None)
        await world.create_table(world.stays, "created-afterwards")
        await eventually(lambda: "created-afterwards" in world.names(), seconds=60)
        assert "leaves" not in world.names()


async def test_a_namespace_whose_rights_come_back_is_served_again(world: World, eventually: Eventually) -> None:
    await world.create_table(world.stays, "stays")
    await world.create_table(world.leaves, "leaves")
    binding = await world.request("GET", world.binding)
    await world.request("DELETE", world.binding)
    async with world.operator() as process:
        await eventually(lambda: "stays" in world.names(), seconds=60)
        assert process.resync.refused == {world.leaves}
        assert world.names() == {"stays"}
        binding["metadata"] = {"name": binding["metadata"]["name"]}
        await world.request("POST", world.binding.rpartition("/")[0], body=binding)
        await eventually(lambda: "leaves" in world.names(), seconds=60)
        assert process.resync.refused == set()
        # kopf tries again what was refused to it.
        await eventually(lambda: process.watcher.problem is None)
