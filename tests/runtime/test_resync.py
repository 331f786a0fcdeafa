"""The resync when the API server refuses, forgets or lacks what it asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration

from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.keys import TABLE, TableKey, table_key
from hudi_operator.kube.transport import Transport
from hudi_operator.runtime.informer import KnownObjects
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.runtime.resync import Resync

Eventually = Callable[..., Awaitable[Any]]


class Server:
    """Answers listings with what it holds, or with a refusal."""

    def __init__(self) -> None:
        self.tables: dict[str, int] = {}
        self.classes: dict[str, int] = {}
        self.refusals: list[int] = []
        self.forbidden: str | None = None
        self.listings = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self.forbidden and self.forbidden in request.path:
            return web.json_response({"message": "because", "code": 403}, status=403)
        if request.path.endswith("huditableclasses"):
            found = [{"metadata": {"name": name, "generation": number}} for name, number in self.classes.items()]
            return web.json_response({"items": found})
        if request.path.endswith(("hudisavepoints", "hudioperations")):
            return web.json_response({"items": []})
        self.listings += 1
        if self.refusals:
            code = self.refusals.pop(0)
            return web.Response(status=code, body=json.dumps({"message": "because", "code": code}))
        namespace = request.path.split("/")[-2] if "/namespaces/" in request.path else "n"
        items = [
            {
                "metadata": {"namespace": namespace, "name": name, "uid": namespace + name, "generation": generation},
                "spec": {},
            }
            for name, generation in self.tables.items()
        ]
        return web.json_response({"items": [*items, {"metadata": {"name": "without a namespace"}}, {}]})


class World:
    """A resync and what it works on."""

    def __init__(self, server: Server, kube: KubernetesClient, namespaces: Sequence[str]) -> None:
        self.server = server
        self.queue: KeyedQueue[TableKey] = KeyedQueue()
        self.known = KnownObjects(CONTROLLERS)
        self.resync = Resync(
            controllers=CONTROLLERS,
            kube=kube,
            queue=self.queue,
            known=self.known,
            period_seconds=100,
            namespaces=namespaces,
            draw=lambda: 0.5,
        )

    def take(self) -> set[str]:
        """Return the names of the tables that wait to be reconciled now, and take them."""
        waiting = {key.name for key in self.queue._waiting}
        for name in waiting:
            self.queue.discard(table_key("n", name))
        return waiting


@asynccontextmanager
async def a_world(*namespaces: str) -> AsyncIterator[World]:
    server = Server()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with Transport(Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}")) as transport:
            yield World(server, KubernetesClient(transport, operator_namespace="n"), namespaces)
    finally:
        await runner.cleanup()


async def test_resync_enqueues_only_new_changed_removed_and_lost_objects() -> None:
    async with a_world() as world:
        world.server.tables = {"a": 1, "b": 1, "d": 1}
        await world.resync.resync()
        assert world.take() == {"a", "b", "d"}
        world.queue.add_after(table_key("n", "a"), 1000)
        world.queue.add_after(table_key("n", "b"), 1000)

        world.server.tables = {"a": 1, "b": 2, "c": 1, "d": 1}
        await world.resync.resync()
        assert world.take() == {"b", "c", "d"}

        world.server.tables = {"c": 1}
        world.queue.add_after(table_key("n", "c"), 1000)
        await world.resync.resync()
        assert world.take() == {"a", "b", "d"}
        assert world.known.of_kind(TABLE) == {table_key("n", "c")}


async def test_a_class_that_is_new_changed_or_gone_is_looked_at_and_no_other() -> None:
    async with a_world() as world:
        for classes, expected in (
            ({"a": 1, "b": 1}, {"a", "b"}),
            ({"a": 1, "b": 2}, {"b"}),
            ({"b": 2}, {"a"}),
            ({"b": 2}, set()),
        ):
            world.server.classes = dict(classes)
            await world.resync.resync()
            waiting = {key for key in world.queue._waiting if not key.namespace}
            assert {key.name for key in waiting} == expected
            for key in waiting:
                world.queue.discard(key)


async def test_a_resync_that_fails_half_way_forgets_no_table() -> None:
    async with a_world() as world:
        world.server.tables = {"a": 1}
        await world.resync.resync()
        world.take()
        world.server.refusals = [500]
        with pytest.raises(Exception, match="because"):
            await world.resync.resync()
        assert world.known.of_kind(TABLE) == {table_key("n", "a")}
        assert world.take() == set()


@pytest.mark.parametrize(
    ("codes", "problem"),
    [
        ([404], "CustomResourceDefinitions of this release are missing"),
        ([403], "because"),
        ([500], "because"),
        ([410, 410, 410], "because"),
    ],
)
async def test_failure_of_the_first_resync_is_reported_and_retried(
    codes: list[int], problem: str, eventually: Eventually
) -> None:
    async with a_world() as world:
        world.server.refusals = codes
        running = asyncio.create_task(world.resync.run())
        try:
            await eventually(lambda: problem in str(world.resync.problem))
            assert not world.resync.completed
            await eventually(lambda: world.resync.completed)
            assert world.resync.problem is None
        finally:
            running.cancel()


async def test_of_a_namespace_that_refuses_every_listing_what_is_known_is_kept_and_the_others_go_on() -> None:
    async with a_world("m", "n") as world:
        world.server.tables = {"a": 1}
        await world.resync.resync()
        world.server.tables, world.server.forbidden = {"b": 1}, "/namespaces/m/"
        await world.resync.resync()
        assert world.known.of_kind(TABLE) == {table_key("m", "a"), table_key("n", "b")}
        assert world.resync.refused == {"m"}
        world.server.forbidden = None
        await world.resync.resync()
        assert world.known.of_kind(TABLE) == {table_key("m", "b"), table_key("n", "b")}
        assert world.resync.refused == set()


@pytest.mark.parametrize(
    ("namespaces", "forbidden"),
    [(("m", "n"), "/namespaces/m/hudioperations"), (("m",), "/namespaces/m/")],
    ids=["one kind alone", "the only namespace"],
)
async def test_where_one_kind_alone_or_every_namespace_is_refused_the_resync_fails(
    namespaces: tuple[str, ...], forbidden: str
) -> None:
    async with a_world(*namespaces) as world:
        world.server.tables, world.server.forbidden = {"a": 1}, forbidden
        with pytest.raises(Forbidden, match="because"):
            await world.resync.resync()
        assert world.resync.refused == set()
