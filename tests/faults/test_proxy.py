"""The proxy does to each call what its rule says, and nothing else: before a small server that remembers its calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Fault, WatchFaults, at_write

JOBS = "/apis/batch/v1/namespaces/one/jobs"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/one/leases"
EVENTS = 5


class Server:
    """Answers everything with 201, and watches with a few events that come at once."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, bytes]] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.calls.append((request.method, request.path_qs, await request.read()))
        if "watch" not in request.query:
            return web.json_response({"done": request.path}, status=201)
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(EVENTS):
            await response.write(json.dumps({"number": number}).encode() + b"\n")
        await asyncio.sleep(0.5)
        return response


@asynccontextmanager
async def before(server: Server, **options: Any) -> AsyncIterator[tuple[FaultProxy, aiohttp.ClientSession]]:
    runner = web.ServerRunner(web.Server(server.handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    configuration = Configuration()
    configuration.host = "http://{}:{}".format(*runner.addresses[0][:2])
    try:
        async with FaultProxy(configuration, **options) as proxy, aiohttp.ClientSession(proxy.url) as client:
            yield proxy, client
    finally:
        await runner.cleanup()


async def test_calls_pass_unchanged_and_writes_are_numbered() -> None:
    server = Server()
    async with before(server) as (proxy, client):
        async with client.get(f"{JOBS}?labelSelector=a%3Db") as answer:
            assert (answer.status, await answer.json()) == (201, {"done": JOBS})
        for body in ({"name": "a"}, {"name": "b"}, {"name": "a"}):
            await client.post(JOBS, json=body)

    assert [path for _, path, _ in server.calls] == [f"{JOBS}?labelSelector=a%3Db", JOBS, JOBS, JOBS]
    assert [(write.call.write, write.call.target) for write in proxy.writes] == [(1, "jobs"), (2, "jobs"), (3, "jobs")]
    hashes = [write.body_hash for write in proxy.writes]
    assert hashes[0] == hashes[2] != hashes[1]
    assert proxy.reads == {"GET jobs": 1}


async def test_renewals_of_the_leader_are_no_writes_of_a_scenario_but_claims_are() -> None:
    async with before(Server()) as (proxy, client):
        await client.put(f"{LEASES}/hudi-operator-leader", json={})
        await client.post(LEASES, json={"metadata": {"name": "hudi-operator-leader"}})
        await client.post(LEASES, json={"metadata": {"name": "table-0123"}})
        await client.delete(f"{LEASES}/table-0123")

    assert proxy.renewals == 2
    assert [write.call.method for write in proxy.writes] == ["POST", "DELETE"]


@pytest.mark.parametrize(
    ("fault", "applied", "crashes"),
    [
        (Fault.CRASH_BEFORE, False, 1),
        (Fault.CRASH_AFTER, True, 1),
        (Fault.LOST_REPLY, True, 0),
    ],
)
async def test_a_call_without_an_answer_took_effect_or_not(fault: Fault, crashes: int, *, applied: bool) -> None:
    server = Server()
    seen: list[int] = []

    async def crash() -> None:
        seen.append(len(server.calls))

    async with before(server, crash=crash) as (proxy, client):
        proxy.rule = at_write(1, fault)
        with pytest.raises(aiohttp.ClientError):
            await client.post(JOBS, json={})

    assert len(server.calls) == applied
    assert seen == [int(applied)] * crashes


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (Fault.CONFLICT, 409, "Conflict"),
        (Fault.EXPIRED, 410, "Expired"),
        (Fault.THROTTLED, 429, "TooManyRequests"),
        (Fault.SERVER_ERROR, 500, "InternalError"),
    ],
)
async def test_a_refused_call_never_reaches_the_server(fault: Fault, status: int, reason: str) -> None:
    server = Server()
    async with before(server) as (proxy, client):
        proxy.rule = at_write(1, fault)
        async with client.post(JOBS, json={}) as answer:
            assert answer.status == status
            assert (await answer.json())["reason"] == reason
            assert ("Retry-After" in answer.headers) is (status == 429)
    assert server.calls == []


async def test_a_stalled_call_takes_effect_although_its_client_has_given_up() -> None:
    server = Server()
    async with before(server, stall_seconds=0.3) as (proxy, client):
        proxy.rule = at_write(1, Fault.STALL)
        with pytest.raises(TimeoutError):
            await client.post(JOBS, json={}, timeout=aiohttp.ClientTimeout(total=0.1))
        assert server.calls == []
        await asyncio.sleep(0.5)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (WatchFaults(), [0, 1, 2, 3, 4]),
        (WatchFaults(drop=1.0), []),
        (WatchFaults(duplicate=1.0), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        (WatchFaults(late=1.0, late_seconds=0.1), [0, 1, 2, 3, 4]),
        (WatchFaults(late=1.0, late_seconds=30), []),
    ],
    ids=["none", "dropped", "duplicated", "late", "too late"],
)
async def test_events_of_a_watch_are_dropped_doubled_and_delayed(faults: WatchFaults, expected: list[int]) -> None:
    async with before(Server()) as (proxy, client):
        proxy.watch_faults = faults
        assert await events(client) == expected


async def test_late_events_overtake_one_another() -> None:
    async with before(Server(), seed=1) as (proxy, client):
        proxy.watch_faults = WatchFaults(late=0.5, late_seconds=0.1)
        found = await events(client)
    assert sorted(found) == [0, 1, 2, 3, 4] != found


async def test_a_watch_is_cut() -> None:
    async with before(Server()) as (proxy, client):
        proxy.watch_faults = WatchFaults(cut_after_seconds=0.1)
        with pytest.raises(aiohttp.ClientError):
            await events(client)


async def test_a_watch_expires_with_an_event_that_says_so() -> None:
    async with before(Server()) as (proxy, client):
        proxy.watch_faults = WatchFaults(expire=1.0)
        async with client.get(JOBS, params={"watch": "true"}) as answer:
            event = json.loads(await answer.content.readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def events(client: aiohttp.ClientSession) -> list[int]:
    async with client.get(JOBS, params={"watch": "true"}) as answer:
        return [json.loads(line)["number"] async for line in answer.content]
