"""Two processes of the operator against a real API server: one acts, and the other takes over."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.keys import table_key
from hudi_operator.kube.transport import Transport

pytestmark = pytest.mark.cluster

Eventually = Callable[..., Awaitable[Any]]
QUICK = {"LEASE_SECONDS": "4", "RENEW_DEADLINE_SECONDS": "3", "LEASE_RETRY_SECONDS": "0.5"}


class Replica:
    """One process of the operator."""

    def __init__(self, name: str, log: Path, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.process = process
        self._log = log

    @property
    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self._log.read_text().splitlines()]

    async def health(self, path: str) -> int:
        port = next(json.loads(line)["port"] for line in self._log.read_text().splitlines() if '"port"' in line)
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/{path}") as answer:
            return answer.status


class Pair:
    """Two replicas, and what a person does beside them."""

    def __init__(self, transport: Transport, namespace: str, eventually: Eventually, replicas: list[Replica]) -> None:
        self._transport = transport
        self._namespace = namespace
        self._eventually = eventually
        self._kube = KubernetesClient(transport, operator_namespace=namespace)
        self.replicas = replicas

    async def leader(self) -> Replica | None:
        lease = await self._kube.get_lease("hudi-operator-leader")
        holder = str((lease or {"spec": {}})["spec"].get("holderIdentity") or "")
        return next((one for one in self.replicas if holder.startswith(f"{one.name}_")), None)

    async def roles(self) -> tuple[Replica, Replica]:
        """Return who leads and who stands by, once both have found their place."""
        first: Replica = await self._eventually(self.leader, seconds=30)
        second = next(one for one in self.replicas if one is not first)
        await self._eventually(lambda: "standing by" in second.events, seconds=30)
        return first, second

    async def create_table(self, name: str) -> None:
        spec = {"basePath": f"s3a://lake/{self._namespace}/{name}", "type": "CopyOnWrite", "recordKey": ["id"]}
        body = {"apiVersion": "hudi-operator.io/v1beta1", "kind": "HudiTable", "metadata": {"name": name}}
        path = f"/apis/hudi-operator.io/v1beta1/namespaces/{self._namespace}/huditables"
        await self._transport.request("POST", path, body={**body, "spec": {**spec, "tableClassName": "no-such-class"}})

    async def status_is_written(self, name: str) -> bool:
        table = await self._kube.get(table_key(self._namespace, name))
        return bool((table or {}).get("status", {}).get("conditions"))

    async def serves(self, name: str) -> None:
        await self.create_table(name)
        await self._eventually(lambda: self.status_is_written(name), seconds=60)


@pytest.fixture
def pair(transport: Transport, namespace: str, eventually: Eventually, tmp_path: Path) -> Callable[..., Any]:
    @asynccontextmanager
    async def run(**settings: str) -> AsyncIterator[Pair]:
        replicas = [await start(name, namespace, tmp_path, settings) for name in ("one", "two")]
        try:
            yield Pair(transport, namespace, eventually, replicas)
        finally:
            for replica in replicas:
                if replica.process.returncode is None:
                    replica.process.kill()
                    await replica.process.wait()

    return run


async def start(name: str, namespace: str, directory: Path, settings: dict[str, str]) -> Replica:
    given = {
        "SPARK_IMAGE": "unused",
        "INSTANCE": name,
        "OPERATOR_NAMESPACE": namespace,
        "WATCH_NAMESPACES": namespace,
        "HEALTH_PORT": "0",
        "METRICS_PORT": "0",
        **settings,
    }
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("HUDI_OPERATOR_")}
    log = directory / f"{name}.log"
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "hudi_operator",
            "run",
            stderr=written,
            env={**inherited, **{f"HUDI_OPERATOR_{key}": value for key, value in given.items()}},
        )
    return Replica(name, log, process)


async def test_after_a_crash_of_the_leader_the_other_acts_within_twenty_seconds(pair: Callable[..., Any]) -> None:
    async with pair() as two:
        first, second = await two.roles()
        await two.serves("before")
        assert await second.health("readyz") == await second.health("healthz") == 200

        first.process.kill()
        crashed = time.monotonic()
        await two.serves("after")
        assert time.monotonic() - crashed < 20
        assert await two.leader() is second


async def test_a_leader_that_is_told_to_stop_hands_over_at_once(
    pair: Callable[..., Any], eventually: Eventually
) -> None:
    async with pair(LEASE_SECONDS="600") as two:
        first, second = await two.roles()
        first.process.send_signal(signal.SIGTERM)
        await two.serves("after")
        assert await first.process.wait() == 0
        await eventually(two.leader)
        assert await two.leader() is second
        assert "lease released" in first.events


async def test_a_leader_that_was_frozen_does_nothing_when_it_goes_on(
    pair: Callable[..., Any], eventually: Eventually
) -> None:
    async with pair(**QUICK, POLL_SECONDS="1") as two:
        first, second = await two.roles()
        await two.serves("before")
        first.process.send_signal(signal.SIGSTOP)
        await two.serves("after")
        assert await two.leader() is second
        seen = len(first.events)

        first.process.send_signal(signal.SIGCONT)
        async with asyncio.timeout(20):
            assert await first.process.wait() == 1
        assert any("operator stops" in event for event in first.events[seen:])
        await eventually(two.leader)
        assert await two.leader() is second
        await two.serves("later")
