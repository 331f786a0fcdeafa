"""Savepoints against a real API server: what it stores of them, and how a resource comes and goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.savepoints import at_work, entry
from tests.planning.world import NOW, ago, at, minutes, run, status

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.table import ServiceStatus
from hudi_operator.control.keys import SAVEPOINT, TABLE, savepoint_key, table_key
from hudi_operator.control.savepoints import SavepointReconciler
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.kube.transport import Transport
from hudi_operator.runtime.controller import Trigger

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
GROUP = "/apis/hudi-operator.io/v1alpha1"


class Place:
    """A namespace of a real API server, and the operator's reconciler of savepoints in it."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self._transport = transport
        self.namespace = namespace
        self.kube = KubernetesClient(transport, operator_namespace=namespace)
        self.woken: list[ObjectKey] = []
        self._reconciler = SavepointReconciler(self.kube, wake=self.woken.append)

    async def create(self, kind: str, name: str, spec: Document) -> Document:
        body = {"apiVersion": "hudi-operator.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        path = f"{GROUP}/namespaces/{self.namespace}/{kind.lower()}s"
        return await self._transport.request("POST", path, body=body)

    async def table(self) -> Document:
        path = f"s3a://lake/{self.namespace}/flights"
        return await self.create("HudiTable", "flights", {"basePath": path, "type": "CopyOnWrite", "recordKey": ["id"]})

    async def savepoint(self, name: str = "daily") -> Document:
        return await self.create(
            "HudiSavepoint", name, {"tableRef": {"name": "flights"}, "latest": True, "keepForever": True}
        )

    async def delete(self, name: str = "daily") -> None:
        await self._transport.request("DELETE", f"{GROUP}/namespaces/{self.namespace}/hudisavepoints/{name}")

    async def reconcile(self, name: str = "daily") -> Document | None:
        await self._reconciler.reconcile(savepoint_key(self.namespace, name), Trigger.EVENT)
        return await self.kube.get(savepoint_key(self.namespace, name))


@pytest.fixture
def place(transport: Transport, namespace: str) -> Place:
    return Place(transport, namespace)


async def test_the_status_of_a_table_is_stored_as_it_is_written(place: Place) -> None:
    """What the API server drops would be written again and again."""
    document = await place.table()
    entries = (entry(instant=ago(10), since=at(NOW), adopted=True, blocks="Cleaning.", failures=2), entry("other"))
    memory = ServiceStatus(due=True, reason="SavepointAsked", last_run=run(Outcome.FAILED, service="Savepoint"))
    written = status(savepoints=entries, savepoint=memory, active_jobs=(at_work(),)).to_document()
    await place.kube.replace_status(TABLE, document, written)
    stored = await place.kube.get(table_key(place.namespace, "flights"))
    assert stored is not None
    assert stored["status"] == written


async def test_a_savepoint_is_held_told_and_let_go_without_a_table(place: Place) -> None:
    await place.savepoint()
    found = await place.reconcile()
    assert found is not None
    assert found["metadata"]["finalizers"] == ["hudi-operator.io/savepoint"]
    assert found["status"]["conditions"][0]["reason"] == "TableNotFound"
    assert place.woken == [table_key(place.namespace, "flights")]
    again = await place.reconcile()
    assert again == found, "nothing is written twice"
    await place.delete()
    assert await place.reconcile() is None


async def test_a_savepoint_says_what_its_table_says(place: Place) -> None:
    table, savepoint = await place.table(), await place.savepoint()
    known = entry(uid=savepoint["metadata"]["uid"], instant=ago(10), since=at(NOW - minutes(1)), blocks="Cleaning.")
    document = status(savepoints=(known,)).to_document()
    await place.kube.replace_status(TABLE, table, document)
    found = await place.reconcile()
    assert found is not None
    told = found["status"]
    assert (told["instant"], told["blocks"], told["conditions"][0]["status"]) == (ago(10), "Cleaning.", "True")
    assert [one async for one in place.kube.each(SAVEPOINT, place.namespace)]
