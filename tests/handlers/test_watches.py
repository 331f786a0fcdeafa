"""kopf that ends by itself, or does not come to its end: the watches begin again, and the operator continues."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from kopf import ConnectionInfo

from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.handlers import watches
from hudi_operator.handlers.watches import Watcher
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.runtime.informer import Informer, KnownObjects
from hudi_operator.runtime.queue import KeyedQueue

Eventually = Callable[..., Awaitable[Any]]
TABLE = {"metadata": {"namespace": "n", "name": "a", "uid": "u", "generation": 1}, "spec": {}}


class FakeKopf:
    """Plays kopf: each life ends as it is told, or brings one event and lasts until it is stopped."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)
        self.lives = 0
        self.stopped = 0
        self.threads: set[str] = set()

    async def spawn_tasks(self, **settings: Any) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.operator(**settings))]

    async def run_tasks(self, tasks: list[asyncio.Task[None]], **_: Any) -> None:
        await asyncio.gather(*tasks)

    async def operator(self, *, registry: Any, stop_flag: asyncio.Event, **_: Any) -> None:
        self.lives += 1
        self.threads.add(threading.current_thread().name)
        if self.ends:
            error = self.ends.pop(0)
            if error is not None:
                raise error
            return
        handler = next(one for one in registry._watching._handlers if one.id == "huditables")
        await handler.fn(event={"type": "ADDED", "object": TABLE})
        await stop_flag.wait()
        self.stopped += 1


async def test_watches_that_end_are_begun_again_and_say_so_meanwhile(
    monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    kopf = FakeKopf(RuntimeError("Error in the watch-stream: 500"), None)
    monkeypatch.setattr("kopf.spawn_tasks", kopf.spawn_tasks)
    monkeypatch.setattr("kopf.run_tasks", kopf.run_tasks)
    monkeypatch.setattr(watches, "_FIRST_PAUSE", 0.2)
    queue: KeyedQueue[TableKey] = KeyedQueue()
    watcher = Watcher(controllers=CONTROLLERS, informer=Informer(queue=queue, known=KnownObjects(CONTROLLERS)))
    running = asyncio.create_task(watcher.run())
    try:
        await eventually(lambda: "watch-stream: 500" in str(watcher.problem))
        assert not running.done()
        await eventually(lambda: table_key("n", "a") in queue)
        assert watcher.problem is None
        assert kopf.lives == 3
        assert kopf.threads == {"watches"}, "kopf cancels what runs on its loop, so it has one of its own"
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert kopf.stopped == 1


class FakeApi:
    """An API server with no objects, of which a watch fails just after the first LIST of pods has failed."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.watched = asyncio.Event()
        self.refused = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        call = request.path + ("?watch" if "watch" in request.query else "")
        self.asked[call] += 1
        if document := DISCOVERY.get(call):
            return web.json_response(document)
        if call.endswith("/pods") and self.asked[call] == 1:
            await self.watched.wait()
            self.refused.set()
            return web.json_response({"kind": "Status", "reason": "Expired", "code": 410}, status=410)
        if call.endswith("/huditables?watch") and self.asked[call] == 1:
            self.watched.set()
            await self.refused.wait()
            await asyncio.sleep(0.1)
            return web.json_response({"kind": "Status", "reason": "InternalError", "code": 500}, status=500)
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        stream = web.StreamResponse()
        await stream.prepare(request)
        await asyncio.sleep(3600)
        return stream


def _resources(**kinds: str) -> dict[str, Any]:
    resource = {
        "namespaced": True,
        "singularName": "",
        "shortNames": [],
        "categories": [],
        "verbs": ["list", "watch", "patch"],
    }
    return {"resources": [resource | {"name": name, "kind": kind} for name, kind in kinds.items()]}


def _group(name: str, version: str) -> dict[str, Any]:
    return {"name": name, "versions": [{"version": version}], "preferredVersion": {"version": version}}


DISCOVERY = {
    "/api": {"versions": ["v1"]},
    "/apis": {"groups": [_group("batch", "v1"), _group("hudi-operator.io", "v1beta1")]},
    "/api/v1": _resources(pods="Pod", namespaces="Namespace"),
    "/apis/batch/v1": _resources(jobs="Job"),
    "/apis/hudi-operator.io/v1beta1": _resources(
        huditables="HudiTable",
        huditableclasses="HudiTableClass",
        hudisavepoints="HudiSavepoint",
        hudioperations="HudiOperation",
    ),
}


async def test_watches_are_begun_again_although_kopf_never_comes_to_its_end(
    monkeypatch: pytest.MonkeyPatch, eventually: Eventually, unused_tcp_port: int
) -> None:
    api, address = FakeApi(), f"http://127.0.0.1:{unused_tcp_port}"

    async def credentials() -> ConnectionInfo:
        return ConnectionInfo(server=address)

    monkeypatch.setattr(watches, "watch_credentials", credentials)
    monkeypatch.setattr(watches, "_STOP_SECONDS", 2.0)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", api.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    watcher = Watcher(
        controllers=CONTROLLERS,
        informer=Informer(queue=KeyedQueue(), known=KnownObjects(CONTROLLERS)),
        namespaces=("n",),
    )
    running = asyncio.create_task(watcher.run())
    try:
        await eventually(lambda: api.asked["/api/v1/namespaces/n/pods?watch"] == 1)
        await eventually(lambda: api.asked["/apis/hudi-operator.io/v1beta1/namespaces/n/huditables?watch"] == 2)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await runner.cleanup()
