"""A small operator over a real API server: claims, suspension, finalizers and savepoints, without a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.kube.keys import SAVEPOINT, TABLE
from hudi_operator.kube.objects import Kind, collection_path
from hudi_operator.kube.transport import MERGE_PATCH, Transport

FINALIZER = "hudi-operator.io/table"
Document = dict[str, Any]


class SmallOperator:
    """Answers for the tables of some namespaces; `wrote` has every table that might have written beside another."""

    def __init__(self, transport: Transport, *namespaces: str, refuses: str | None = None) -> None:
        self._transport, self._namespaces, self._refuses = transport, namespaces, refuses
        self._holder: dict[str, str] = {}
        self.held: list[str] = []
        self.released: list[str] = []

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Reconcile again and again."""
        work = asyncio.create_task(self._run())
        try:
            yield
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _run(self) -> None:
        while True:
            for namespace in self._namespaces:
                for kind in (TABLE, SAVEPOINT):
                    async for one in self._transport.list_items(collection_path(kind, namespace)):
                        with suppress(KubernetesError):
                            await self._reconcile(kind, namespace, one)
            await asyncio.sleep(0.02)

    async def _reconcile(self, kind: Kind, namespace: str, one: Document) -> None:
        metadata, path = one["metadata"], f"{collection_path(kind, namespace)}/{one['metadata']['name']}"
        if "deletionTimestamp" in metadata:
            self.released.append(f"{kind.name} {one['spec'].get('deletionPolicy', 'Retain')}")
            self._holder = {where: uid for where, uid in self._holder.items() if uid != metadata["uid"]}
            await self._patch(path, {"metadata": {"finalizers": None}})
            return
        if FINALIZER not in metadata.get("finalizers", ()):
            await self._patch(path, {"metadata": {"finalizers": [FINALIZER]}})
        if kind is TABLE:
            fresh = await self._transport.request("GET", path)
            await self._transport.request("PUT", f"{path}/status", body={**fresh, "status": self._status(fresh)})

    def _status(self, one: Mapping[str, Any]) -> Document:
        metadata = one["metadata"]
        conditions = []
        if metadata["namespace"] == self._refuses:
            conditions.append(_condition("Stalled", "ClassNotAllowed", metadata["generation"]))
        elif self._holder.setdefault(one["spec"]["basePath"], metadata["uid"]) != metadata["uid"]:
            conditions.append(_condition("Stalled", "BasePathClaimed", metadata["generation"]))
        else:
            self.held.append(metadata["namespace"])
        if SUSPEND_ANNOTATION in metadata.get("annotations", {}):
            conditions.append(_condition("Suspended", "Suspended", metadata["generation"]))
        return {"observedGeneration": metadata["generation"], "conditions": conditions}

    async def _patch(self, path: str, body: Document) -> None:
        await self._transport.request("PATCH", path, body=body, content_type=MERGE_PATCH)


def _condition(kind: str, reason: str, generation: int) -> Document:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": f"It is {reason}.",
        "observedGeneration": generation,
        "lastTransitionTime": "2026-03-10T12:00:00Z",
    }
