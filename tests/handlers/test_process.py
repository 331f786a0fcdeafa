"""The whole process, without the reconciler, against a real API server: what happens there reaches the queue."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest

from hudi_jobs.contract import Service
from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess, OperatorStopped
from hudi_operator.jobs.names import job_labels
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.keys import TABLE, TableKey, table_key
from hudi_operator.kube.transport import MERGE_PATCH, Transport
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.informer import KnownObjects

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
Eventually = Callable[..., Awaitable[Any]]
GROUP = "/apis/hudi-operator.io/v1beta1"


class Recorder:
    """A reconciler that notes the keys that it is given, and fails for those that it is told to."""

    def __init__(self) -> None:
        self.keys: list[TableKey] = []
        self.failing: set[str] = set()
        self.slow: float = 0.0
        self.ended = 0

    async def __call__(self, key: TableKey, _trigger: Trigger) -> float | None:
        self.keys.append(key)
        if key.name in self.failing:
            raise RuntimeError("this table always fails")
        await asyncio.sleep(self.slow)
        self.ended += 1
        return None

    def count(self, name: str) -> int:
        return sum(key.name == name for key in self.keys)

    async def settle(self) -> None:
        """Wait until no key has come for a while, then forget what came."""
        seen = -1
        while seen != len(self.keys):
            seen = len(self.keys)
            await asyncio.sleep(0.5)
        self.keys.clear()


@pytest.fixture
def start(transport: Transport, namespace: str, eventually: Eventually) -> Callable[..., Any]:
    @asynccontextmanager
    async def run(reconcile: Recorder, **changes: Any) -> AsyncIterator[OperatorProcess]:
        options = {
            "spark_image": "unused",
            "watch_namespaces": (namespace,),
            "resync_seconds": 600,
            "health_port": 0,
            "metrics_port": 0,
            "shutdown_seconds": 5,
            **changes,
        }
        kube = KubernetesClient(transport, operator_namespace=namespace)
        known = KnownObjects(CONTROLLERS)
        settings = Settings(**options)
        process = OperatorProcess(
            settings=settings,
            kube=kube,
            controllers=CONTROLLERS,
            known=known,
            reconcile=reconcile,
        )
        running = asyncio.create_task(process.run())
        await eventually(lambda: running.done() or process.resync.completed)
        try:
            yield process
        finally:
            process.stop()
            await running

    return run


@pytest.fixture
def tables(transport: Transport, namespace: str) -> Tables:
    return Tables(transport, namespace)


class Tables:
    """What a person does with tables in the test's namespace."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self._transport = transport
        self._namespace = namespace
        self.path = f"{GROUP}/namespaces/{namespace}/huditables"

    async def create(self, name: str, **spec: Any) -> Document:
        body = {"basePath": f"s3a://lake/{self._namespace}/{name}", "type": "CopyOnWrite", "recordKey": ["id"], **spec}
        return await self._transport.request("POST", self.path, body={**_kind("HudiTable", name), "spec": body})

    async def patch(self, name: str, **change: Any) -> Document:
        return await self._transport.request("PATCH", f"{self.path}/{name}", body=change, content_type=MERGE_PATCH)

    async def write_status(self, name: str, message: str) -> None:
        status = {"status": {"observedGeneration": 1, "message": message}}
        await self._transport.request("PATCH", f"{self.path}/{name}/status", body=status, content_type=MERGE_PATCH)

    async def delete(self, name: str) -> None:
        await self._transport.request("DELETE", f"{self.path}/{name}")
        with suppress(NotFound):
            await self.patch(name, metadata={"finalizers": None})


def _kind(kind: str, name: str) -> Document:
    return {"apiVersion": "hudi-operator.io/v1beta1", "kind": kind, "metadata": {"name": name}}


async def test_a_table_is_looked_at_when_it_appears_changes_and_goes(
    start: Callable[..., Any], tables: Tables, namespace: str, eventually: Eventually
) -> None:
    reconcile = Recorder()
    await tables.create("before")
    async with start(reconcile) as process:
        await eventually(lambda: reconcile.count("before"))
        await reconcile.settle()

        await tables.create("after")
        await eventually(lambda: reconcile.count("after"))
        await reconcile.settle()

        await tables.patch("after", spec={"suspend": True})
        await eventually(lambda: reconcile.count("after"))
        await reconcile.settle()

        await tables.patch("after", metadata={"annotations": {"hudi-operator.io/requested-at": "now"}})
        await eventually(lambda: reconcile.count("after"))
        await reconcile.settle()

        await tables.delete("after")
        await eventually(
            lambda: reconcile.count("after") and table_key(namespace, "after") not in process.known.of_kind(TABLE)
        )
        assert table_key(namespace, "before") in process.known.of_kind(TABLE)


async def test_a_write_of_the_status_alone_calls_for_no_reconcile(
    start: Callable[..., Any], tables: Tables, eventually: Eventually
) -> None:
    reconcile = Recorder()
    await tables.create("a")
    # Should an operator run in the cluster, then it has nothing left to change but the status.
    await tables.patch("a", metadata={"finalizers": [FINALIZER]})
    async with start(reconcile):
        await eventually(lambda: reconcile.count("a"))
        await reconcile.settle()
        await tables.write_status("a", "one")
        await tables.write_status("a", "two")
        await tables.create("marker")
        # Events of one kind come in order: once the marker is there, those of the status have been seen.
        await eventually(lambda: reconcile.count("marker"))
        await asyncio.sleep(0.2)
        assert reconcile.count("a") == 0


async def test_jobs_and_pods_lead_to_their_table(
    start: Callable[..., Any], tables: Tables, transport: Transport, namespace: str, eventually: Eventually
) -> None:
    reconcile = Recorder()
    table = await tables.create("a")
    labels = job_labels(table="a", table_uid=table["metadata"]["uid"], service=Service.INGESTION)
    async with start(reconcile):
        await eventually(lambda: reconcile.count("a"))
        await reconcile.settle()
        containers = [{"name": "main", "image": "registry.invalid/never:1"}]
        await transport.request(
            "POST",
            f"/apis/batch/v1/namespaces/{namespace}/jobs",
            body={
                "metadata": {"name": "run", "labels": labels},
                "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
            },
        )
        await eventually(lambda: reconcile.count("a"))
        await reconcile.settle()

        pods = f"/api/v1/namespaces/{namespace}/pods"
        pod = {"metadata": {"name": "driver", "labels": labels}, "spec": {"containers": containers}}
        await eventually(lambda: _has_service_account(transport, namespace))
        await transport.request("POST", pods, body=pod)
        await eventually(lambda: reconcile.count("a"))
        await reconcile.settle()

        await transport.request("POST", pods, body={**pod, "metadata": {"name": "foreign"}})
        await transport.request("DELETE", f"{pods}/driver", body={"gracePeriodSeconds": 0})
        await eventually(lambda: reconcile.count("a"))
        assert {key.name for key in reconcile.keys} == {"a"}


async def test_a_class_leads_to_its_tables(
    start: Callable[..., Any], tables: Tables, transport: Transport, eventually: Eventually
) -> None:
    reconcile = Recorder()
    name = f"test-{uuid.uuid4().hex[:8]}"
    await tables.create("of-class", tableClassName=name)
    await tables.create("of-another", tableClassName="another")
    async with start(reconcile):
        await eventually(lambda: reconcile.count("of-class") and reconcile.count("of-another"))
        await reconcile.settle()
        await transport.request(
            "POST",
            f"{GROUP}/huditableclasses",
            body={**_kind("HudiTableClass", name), "spec": {"allowedBasePaths": ["s3a://lake/"]}},
        )
        try:
            await eventually(lambda: reconcile.count("of-class"))
            await reconcile.settle()
        finally:
            await transport.request("DELETE", f"{GROUP}/huditableclasses/{name}")
        await eventually(lambda: reconcile.count("of-class"))
        assert reconcile.count("of-another") == 0


async def test_the_resync_finds_what_no_event_told_of(
    start: Callable[..., Any],
    tables: Tables,
    namespace: str,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hudi_operator.runtime.informer.Informer.object_event", lambda *_: None)
    reconcile = Recorder()
    async with start(reconcile) as process:
        await tables.create("missed")
        await tables.create("gone")
        await process.resync.resync()
        await eventually(lambda: reconcile.count("missed") and reconcile.count("gone"))
        await reconcile.settle()

        await tables.patch("missed", spec={"suspend": True})
        await tables.delete("gone")
        await process.resync.resync()
        await eventually(lambda: reconcile.count("missed") and reconcile.count("gone"))
        assert process.known.of_kind(TABLE) == {table_key(namespace, "missed")}


async def test_a_table_that_always_fails_does_not_stop_another(
    start: Callable[..., Any], tables: Tables, eventually: Eventually
) -> None:
    reconcile = Recorder()
    reconcile.failing.add("poison")
    await tables.create("poison")
    async with start(reconcile, workers=1):
        await eventually(lambda: reconcile.count("poison") >= 2)
        await tables.create("good")
        await eventually(lambda: reconcile.count("good"))


async def test_a_signal_to_stop_lets_the_reconcile_under_way_end(
    start: Callable[..., Any], tables: Tables, eventually: Eventually
) -> None:
    reconcile = Recorder()
    reconcile.slow = 1.0
    await tables.create("a")
    async with start(reconcile):
        await eventually(lambda: reconcile.count("a"))
    assert reconcile.ended == len(reconcile.keys)


async def test_health_and_metrics_are_served_while_the_process_runs(
    start: Callable[..., Any], tables: Tables, eventually: Eventually
) -> None:
    reconcile = Recorder()
    await tables.create("a")
    async with start(reconcile) as process, aiohttp.ClientSession() as session:
        await eventually(lambda: reconcile.count("a"))
        for path in ("healthz", "readyz"):
            async with session.get(f"http://127.0.0.1:{process.health.health_port}/{path}") as answer:
                assert answer.status == 200, await answer.text()
        async with session.get(f"http://127.0.0.1:{process.health.metrics_port}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        assert "hudi_operator_tables 1.0" in lines
        assert "hudi_operator_queue_depth 0.0" in lines
        assert any(line.startswith('hudi_operator_reconcile_total{result="success"}') for line in lines)
        assert any('watch_last_event_timestamp_seconds{kind="HudiTable"}' in line for line in lines)


async def test_a_part_that_ends_by_itself_ends_the_process_with_the_reason(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_self: object) -> None:
        raise RuntimeError("the resync is broken")

    monkeypatch.setattr("hudi_operator.runtime.resync.Resync.run", fails)
    with pytest.raises(OperatorStopped, match="the resync has ended: the resync is broken"):
        async with start(Recorder()):
            pass


async def _has_service_account(transport: Transport, namespace: str) -> bool:
    try:
        await transport.request("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
    except NotFound:
        return False
    return True
