"""Operations against a real API server: what it stores of them, and how a resource comes and goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations import JOB, decided, entry
from tests.planning.world import NOW, active, ago, at, run, status

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.table import ServiceStatus
from hudi_operator.control.keys import TABLE, operation_key, table_key
from hudi_operator.control.operations import OperationReconciler
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.kube.transport import Transport
from hudi_operator.runtime.controller import Trigger

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
GROUP = "/apis/hudi-operator.io/v1alpha1"
REPORT: Document = {"target": ago(20), "removed_count": 1, "removed": (ago(10),), "rows_after": 20, "verified": True}


class Place:
    """A namespace of a real API server, and the operator's reconciler of operations in it."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self._transport = transport
        self.namespace = namespace
        self.kube = KubernetesClient(transport, operator_namespace=namespace)
        self.woken: list[ObjectKey] = []
        self._reconciler = OperationReconciler(self.kube, wake=self.woken.append)

    async def create(self, kind: str, name: str, spec: Document) -> Document:
        body = {"apiVersion": "hudi-operator.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        path = f"{GROUP}/namespaces/{self.namespace}/{kind.lower()}s"
        return await self._transport.request("POST", path, body=body)

    async def table(self) -> Document:
        path = f"s3a://lake/{self.namespace}/flights"
        return await self.create("HudiTable", "flights", {"basePath": path, "type": "CopyOnWrite", "recordKey": ["id"]})

    async def operation(self, **spec: Any) -> Document:
        asked = {"tableRef": {"name": "flights"}, "restore": {"instant": ago(20)}, **spec}
        return await self.create("HudiOperation", "back", asked)

    async def delete(self) -> None:
        await self._transport.request("DELETE", f"{GROUP}/namespaces/{self.namespace}/hudioperations/back")

    async def reconcile(self) -> Document | None:
        await self._reconciler.reconcile(operation_key(self.namespace, "back"), Trigger.EVENT)
        return await self.kube.get(operation_key(self.namespace, "back"))


@pytest.fixture
def place(transport: Transport, namespace: str) -> Place:
    return Place(transport, namespace)


async def test_a_table_remembers_all_that_is_needed_to_finish_an_operation(place: Place) -> None:
    document = await place.table()
    known = entry(state="Running", begun=True, job=decided(), started_at=at(NOW), report=REPORT)
    memory = ServiceStatus(due=True, reason="OperationAsked", last_run=run(Outcome.FAILED, service="Operation"))
    job = active(JOB, service="Operation", operation=decided())
    written = status(operations=(known,), operation=memory, active_jobs=(job,)).to_document()
    await place.kube.replace_status(TABLE, document, written)
    found = await place.kube.get(table_key(place.namespace, "flights"))
    assert found is not None
    assert found["status"]["operations"] == written["operations"]
    assert found["status"]["activeJobs"][0]["operation"] == written["activeJobs"][0]["operation"]
    assert found["status"]["services"]["operation"]["reason"] == "OperationAsked"


async def test_an_operation_is_held_told_and_let_go_without_a_table(place: Place) -> None:
    await place.operation()
    found = await place.reconcile()
    assert found is not None
    assert found["metadata"]["finalizers"] == ["hudi-operator.io/operation"]
    assert (found["status"]["phase"], found["status"]["reason"]) == ("Pending", "TableNotFound")
    assert place.woken == [table_key(place.namespace, "flights")]
    await place.delete()
    assert await place.reconcile() is None


async def test_an_operation_says_what_its_table_says_and_is_held_while_it_has_begun(place: Place) -> None:
    table, operation = await place.table(), await place.operation()
    known = entry(uid=operation["metadata"]["uid"], state="Running", begun=True, job=decided(), report=REPORT)
    await place.kube.replace_status(TABLE, table, status(operations=(known,)).to_document())
    found = await place.reconcile()
    assert found is not None
    assert (found["status"]["phase"], found["status"]["report"]["verified"]) == ("Running", True)
    await place.delete()
    held = await place.reconcile()
    assert held is not None
    table = await place.kube.get(table_key(place.namespace, "flights")) or {}
    over = known.model_copy(update={"state": "Succeeded", "finished_at": at(NOW)})
    await place.kube.replace_status(TABLE, table, status(operations=(over,)).to_document())
    assert await place.reconcile() is None


async def test_one_that_is_over_is_deleted_after_its_time(place: Place) -> None:
    table, operation = await place.table(), await place.operation(ttlAfterFinished="1m")
    await place.reconcile()
    over = entry(uid=operation["metadata"]["uid"], state="Succeeded", reason="Succeeded", finished_at=at(NOW))
    await place.kube.replace_status(TABLE, table, status(operations=(over,)).to_document())
    going = await place.reconcile()
    assert going is None or going["metadata"].get("deletionTimestamp") is not None
    assert going is None or await place.reconcile() is None
