"""Commands where the cluster has no definitions of the operator, or refuses labels, from a server that says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.cli.command import command

READ = ("explain", "history", "events", "logs", "schema", "timeline", "wait")
WRITE = (("run", "x"), ("run", "x", "compaction"), ("retry", "x"), ("suspend", "x"), ("suspend", "--all"))


@pytest.fixture
async def kubeconfig(tmp_path: Path) -> AsyncIterator[str]:
    """The kubeconfig of a server that answers as an API server without the group of the operator."""

    async def answer(request: web.Request) -> web.Response:
        if "labelSelector" in request.query:
            refusal = {"kind": "Status", "message": "found '==', expected: identifier", "reason": "BadRequest"}
            return web.json_response(refusal, status=400)
        if request.path == "/apis":
            return web.json_response({"kind": "APIGroupList", "groups": [{"name": "batch"}]})
        return web.Response(text="404 page not found\n", status=404)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    yield str(tmp_path / "config")
    await runner.cleanup()


@pytest.mark.parametrize("words", [("status", "-A"), ("top",), ("cost",), *((name, "ht/x") for name in READ), *WRITE])
async def test_missing_definition_is_told_from_a_missing_table(words: tuple[str, ...], kubeconfig: str) -> None:
    done = await asyncio.to_thread(command, *words, "--kubeconfig", kubeconfig)
    assert (done.returncode, "The operator is not installed in this cluster" in done.stderr) == (3, True), done.stderr


@pytest.mark.parametrize("words", [("status",), ("top",), ("suspend",)])
async def test_selector_that_the_server_cannot_read_is_a_usage_error(words: tuple[str, ...], kubeconfig: str) -> None:
    done = await asyncio.to_thread(command, *words, "-l", "==", "--kubeconfig", kubeconfig)
    assert (done.returncode, "--selector: " in done.stderr) == (2, True), done.stderr
