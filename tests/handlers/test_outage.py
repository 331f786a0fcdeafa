"""The watches when the connections to the API server break, through a proxy that breaks them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.kube.transport import Transport
from hudi_operator.runtime.controller import Trigger
from hudi_operator.runtime.informer import KnownObjects

pytestmark = pytest.mark.cluster

Eventually = Callable[..., Awaitable[Any]]


class BreakableProxy:
    """Forwards TCP connections to the API server until it is told to break them and to refuse new ones."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.broken = False
        self.port = 0
        self.accepted = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.broken:
            writer.transport.abort()
            return
        self.accepted += 1
        there_reader, there_writer = await asyncio.open_connection(*self._target)
        both = {writer, there_writer}
        self._writers |= both
        try:
            await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))
        except OSError:
            self._writers -= both


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


@pytest.fixture
async def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: None) -> AsyncIterator[BreakableProxy]:  # noqa: ARG001
    """Stands between kopf and the API server; the test's own requests go past it."""
    document, entry = _kubeconfig()
    server = urlsplit(entry["server"])
    assert server.hostname is not None
    proxy = BreakableProxy(server.hostname, server.port or 443)
    await proxy.start()
    entry["server"] = f"https://127.0.0.1:{proxy.port}"
    entry["insecure-skip-tls-verify"] = True
    entry.pop("certificate-authority-data", None)
    entry.pop("certificate-authority", None)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    yield proxy
    await proxy.stop()


def _kubeconfig() -> tuple[dict[str, Any], dict[str, Any]]:
    document = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    context = next(one["context"] for one in document["contexts"] if one["name"] == document["current-context"])
    return document, next(one["cluster"] for one in document["clusters"] if one["name"] == context["cluster"])


async def test_the_watches_come_back_after_an_outage_and_bring_what_happened_meanwhile(
    transport: Transport, namespace: str, proxy: BreakableProxy, eventually: Eventually
) -> None:
    reconciles: list[TableKey] = []

    async def reconcile(key: TableKey, _trigger: Trigger) -> None:
        reconciles.append(key)

    async def create(name: str) -> None:
        spec = {"basePath": f"s3a://lake/{namespace}/{name}", "type": "CopyOnWrite", "recordKey": ["id"]}
        body = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "metadata": {"name": name}}
        path = f"/apis/hudi-operator.io/v1beta1/namespaces/{namespace}/huditables"
        await transport.request("POST", path, body={**body, "spec": spec})

    settings = Settings(
        spark_image="unused", watch_namespaces=(namespace,), resync_seconds=3600, health_port=0, metrics_port=0
    )
    kube = KubernetesClient(transport, operator_namespace=namespace)
    known = KnownObjects(CONTROLLERS)
    process = OperatorProcess(settings=settings, kube=kube, controllers=CONTROLLERS, known=known, reconcile=reconcile)
    running = asyncio.create_task(process.run())
    try:
        await eventually(lambda: process.resync.completed)
        await create("before")
        await eventually(lambda: table_key(namespace, "before") in reconciles)
        assert proxy.accepted > 0

        proxy.broken = True
        proxy.cut()
        await create("during")
        await asyncio.sleep(1)
        assert table_key(namespace, "during") not in reconciles
        assert not running.done()

        proxy.broken = False
        await eventually(lambda: table_key(namespace, "during") in reconciles, seconds=60)
        await create("after")
        await eventually(lambda: table_key(namespace, "after") in reconciles, seconds=60)
    finally:
        process.stop()
        await running
