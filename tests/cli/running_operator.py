"""The operator as a process of its own, from its start to its end by a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

Eventually = Callable[..., Awaitable[Any]]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def running_operator(
    *watched: str, eventually: Eventually, ends_by: signal.Signals = signal.SIGTERM
) -> AsyncIterator[list[bytes]]:
    """Run the operator in the first of the namespaces that it watches, once ready; its log is complete at the end."""
    port = _free_port()
    settings = {
        "SPARK_IMAGE": "unused",
        "OPERATOR_NAMESPACE": watched[0],
        "WATCH_NAMESPACES": ",".join(watched),
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
    log: list[bytes] = []

    async def ready() -> bool:
        assert process.returncode is None
        try:
            async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as answer:
                return answer.status == 200
        except aiohttp.ClientConnectionError:
            return False

    try:
        await eventually(ready)
        yield log
        process.send_signal(ends_by)
        async with asyncio.timeout(30):
            _, written = await process.communicate()
        log += written.splitlines()
        assert process.returncode == 0
    finally:
        if process.returncode is None:
            process.kill()
