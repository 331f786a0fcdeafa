"""Health of the process over HTTP: /healthz and /readyz on a port, /metrics on another port.

Health means progress: /healthz fails when a check reports a standstill of the loop, not only when the port is closed.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Self

import structlog
from aiohttp import web

from hudi_operator.telemetry.metrics import metrics

_log = structlog.get_logger(__name__)

Check = Callable[[], str | None]
"""Returns the problem in a sentence, or None."""


class HealthServer:
    """Serves health and metrics until closed; port 0 takes any free port.

    `live` are the checks of /healthz: if any fails, the process should be restarted. `ready` are those of /readyz.
    """

    def __init__(
        self,
        *,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        health_port: int,
        metrics_port: int,
        host: str = "0.0.0.0",  # noqa: S104 - the kubelet and Prometheus come from outside the pod
    ) -> None:
        self._live = dict(live)
        self._ready = dict(ready)
        self._wanted = (health_port, metrics_port)
        self._host = host
        self._open = AsyncExitStack()
        self.health_port = health_port
        self.metrics_port = metrics_port

    async def __aenter__(self) -> Self:
        health, figures = web.Application(), web.Application()
        health.router.add_get("/healthz", _handler(self._live))
        health.router.add_get("/readyz", _handler(self._ready))
        figures.router.add_get("/metrics", _metrics)
        self.health_port = await self._serve(health, self._wanted[0])
        self.metrics_port = await self._serve(figures, self._wanted[1])
        _log.info("health is served", port=self.health_port, metrics_port=self.metrics_port)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def _serve(self, application: web.Application, port: int) -> int:
        runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        self._open.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, self._host, port).start()
        return int(runner.addresses[0][1])


def _handler(checks: Mapping[str, Check]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_request: web.Request) -> web.Response:
        problems = {name: check() for name, check in checks.items()}
        text = "".join(f"{name}: {problem or 'ok'}\n" for name, problem in problems.items())
        return web.Response(status=503 if any(problems.values()) else 200, text=text)

    return answer


async def _metrics(_request: web.Request) -> web.Response:
    return web.Response(body=metrics.exposition(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
