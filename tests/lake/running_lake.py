"""The lake in a cluster: its tables, their class, and an operator that observes them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.cli.command import Done, command
from tests.faults.arena import API, SETTINGS, is_error
from tests.faults.driver import commit, ended, never_end
from tests.faults.kubelet import Kubelet, serving_logs
from tests.faults.node import NODE_LABEL, Ended, FakeNode
from tests.faults.upstream import open_session
from tests.lake.recorded_lake import BROKEN, HEALTHY, TENANTS, make_lake

from hudi_jobs.contract import (
    FailureReason,
    JobOutcome,
    JobRequest,
    Outcome,
    TaskResult,
    decode_outcome,
    encode_outcome,
)
from hudi_operator.api.spec.operation import OPERATION_FIELDS
from hudi_operator.jobs.names import REQUEST_ANNOTATION
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.transport import MERGE_PATCH, Transport, load_configuration
from toolkit.control_plane import free_ports
from toolkit.operator_process import LocalOperator

Document = dict[str, Any]
ZONE = "America/New_York"
"""The zone of the writers of the recorded timelines."""


OTHER_CLASSES: dict[str, Document] = {"failing": {}, "small": {"jobQuota": {"runningJobs": 1}}}
"""What the other classes of the lake have beside the rules of the first."""


@dataclass
class Lake:
    """The lake, and the namespaces of its tenants by their names."""

    folder: Path
    namespaces: dict[str, str]
    table_class: str
    transport: Transport
    operator: LocalOperator
    kubelet: Kubelet
    metrics_port: int

    async def ask(self, *words: str) -> Done:
        """Run a command as a person."""
        return await asyncio.to_thread(command, *words)

    async def page(self) -> list[Sample]:
        """Return the samples of the operator's metrics page, as Prometheus reads them."""
        address = f"http://127.0.0.1:{self.metrics_port}/metrics"
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            text = await answer.text()
        return [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    async def tables(self) -> list[Document]:
        """Return the tables of all tenants."""
        listed = json.loads((await self.ask("status", "-A", "--class", self.table_class, "-o", "json")).stdout)
        return list(listed["items"])

    async def until(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """Return the first true answer."""
        try:
            async with asyncio.timeout(120):
                while not (found := await look()):  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.3)
                return found
        except TimeoutError:
            log = self.operator.log.read_text(errors="replace").splitlines()[-20:]
            pytest.fail("\n".join(["no answer in time", *log]), pytrace=True)


@contextlib.asynccontextmanager
async def running_lake(folder: Path) -> AsyncIterator[Lake]:
    """Run an operator that observes the sixty tables, as `adopt` writes them, and one table that it ingests."""
    mark = uuid4().hex[:6]
    make_lake(folder / "lake")
    configuration = await load_configuration()
    namespaces = {tenant: f"{tenant}-{mark}" for tenant in TENANTS}
    async with contextlib.AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport(configuration, timeout_seconds=30))
        session = await stack.enter_async_context(open_session(configuration))
        stack.push_async_callback(_remove, transport, namespaces.values(), mark)
        await _declare(transport, folder, namespaces, mark)
        kubelet = await stack.enter_async_context(serving_logs(folder))
        work = partial(drive, kubelet)
        await stack.enter_async_context(FakeNode(transport, session, name=mark, work=work, kubelet=kubelet.port))
        (metrics_port,) = free_ports(1)
        own = {
            "WATCH_NAMESPACES": ",".join(namespaces.values()),
            "OPERATOR_NAMESPACE": namespaces["sales"],
            "METRICS_PORT": str(metrics_port),
            "FAILED_RUN_LOGS": "true",
        }
        operator = LocalOperator(
            kubeconfig=Path(os.environ["KUBECONFIG"]),
            settings={**SETTINGS, "POLL_SECONDS": "3", "MAX_POLL_SECONDS": "6", **own},
            log=folder / "operator.log",
        )
        await stack.enter_async_context(operator)
        found = Lake(folder, namespaces, mark, transport, operator, kubelet, metrics_port)
        await found.until(lambda: _all_read(found))
        yield found
        assert [line["event"] for line in operator.lines() if is_error(line)] == []


async def drive(kubelet: Kubelet, pod: Document) -> Ended:
    """Work as the driver of a table: `returns` fails with a log, `slow` never ends, and all others ingest."""
    request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
    name = request.tasks[0].id.split("/")[1]
    if name.startswith("slow"):
        return await never_end(pod)
    if name != "returns":
        return await ingest(pod)
    kubelet.logs[pod["metadata"]["name"]] = "Reading first.csv\nCaused by: the column price is missing\x1b[31m\n"
    reason, message = FailureReason.COLUMN_MISSING, "The input lacks the column price."
    failed = TaskResult(id=request.tasks[0].id, outcome=Outcome.FAILED, reason=reason, message=message)
    return Ended(exit_code=1, message=encode_outcome(JobOutcome(results=(failed,))))


async def ingest(pod: Document) -> Ended:
    """Commit as a driver that has read everything up to now."""
    outcome = decode_outcome((await commit(pod)).message)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return ended(outcome.results[0].copy_with(complete_up_to=now))


async def _declare(transport: Transport, folder: Path, namespaces: dict[str, str], mark: str) -> None:
    rules = {
        "allowedBasePaths": [f"file://{folder}/lake"],
        "allowedSourcePaths": [f"file://{folder}/landing"],
        "execution": {"mode": "Local"},
        "job": {"nodeSelector": {NODE_LABEL: mark}},
        "operations": {"allowed": [*OPERATION_FIELDS], "approval": "Manual"},
    }
    api = {"apiVersion": "hudi-operator.io/v1beta1"}
    table_class = {**api, "kind": "HudiTableClass", "metadata": {"name": mark}, "spec": rules}
    await transport.request("POST", f"{API}/huditableclasses", body=table_class)
    for tenant, namespace in namespaces.items():
        await transport.request("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
        place = str(folder / "lake" / tenant)
        drafted = await asyncio.to_thread(command, "adopt", place, "--namespace", namespace, "--class", mark)
        for document in yaml.load_all(drafted.stdout, yaml.CSafeLoader):
            if "-upgraded-" in document["metadata"]["name"]:  # their files do not show the zone, so a person decides
                document["spec"]["timelineTimeZone"] = ZONE
            await transport.request("POST", f"{API}/namespaces/{namespace}/huditables", body=document)
    # Tables of the other classes fail or wait in some tests, and leave the counts of the first class alone.
    for name, others in OTHER_CLASSES.items():
        body = {**api, "kind": "HudiTableClass", "metadata": {"name": f"{mark}-{name}"}, "spec": {**rules, **others}}
        await transport.request("POST", f"{API}/huditableclasses", body=body)
    (folder / "landing").mkdir()
    (folder / "landing" / "first.csv").write_text("1\n")
    await ingesting(transport, folder, namespaces["sales"], "orders", mark)
    await ingesting(transport, folder, namespaces["sales"], "returns", f"{mark}-failing")


async def ingesting(transport: Transport, folder: Path, namespace: str, name: str, table_class: str) -> None:
    """Declare a table that ingests a file."""
    source = {"files": {"path": f"file://{folder}/landing", "format": "csv"}}
    spec = {
        "tableClassName": table_class,
        "basePath": f"file://{folder}/lake/{name}",
        "type": "CopyOnWrite",
        "recordKey": ["id"],
        "ingestion": {"source": source, "operation": "Insert", "schedule": {"every": "24h"}},
    }
    document = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "metadata": {"name": name}, "spec": spec}
    await transport.request("POST", f"{API}/namespaces/{namespace}/huditables", body=document)


async def _remove(transport: Transport, namespaces: Any, mark: str) -> None:
    for namespace in namespaces:
        for plural in ("hudioperations", "huditables"):
            path = f"{API}/namespaces/{namespace}/{plural}"
            async for one in transport.list_items(path):
                with contextlib.suppress(NotFound):
                    place = f"{path}/{one['metadata']['name']}"
                    await transport.request(
                        "PATCH", place, body={"metadata": {"finalizers": None}}, content_type=MERGE_PATCH
                    )
        with contextlib.suppress(NotFound):
            await transport.request("DELETE", f"/api/v1/namespaces/{namespace}")
    for name in (mark, *(f"{mark}-{other}" for other in OTHER_CLASSES)):
        with contextlib.suppress(NotFound):
            await transport.request("DELETE", f"{API}/huditableclasses/{name}")


async def _all_read(lake: Lake) -> bool:
    tables = await lake.tables()
    ready = [one for one in tables if "timeline" in one.get("status", {})]
    return len(ready) == len(HEALTHY) + len(BROKEN) + 1
