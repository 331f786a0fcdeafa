"""The real process, from its start to its end by a signal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

pytestmark = pytest.mark.cluster


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_operator_becomes_ready_and_ends_cleanly_on_a_signal(
    namespace: str, number: signal.Signals, eventually: Callable[..., Awaitable[Any]]
) -> None:
    port = free_port()
    settings = {
        "SPARK_IMAGE": "unused",
        "OPERATOR_NAMESPACE": namespace,
        "WATCH_NAMESPACES": namespace,
        "HEALTH_PORT": str(port),
        "METRICS_PORT": "0",
    }
    # HUDI_OPERATOR_CACHE, for one, is a variable of the development programs.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HUDI_OPERATOR_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "hudi_operator",
        "run",
        stderr=asyncio.subprocess.PIPE,
        env={**inherited, **{f"HUDI_OPERATOR_{name}": value for name, value in settings.items()}},
    )

    async def ready() -> bool:
        assert process.returncode is None
        try:
            async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as answer:
                return answer.status == 200
        except aiohttp.ClientConnectionError:
            return False

    try:
        await eventually(ready)
        process.send_signal(number)
        async with asyncio.timeout(30):
            _, written = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    lines = [json.loads(line) for line in written.splitlines()]
    assert process.returncode == 0
    assert lines[-1]["event"] == "operator stopped"
    # A watch that is cut off while it starts complains, so only the operator's own messages count.
    own = [line for line in lines if line["logger"].startswith("hudi_operator")]
    assert {line["level"] for line in own} == {"info"}
