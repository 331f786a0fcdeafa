"""What the client makes of answers that a healthy API server rarely gives, from a server that gives nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration

from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import (
    AlreadyExists,
    ApiUnavailable,
    Conflict,
    Expired,
    Forbidden,
    KubernetesError,
    NotFound,
    Rejected,
    error_from_response,
)
from hudi_operator.kube.objects import JOB, ObjectKey, object_path
from hudi_operator.kube.transport import Transport

KEY = ObjectKey(JOB, "a", "b")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refusal(code: int, reason: str = "", **details: Any) -> bytes:
    return json.dumps(
        {"kind": "Status", "code": code, "reason": reason, "message": "because", "details": details}
    ).encode()


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", Rejected),
        (401, "Unauthorized", ApiUnavailable),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", Rejected),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Expired),
        (422, "Invalid", Rejected),
        (429, "TooManyRequests", ApiUnavailable),
        (500, "InternalError", ApiUnavailable),
        (503, "ServiceUnavailable", ApiUnavailable),
        (504, "Timeout", ApiUnavailable),
    ],
)
def test_every_status_has_a_type(status: int, reason: str, kind: type[KubernetesError]) -> None:
    error = error_from_response("GET /x", status=status, headers={}, body=refusal(status, reason))
    assert type(error) is kind
    assert (error.status, error.reason, str(error)) == (status, reason, "GET /x: because")


@pytest.mark.parametrize("body", [b"", b"<html>bad gateway</html>", b"[]", b'"text"', b'{"details": 3}', b"\xff\xfe"])
def test_an_answer_that_is_no_status_document_is_an_error_all_the_same(body: bytes) -> None:
    error = error_from_response("GET /x", status=502, headers={}, body=body)
    assert isinstance(error, ApiUnavailable)
    assert error.retry_after is None


@pytest.mark.parametrize(
    ("headers", "details", "expected"),
    [
        ({"Retry-After": "7"}, {}, 7.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({"Retry-After": "soon"}, {}, None),
        ({"Retry-After": "-1"}, {}, 0.0),
        ({}, {}, None),
    ],
)
def test_the_time_to_wait_is_what_the_server_asks_for(
    headers: dict[str, str], details: dict[str, Any], expected: float | None
) -> None:
    error = error_from_response("GET /x", status=429, headers=headers, body=refusal(429, **details))
    assert isinstance(error, ApiUnavailable)
    assert error.retry_after == expected


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_reach_another_path_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not the name"):
        object_path(ObjectKey(JOB, "default", name))


def test_a_name_stays_one_segment_of_the_path() -> None:
    assert object_path(ObjectKey(JOB, "n s", "a/../b?c")) == "/apis/batch/v1/namespaces/n%20s/jobs/a%2F..%2Fb%3Fc"


@asynccontextmanager
async def client_of(handler: Handler, *, timeout_seconds: float = 5) -> AsyncIterator[KubernetesClient]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    configuration = Configuration(host=f"http://127.0.0.1:{port}")
    try:
        async with Transport(configuration, timeout_seconds=timeout_seconds) as transport:
            yield KubernetesClient(transport, operator_namespace="default")
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("status", [200, 404, 503])
@pytest.mark.parametrize("minutes", [-10, 10])
async def test_every_answer_sets_the_clock_to_the_servers(status: int, minutes: int) -> None:
    ahead = timedelta(minutes=minutes)

    async def elsewhere(_request: web.Request) -> web.StreamResponse:
        date = format_datetime(datetime.now(UTC) + ahead, usegmt=True)
        return web.json_response({}, status=status, headers={"Date": date})

    async with client_of(elsewhere) as kube:
        before = kube.now()
        with suppress(KubernetesError):
            await kube.get(KEY)
        assert abs(kube.now() - before - ahead) < timedelta(minutes=1)


async def test_no_answer_in_time_is_an_outage() -> None:
    async def silent(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    async with client_of(silent, timeout_seconds=0.2) as kube:
        with pytest.raises(ApiUnavailable, match=r"no answer within 0\.2 seconds"):
            await kube.get(KEY)


async def test_an_answer_that_never_ends_is_an_outage() -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.05)

    async with client_of(drip, timeout_seconds=0.3) as kube:
        with pytest.raises(ApiUnavailable):
            await kube.list(JOB, label_selector="a=b")


async def test_a_connection_that_breaks_is_an_outage() -> None:
    async def break_off(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with client_of(break_off) as kube:
        with pytest.raises(ApiUnavailable):
            await kube.create(JOB, "a", {"metadata": {"name": "b"}})


async def test_a_server_that_is_not_there_is_an_outage() -> None:
    async with Transport(Configuration(host="http://127.0.0.1:1")) as transport:
        kube = KubernetesClient(transport, operator_namespace="default")
        with pytest.raises(ApiUnavailable):
            await kube.get_claim("a")


@pytest.mark.parametrize("body", [b"", b"<html>login</html>", b"[1]"])
async def test_a_success_that_is_no_document_is_rejected(body: bytes) -> None:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    async with client_of(answer) as kube:
        with pytest.raises(Rejected):
            await kube.get(KEY)


async def test_a_listing_follows_the_pages_to_the_end() -> None:
    asked = []

    async def pages(request: web.Request) -> web.StreamResponse:
        asked.append(dict(request.query))
        number = int(request.query.get("continue", "0"))
        token = {"continue": str(number + 1)} if number < 2 else {}
        items = [{"metadata": {"namespace": "n", "name": f"{number}"}}]
        return web.json_response({"kind": "JobList", "apiVersion": "batch/v1", "metadata": token, "items": items})

    async with client_of(pages) as kube:
        jobs = await kube.list(JOB, "n", label_selector="a=b")
    assert [job["metadata"]["name"] for job in jobs] == ["0", "1", "2"]
    assert asked == [
        {"limit": "500", "labelSelector": "a=b"},
        {"limit": "500", "labelSelector": "a=b", "continue": "1"},
        {"limit": "500", "labelSelector": "a=b", "continue": "2"},
    ]


async def test_a_listing_that_expires_half_way_begins_anew_and_names_nothing_twice() -> None:
    asked = []

    async def forgetful(request: web.Request) -> web.StreamResponse:
        asked.append(request.query.get("continue"))
        if request.query.get("continue") == "old":
            return web.Response(status=410, body=refusal(410, "Expired"))
        first = len(asked) == 1
        names = ["a"] if first else ["a", "b"]
        items = [{"metadata": {"namespace": "n", "name": name}} for name in names]
        return web.json_response({"metadata": {"continue": "old"} if first else {}, "items": items})

    async with client_of(forgetful) as kube:
        jobs = await kube.list(JOB, label_selector="a=b")
    assert [job["metadata"]["name"] for job in jobs] == ["a", "b"]
    assert asked == [None, "old", None]


async def test_a_listing_that_always_expires_is_an_outage() -> None:
    async def expired(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=410, body=refusal(410, "Expired"))

    async with client_of(expired) as kube:
        with pytest.raises(ApiUnavailable):
            await kube.list(JOB)


async def test_no_more_of_a_log_is_read_than_asked_for() -> None:
    asked = []

    async def endless(request: web.Request) -> web.StreamResponse:
        asked.append((request.path, dict(request.query)))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(b"\xffline\n" * 1_000)
        return response

    async with client_of(endless) as kube:
        assert (
            await kube.read_log("team-a", "a-pod", "driver", lines=7, most_bytes=20_000)
            == (b"\xffline\n" * 4_000)[:20_000]
        )
        assert len(await kube.read_log("team-a", "a-pod", "driver", lines=7, most_bytes=5)) == 5
    query = {"container": "driver", "tailLines": "7", "limitBytes": "20000"}
    assert asked[0] == ("/api/v1/namespaces/team-a/pods/a-pod/log", query)


@pytest.mark.parametrize(
    ("status", "kind"), [(403, Forbidden), (404, NotFound), (400, Rejected), (500, ApiUnavailable)]
)
async def test_a_refused_log_is_an_error_of_its_type(status: int, kind: type[KubernetesError]) -> None:
    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=refusal(status))

    async with client_of(refuse) as kube:
        with pytest.raises(kind, match="because"):
            await kube.read_log("team-a", "a-pod", "driver", lines=7, most_bytes=100)


async def test_a_stream_outlasts_the_time_of_a_call_and_ends_with_its_content() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(4):
            await response.write(f"line {number}\n".encode())
            await asyncio.sleep(0.2)
        return response

    async with client_of(slow, timeout_seconds=0.6) as kube:
        pieces = [piece async for piece in kube._transport.stream("/x", query={"follow": "true"})]
    assert b"".join(pieces) == b"line 0\nline 1\nline 2\nline 3\n"


async def test_a_stream_that_does_not_begin_or_breaks_is_an_outage() -> None:
    async def silent(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    async def broken(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return response

    for handler in (silent, broken):
        async with client_of(handler, timeout_seconds=0.2) as kube:
            with pytest.raises(ApiUnavailable):
                _ = [piece async for piece in kube._transport.stream("/x", query={})]


async def test_credentials_are_sent_and_renewed_by_the_hook() -> None:
    seen = []

    async def note(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        return web.json_response({"items": []})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", note)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    configuration = Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}")
    tokens = iter(["bearer one", "bearer two"])

    def renew(current: Configuration) -> None:
        current.api_key["BearerToken"] = next(tokens)

    configuration.api_key["BearerToken"] = "bearer zero"
    configuration.refresh_api_key_hook = renew  # type: ignore[assignment]  # the client says None
    async with Transport(configuration) as transport:
        await transport.request("GET", "/x")
        await transport.request("GET", "/x")
    await runner.cleanup()
    assert seen == ["bearer one", "bearer two"]


KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [
        {"name": "c", "context": {"cluster": "c", "user": "u"}},
        {"name": "d", "context": {"cluster": "d", "user": "u", "namespace": "team-d"}},
    ],
    "clusters": [
        {"name": "c", "cluster": {"server": "https://api.invalid:6443"}},
        {"name": "d", "cluster": {"server": "https://d.invalid:6443"}},
    ],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


@pytest.mark.parametrize(
    ("context", "host", "namespace"),
    [
        (None, "https://api.invalid:6443", "default"),
        ("c", "https://api.invalid:6443", "default"),
        ("d", "https://d.invalid:6443", "team-d"),
    ],
)
async def test_context_chooses_the_cluster_and_the_namespace(
    context: str | None, host: str, namespace: str, tmp_path: Any
) -> None:
    from hudi_operator.kube.transport import load_context  # noqa: PLC0415

    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    configuration, found = await load_context(kubeconfig=str(kubeconfig), context=context)
    assert (configuration.host, found) == (host, namespace)


async def test_a_proxy_meant_for_the_outside_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from hudi_operator.kube.transport import load_configuration  # noqa: PLC0415

    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid:3128")
    configuration = await load_configuration()
    assert configuration.host == "https://api.invalid:6443"
    assert configuration.proxy is None
    assert configuration.client_session_kwargs == {"trust_env": False}


async def test_no_credentials_at_all_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from hudi_operator.kube.transport import load_configuration  # noqa: PLC0415

    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(Rejected, match="set KUBECONFIG, or run in a pod"):
        await load_configuration()
