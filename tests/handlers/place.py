"""A namespace of a real API server, with the operator's reconciler of one kind of objects that name a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hudi_operator.control.operations import OperationReconciler
from hudi_operator.control.savepoints import SavepointReconciler
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.objects import Kind, ObjectKey
from hudi_operator.kube.transport import Transport
from hudi_operator.runtime.controller import Trigger

Document = dict[str, Any]
GROUP = "/apis/hudi-operator.io/v1beta1"


class Place:
    """The namespace; `woken` are the tables that the reconciler has woken."""

    def __init__(
        self,
        transport: Transport,
        namespace: str,
        *,
        kind: Kind,
        reconciler: Callable[..., OperationReconciler | SavepointReconciler],
    ) -> None:
        self._transport = transport
        self._kind = kind
        self.namespace = namespace
        self.kube = KubernetesClient(transport, operator_namespace=namespace)
        self.woken: list[ObjectKey] = []
        self._reconciler = reconciler(self.kube, wake=self.woken.append)

    async def create(self, kind: str, name: str, spec: Document) -> Document:
        body = {"apiVersion": "hudi-operator.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        path = f"{GROUP}/namespaces/{self.namespace}/{kind.lower()}s"
        return await self._transport.request("POST", path, body=body)

    async def table(self) -> Document:
        path = f"s3a://lake/{self.namespace}/flights"
        return await self.create("HudiTable", "flights", {"basePath": path, "type": "CopyOnWrite", "recordKey": ["id"]})

    async def declare(self, name: str, **spec: Any) -> Document:
        return await self.create(self._kind.name, name, {"tableRef": {"name": "flights"}, **spec})

    async def delete(self, name: str) -> None:
        path = f"{GROUP}/namespaces/{self.namespace}/{self._kind.plural}/{name}"
        await self._transport.request("DELETE", path)

    async def reconcile(self, name: str) -> Document | None:
        key = ObjectKey(self._kind, self.namespace, name)
        await self._reconciler.reconcile(key, Trigger.EVENT)
        return await self.kube.get(key)
