"""A proxy in front of the API server that numbers the operator's writes and injects faults.

It speaks plain HTTP and adds the real credentials itself. Every write is numbered and recorded before anything is done
with it; renewals of the leader's Lease are recorded apart, because they come by the clock.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Self

import aiohttp
import yaml
from aiohttp import web
from kubernetes.aio.client import Configuration
from tests.faults.rules import KILLS, WRITES, Call, Fault, Rule, WatchFaults, none
from tests.faults.upstream import open_session
from yarl import URL

_REFUSALS = {
    Fault.CONFLICT: (409, "Conflict"),
    Fault.EXPIRED: (410, "Expired"),
    Fault.THROTTLED: (429, "TooManyRequests"),
    Fault.SERVER_ERROR: (500, "InternalError"),
}
_HOP_BY_HOP = frozenset({"connection", "content-encoding", "content-length", "host", "transfer-encoding"})


async def _nothing_can_crash() -> None:
    raise RuntimeError("a crash was asked for, and nothing was given that can crash")


def _as_sent(_: Call, body: bytes) -> bytes:
    return body


@dataclass(frozen=True, kw_only=True)
class Write:
    """A write that the operator asked for."""

    call: Call
    body_hash: str
    fault: Fault | None


class FaultProxy:
    """Forwards to the API server of a configuration; `rule` and `watch_faults` may be changed at any time."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        seed: int = 0,
        crash: Callable[[], Awaitable[None]] = _nothing_can_crash,
        stall_seconds: float = 30.0,
    ) -> None:
        self._configuration = configuration
        self._crash = crash
        self._stall_seconds = stall_seconds
        self._random = Random(seed)
        self._watches: set[asyncio.Task[web.StreamResponse]] = set()
        self.rule: Rule = none
        self.webhook: Callable[[Call, bytes], bytes] = _as_sent
        """What an admission webhook of somebody else makes of the body of a call."""

        self.watch_faults = WatchFaults()
        self.writes: list[Write] = []
        self.renewals = 0
        """Writes to the leader's Lease, which are not numbered."""

        self.reads: Counter[str] = Counter()
        self.injected: Counter[Fault] = Counter()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._upstream = open_session(self._configuration)
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        # A watch whose client was killed would wait for ever for the next event.
        for task in self._watches:
            task.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await self._runner.cleanup()
        await self._upstream.close()

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads through this proxy."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": self.url}}],
            "users": [{"name": "operator", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "operator"}}],
            "current-context": "proxy",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        call = self._number(request, body)
        fault = self.rule(call)
        if call.write is not None:
            digest = hashlib.sha256(body).hexdigest()[:12]
            self.writes.append(Write(call=call, body_hash=digest, fault=fault))
        if fault is not None:
            self.injected[fault] += 1
        if "watch" in request.query:
            watch = asyncio.create_task(self._watch(request))
            self._watches.add(watch)
            watch.add_done_callback(self._watches.discard)
            return await watch
        try:
            return await self._answer(request, self.webhook(call, body), fault)
        except (ConnectionError, aiohttp.ClientError):
            return _hang_up(request)

    def _number(self, request: web.BaseRequest, body: bytes) -> Call:
        if request.method not in WRITES:
            call = Call(method=request.method, path=request.path)
            self.reads[f"{'WATCH' if 'watch' in request.query else call.method} {call.target}"] += 1
            return call
        if "/leases" in request.path and not _is_claim(request.path, body):
            self.renewals += 1
            return Call(method=request.method, path=request.path)
        return Call(method=request.method, path=request.path, write=len(self.writes) + 1)

    async def _answer(self, request: web.BaseRequest, body: bytes, fault: Fault | None) -> web.StreamResponse:
        if fault in _REFUSALS:
            return _refuse(*_REFUSALS[fault])
        if fault is Fault.STALL:
            await asyncio.sleep(self._stall_seconds)
        if fault is not Fault.CRASH_BEFORE:
            answer = await self._forward(request, body)
        if fault in KILLS:
            await self._crash()
        if fault in {None, Fault.STALL}:
            return answer
        return _hang_up(request)

    async def _forward(self, request: web.BaseRequest, body: bytes) -> web.Response:
        async with self._upstream.request(
            request.method, _target(request), data=body or None, headers=_onward(request)
        ) as answer:
            content = await answer.read()
            headers = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            return web.Response(status=answer.status, headers=headers, body=content)

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        late: set[asyncio.Task[None]] = set()
        try:
            async with (
                asyncio.timeout(self.watch_faults.cut_after_seconds),
                self._upstream.get(_target(request), headers=_onward(request)) as answer,
            ):
                response.set_status(answer.status)
                await response.prepare(request)
                async for line in answer.content:
                    await self._pass_on(line, response, late)
        except (TimeoutError, ConnectionError, aiohttp.ClientError):
            return _hang_up(request)
        finally:
            for task in late:
                task.cancel()
        return response

    async def _pass_on(self, line: bytes, response: web.StreamResponse, late: set[asyncio.Task[None]]) -> None:
        faults, draw = self.watch_faults, self._random.random
        if draw() < faults.expire:
            await response.write(_EXPIRED_EVENT)
            raise ConnectionResetError("the watch has expired")
        if draw() < faults.drop:
            return
        if draw() < faults.late:
            task = asyncio.create_task(_write_later(response, line, faults.late_seconds))
            late.add(task)
            task.add_done_callback(late.discard)
            return
        await response.write(line * 2 if draw() < faults.duplicate else line)


async def _write_later(response: web.StreamResponse, line: bytes, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await response.write(line)


_EXPIRED_EVENT = (
    json.dumps(
        {
            "type": "ERROR",
            "object": {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"},
        }
    ).encode()
    + b"\n"
)


def _is_claim(path: str, body: bytes) -> bool:
    """Whether a write to a Lease is about a claim on a base path; the others are the leader's."""
    name = path.rpartition("/leases")[2].strip("/")
    if not name:
        name = str(json.loads(body or b"{}").get("metadata", {}).get("name", ""))
    return name.startswith("table-")


def _hang_up(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _refuse(status: int, reason: str) -> web.Response:
    document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}
    headers = {"Retry-After": "1"} if status == 429 else None
    return web.json_response({**document, "message": "injected"}, status=status, headers=headers)


def _target(request: web.BaseRequest) -> URL:
    return URL(request.raw_path, encoded=True)


def _onward(request: web.BaseRequest) -> dict[str, str]:
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
    return headers | {"Accept-Encoding": "identity"}
