"""A node without a kubelet: the API server, the scheduler and the Job controller are real, only the containers are not.

The node takes pods whose selector names it. It reports each as running, lets a coroutine do the work of the container,
and reports how that ended. It keeps its Lease renewed, so that the node lifecycle controller sees it alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from urllib.parse import quote

import aiohttp

from hudi_operator.jobs.names import TABLE_UID_LABEL
from hudi_operator.kube.errors import AlreadyExists, KubernetesError, NotFound
from hudi_operator.kube.transport import MERGE_PATCH, Transport

NODE_LABEL = "faults.hudi-operator.io/node"

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_RENEWAL_SECONDS = 10.0

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a container ended."""

    exit_code: int = 0
    message: str = ""
    beside: str | None = None
    """Name of a container beside it that runs on, as one that a service mesh has injected."""


Work = Callable[[Document], Awaitable[Ended]]
"""What a container does; it is cancelled when its pod is deleted."""


class FakeNode:
    """A node of the cluster; `work` may be changed at any time and holds for pods that start afterwards.

    `ahead` is how far its clock is ahead of the API server's, and `kubelet` the port of this machine that has the logs.
    """

    def __init__(
        self,
        transport: Transport,
        session: aiohttp.ClientSession,
        *,
        name: str,
        work: Work,
        ahead: timedelta = timedelta(),
        kubelet: int | None = None,
    ) -> None:
        self._transport = transport
        self._kubelet = kubelet
        self._session = session
        self._ahead = ahead
        self.name = name
        self.work = work
        self.running: Counter[str] = Counter()
        """Drivers that run now, by the uid of their table."""

        self.overlaps: list[str] = []
        """Pods that started while another driver of the same table ran: there must never be one."""

        self.silent_about: set[str] = set()
        """Names of pods as on a node that is cut off: nothing is heard of them, not even that they are gone."""

        self._pods: dict[str, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._transport.request("POST", "/api/v1/nodes", body=_node(self.name, kubelet=self._kubelet))
        await self._renew()
        self._tasks = [asyncio.create_task(self._keep_alive()), asyncio.create_task(self._take_pods())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (*self._tasks, *self._pods.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._pods.values(), return_exceptions=True)
        for pod in await self._list_pods():
            await self._remove(pod)
        for path in (f"/api/v1/nodes/{self.name}", f"{_LEASES}/{self.name}"):
            with contextlib.suppress(NotFound):
                await self._transport.request("DELETE", path)

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(_RENEWAL_SECONDS)
            with contextlib.suppress(KubernetesError):
                await self._renew()

    async def _renew(self) -> None:
        now = (datetime.now(UTC) + self._ahead).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}, "spec": spec}
        try:
            await self._transport.request("POST", _LEASES, body=lease)
        except AlreadyExists:
            await self._transport.request(
                "PATCH", f"{_LEASES}/{self.name}", body={"spec": spec}, content_type=MERGE_PATCH
            )

    async def _take_pods(self) -> None:
        while True:
            with contextlib.suppress(KubernetesError, aiohttp.ClientError, asyncio.TimeoutError):
                for pod in await self._list_pods():
                    self._see(pod)
                async for pod in self._watch_pods():
                    self._see(pod)
            await asyncio.sleep(0.2)

    async def _list_pods(self) -> list[Document]:
        path = f"/api/v1/pods?fieldSelector={quote(f'spec.nodeName={self.name}')}"
        return list((await self._transport.request("GET", path)).get("items") or ())

    async def _watch_pods(self) -> AsyncIterator[Document]:
        query = {"watch": "true", "fieldSelector": f"spec.nodeName={self.name}"}
        async with self._session.get("/api/v1/pods", params=query) as answer:
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] in {"ADDED", "MODIFIED"}:
                    yield event["object"]

    def _see(self, pod: Document) -> None:
        uid = pod["metadata"]["uid"]
        if pod["metadata"]["name"] in self.silent_about:
            return
        if pod["metadata"].get("deletionTimestamp"):
            task = self._pods.pop(uid, None)
            if task is not None:
                task.cancel()
            self._tasks.append(asyncio.create_task(self._remove(pod)))
        elif uid not in self._pods and pod["status"].get("phase") == "Pending":
            self._pods[uid] = asyncio.create_task(self._run(pod))

    async def _run(self, pod: Document) -> None:
        table = pod["metadata"]["labels"].get(TABLE_UID_LABEL, "")
        if self.running[table]:
            self.overlaps.append(pod["metadata"]["name"])
        self.running[table] += 1
        try:
            await self._report(pod, _running(pod, now=self._now()))
            ended = await self.work(pod)
        finally:
            self.running[table] -= 1
        with contextlib.suppress(NotFound):
            await self._report(pod, _terminated(pod, ended, now=self._now()))

    async def _report(self, pod: Document, status: Document) -> None:
        await self._transport.request(
            "PATCH", f"{_path(pod)}/status", body={"status": status}, content_type=MERGE_PATCH
        )

    async def _remove(self, pod: Document) -> None:
        """Confirm a deletion, as the kubelet does once the containers have ended."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        with contextlib.suppress(KubernetesError):
            await self._transport.request("DELETE", _path(pod), body=options)

    def _now(self) -> str:
        return (datetime.now(UTC) + self._ahead).strftime("%Y-%m-%dT%H:%M:%SZ")


def _path(pod: Document) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _node(name: str, *, kubelet: int | None) -> Document:
    logs = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet}},
    }
    room = {"cpu": "1000", "memory": "1Ti", "pods": "10000", "ephemeral-storage": "1Ti"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "no kubelet"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {NODE_LABEL: name, "kubernetes.io/hostname": name}},
        # Nothing else should come here, and the pods of the operator tolerate no taint that would forbid it.
        "spec": {"taints": [{"key": NODE_LABEL, "effect": "PreferNoSchedule"}]},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready], **(logs if kubelet else {})},
    }


def _running(pod: Document, *, now: str) -> Document:
    conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")]
    state = {"running": {"startedAt": now}}
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": [*(pod["status"].get("conditions") or ()), *conditions],
        "containerStatuses": [_container(pod, state, ready=True)],
    }


def _terminated(pod: Document, ended: Ended, *, now: str) -> Document:
    state = {
        "terminated": {
            "exitCode": ended.exit_code,
            "reason": "Error" if ended.exit_code else "Completed",
            "message": ended.message,
            "finishedAt": now,
        }
    }
    own = _container(pod, state, ready=False)
    if ended.beside is not None:
        other = _container(pod, {"running": {"startedAt": now}}, ready=True) | {"name": ended.beside}
        return {"phase": "Running", "containerStatuses": [other, own]}
    return {"phase": "Failed" if ended.exit_code else "Succeeded", "containerStatuses": [own]}


def _container(pod: Document, state: Document, *, ready: bool) -> Document:
    container = pod["spec"]["containers"][0]
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "state": state,
    }
