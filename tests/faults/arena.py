"""One operator behind a fault-injecting proxy, one namespace, one class and one node, for one scenario."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.faults.driver import commit
from tests.faults.node import NODE_LABEL, FakeNode
from tests.faults.proxy import FaultProxy
from tests.faults.skew import NO_SKEW, Skew
from tests.faults.upstream import open_session
from tests.whole_status import whole

from hudi_operator.api.spec.operation import OPERATION_FIELDS
from hudi_operator.jobs.names import TABLE_UID_LABEL
from hudi_operator.kube import errors
from hudi_operator.kube.errors import KubernetesError, NotFound
from hudi_operator.kube.transport import MERGE_PATCH, Transport, load_configuration
from toolkit.operator_process import LocalOperator
from toolkit.small_table import SmallTable

API = "/apis/hudi-operator.io/v1beta1"
PATIENCE = 180.0
"""Seconds after which a wait fails: far more than anything takes, because the machine may be busy."""

SETTINGS = {
    "SPARK_IMAGE": "spark",
    "POLL_SECONDS": "1",
    "MAX_POLL_SECONDS": "2",
    "RESYNC_SECONDS": "3",
    "HEALTH_PORT": "0",
    "METRICS_PORT": "0",
    "LEADER_ELECTION": "false",
}
"""Everything that happens by the clock happens soon, so that what a fault has hidden is found soon."""

Document = dict[str, Any]


@dataclass
class Arena:
    """Everything that a scenario works with; requests of the test itself do not go through the proxy."""

    transport: Transport
    proxy: FaultProxy
    operator: LocalOperator
    node: FakeNode
    namespace: str
    folder: Path

    @property
    def operations(self) -> str:
        """Path of the namespace's operations."""
        return f"{API}/namespaces/{self.namespace}/hudioperations"

    @property
    def savepoints(self) -> str:
        """Path of the namespace's savepoints."""
        return f"{API}/namespaces/{self.namespace}/hudisavepoints"

    @property
    def tables(self) -> str:
        """Path of the namespace's tables."""
        return f"{API}/namespaces/{self.namespace}/huditables"

    async def declare(self, name: str, **spec: Any) -> None:
        """Create a table that ingests a file once, and then only when it is asked to; `spec` wins."""
        landing = self.folder / "landing" / name
        if "ingestion" not in spec:  # a source without a file starts no Job
            landing.mkdir(parents=True, exist_ok=True)
            (landing / "first.csv").write_text("1\n")
        source = {"files": {"path": f"file://{landing}", "format": "csv"}}
        declared = {
            "tableClassName": self.namespace,
            "basePath": f"file://{self.folder}/lake/{name}",
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "ingestion": {"source": source, "operation": "Insert", "schedule": {"every": "24h"}},
        } | spec
        table = {
            "apiVersion": "hudi-operator.io/v1beta1",
            "kind": "HudiTable",
            "metadata": {"name": name},
            "spec": declared,
        }
        await self.transport.request("POST", self.tables, body=table)

    async def allow(self, **spec: Any) -> None:
        """Change some fields of the class."""
        path = f"{API}/huditableclasses/{self.namespace}"
        await self.transport.request("PATCH", path, body={"spec": spec}, content_type=MERGE_PATCH)

    async def patch(self, name: str, changes: Document) -> None:
        """Change some fields of a table."""
        await self.transport.request("PATCH", f"{self.tables}/{name}", body=changes, content_type=MERGE_PATCH)

    async def get(self, name: str) -> Document | None:
        """Return a table, or None where it is gone."""
        try:
            table = await self.transport.request("GET", f"{self.tables}/{name}")
        except NotFound:
            return None
        return {**table, "status": whole(table)}

    async def items(self, path: str, selector: str = "") -> list[Document]:
        """Return what a collection holds."""
        query = {"labelSelector": selector} if selector else None
        found = list((await self.transport.request("GET", path, query=query)).get("items") or ())
        return [{**one, "status": whole(one)} for one in found] if path == self.tables else found

    async def jobs(self) -> list[Document]:
        """Return the Jobs of the namespace."""
        return await self.items(f"/apis/batch/v1/namespaces/{self.namespace}/jobs")

    async def pods(self) -> list[Document]:
        """Return the pods of the namespace."""
        return await self.items(f"/api/v1/namespaces/{self.namespace}/pods")

    async def claims(self) -> list[Document]:
        """Return the claims on base paths; the operator's namespace is the same as the tables'."""
        return await self.items(f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases", TABLE_UID_LABEL)

    def lake(self, name: str) -> SmallTable:
        """Return the timeline of a table."""
        return SmallTable(self.folder / "lake" / name)

    def files(self) -> dict[str, tuple[int, int]]:
        """Return every file of the lake, with its size and the time of its last change."""
        found = (path for path in (self.folder / "lake").rglob("*") if path.is_file())
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}

    async def eventually(self, look: Callable[[], Awaitable[Any]], *, what: str, seconds: float = PATIENCE) -> Any:
        """Return the first true answer; fail with what explains it when there is none in time."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(KubernetesError):
                if found := await look():
                    return found
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not within {seconds:.0f} s.\n{await self.explain()}")
            await asyncio.sleep(0.05)

    async def explain(self) -> str:
        """Return what a person would look at."""
        tables = [
            {"metadata": {"name": table["metadata"]["name"]}, "status": table.get("status")}
            for table in await self.items(self.tables)
        ]
        log = [line[:600] for line in self.operator.log.read_text(errors="replace").splitlines()[-25:]]
        writes = [f"{write.call}{f': {write.fault}' if write.fault else ''}" for write in self.proxy.writes[-25:]]
        asked = [*await self.items(self.operations), *await self.items(self.savepoints)]
        return "\n".join([*map(str, (*tables, *asked)), "--- writes", *writes, "--- operator", *log])

    def unexpected(self) -> list[str]:
        """Return what the operator has logged as an error: none of the faults is the operator's own."""
        return [f"{line['event']} {line.get('exception', '')}" for line in self.operator.lines() if is_error(line)]


def is_error(line: Document) -> bool:
    """Whether a line of the log says that the operator itself is broken; kopf calls every refused request an error."""
    if line.get("event") == "reconcile failed":
        kind = getattr(errors, str(line.get("error")).partition(":")[0], Exception)
        return not issubclass(kind, KubernetesError)
    return line.get("level") in {"error", "critical"} and not str(line.get("logger")).startswith("kopf")


@contextlib.asynccontextmanager
async def arena(
    folder: Path, *, seed: int = 0, stall_seconds: float = 30.0, skew: Skew = NO_SKEW, **settings: str
) -> AsyncIterator[Arena]:
    """Set everything up in its own namespace, and take it down again; `settings` win over the ordinary ones."""
    await asyncio.to_thread(folder.mkdir)
    namespace = f"faults-{uuid4().hex[:8]}"
    configuration = await load_configuration()
    operator: LocalOperator | None = None

    async def crash() -> None:
        assert operator is not None
        await operator.kill()

    async with contextlib.AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport(configuration, timeout_seconds=30))
        await _make_place(transport, namespace, folder)
        stack.push_async_callback(_remove_place, transport, namespace)
        session = await stack.enter_async_context(open_session(configuration))
        node = await stack.enter_async_context(
            FakeNode(transport, session, name=namespace, work=partial(commit, skew=skew), ahead=skew.drivers)
        )
        proxy = FaultProxy(configuration, seed=seed, crash=crash, stall_seconds=stall_seconds)
        await stack.enter_async_context(proxy)
        own = {"WATCH_NAMESPACES": namespace, "OPERATOR_NAMESPACE": namespace}
        operator = LocalOperator(
            kubeconfig=proxy.write_kubeconfig(folder / "kubeconfig"),
            settings={**SETTINGS, **own, **settings},
            log=folder / "operator.log",
            ahead=skew.operator,
        )
        await stack.enter_async_context(operator)
        yield Arena(transport, proxy, operator, node, namespace, folder)


async def _make_place(transport: Transport, namespace: str, folder: Path) -> None:
    await transport.request("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
    spec = {
        "allowedBasePaths": [f"file://{folder}/lake"],
        "allowedSourcePaths": [f"file://{folder}/landing"],
        "execution": {"mode": "Local"},
        "job": {"nodeSelector": {NODE_LABEL: namespace}},
        "retry": {"initialDelay": "1s", "maxDelay": "2s"},
        "operations": {"allowed": [*OPERATION_FIELDS], "approval": "Manual"},
    }
    table_class = {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiTableClass",
        "metadata": {"name": namespace},
        "spec": spec,
    }
    await transport.request("POST", f"{API}/huditableclasses", body=table_class)


async def _remove_place(transport: Transport, namespace: str) -> None:
    """Remove the namespace and the class, whatever state a failed scenario has left them in."""
    await transport.request("DELETE", f"/api/v1/namespaces/{namespace}")
    for plural in ("hudioperations", "hudisavepoints", "huditables"):
        path = f"{API}/namespaces/{namespace}/{plural}"
        async for one in transport.list_items(path):
            with contextlib.suppress(NotFound):
                await transport.request(
                    "PATCH",
                    f"{path}/{one['metadata']['name']}",
                    body={"metadata": {"finalizers": None}},
                    content_type=MERGE_PATCH,
                )
    await transport.request("DELETE", f"{API}/huditableclasses/{namespace}")
