"""The operator's process: queue, informer, sweep and health servers, started and stopped together."""

import asyncio
from collections.abc import Callable
from typing import Any

import kopf
import structlog

from hudi_operator.control.keys import Reconcile, TableKey
from hudi_operator.control.queue import KeyedQueue
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.informer import Informer, informer_settings
from hudi_operator.handlers.known import KnownObjects
from hudi_operator.handlers.sweep import Sweep
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.telemetry.health import HealthServer
from hudi_operator.telemetry.metrics import metrics

_STANDSTILL_SECONDS = 600.0
_INFORMER_STOP_SECONDS = 10.0

_log = structlog.get_logger(__name__)


class OperatorStopped(Exception):
    """A part of the operator that must always run has ended; a new process is the recovery."""


class OperatorProcess:
    """Runs one operator until it is told to stop.

    `known`, `queue` and `health` are open for tests and for whoever embeds it.
    """

    def __init__(self, *, settings: Settings, kube: KubernetesClient, reconcile: Reconcile) -> None:
        self._settings = settings
        self._kube = kube
        self._reconcile = reconcile
        self._stop = asyncio.Event()
        self._informer_stop = asyncio.Event()
        self._watching = False
        self.known = KnownObjects()
        self.queue: KeyedQueue[TableKey] = KeyedQueue()
        self.sweep = Sweep(
            kube=kube,
            queue=self.queue,
            known=self.known,
            period_seconds=settings.resync_seconds,
            namespaces=settings.watch_namespaces,
        )
        self.health = HealthServer(
            live={"queue": self._queue_check, "sweep": self._sweep_check},
            ready={"tables": self._ready_check},
            health_port=settings.health_port,
            metrics_port=settings.metrics_port,
        )
        metrics.observe_queue(depth=lambda: self.queue.depth, oldest_seconds=lambda: self.queue.oldest_seconds)

    def stop(self) -> None:
        """Take no more keys, let the looks under way end, then end `run`."""
        self._stop.set()

    async def run(self, *, take_signals: Callable[[], None] = lambda: None) -> None:
        """Run until `stop`; raise `OperatorStopped` when a part that must always run ends by itself.

        `take_signals` is called at the start, and again once kopf has set signal handlers of its own.
        """
        take_signals()
        async with self.health:
            parts: set[asyncio.Task[Any]] = {
                asyncio.create_task(self._work(), name="queue"),
                asyncio.create_task(self.sweep.run(), name="sweep"),
                asyncio.create_task(self._stop.wait(), name="stop"),
            }
            await asyncio.sleep(0)  # the workers must exist before kopf, which cancels all that came after it
            parts.add(asyncio.create_task(self._watch(take_signals), name="informer"))
            try:
                ended, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
                if not self._stop.is_set():
                    raise _why(ended)
            finally:
                await self._shut_down(parts)

    async def _work(self) -> None:
        await self.queue.run(
            workers=self._settings.workers,
            handler=self._look,
            timeout_seconds=self._settings.reconcile_timeout_seconds,
        )

    async def _watch(self, take_signals: Callable[[], None]) -> None:
        # kopf finds out once, at its start, which kinds there are: the CRDs have to be there by then.
        await self.sweep.wait_until_completed()
        await self._wait_for_kinds()
        ours = asyncio.all_tasks()
        namespaces = self._settings.watch_namespaces
        tasks = await kopf.spawn_tasks(
            registry=Informer(queue=self.queue, known=self.known).registry(),
            settings=informer_settings(),
            clusterwide=not namespaces,
            namespaces=namespaces,
            stop_flag=self._informer_stop,
        )
        self._watching = True
        take_signals()
        await kopf.run_tasks(tasks, ignored=ours)

    async def _wait_for_kinds(self) -> None:
        while True:
            try:
                if await self._kube.kinds_are_served():
                    return
            except KubernetesError as error:
                _log.warning("cannot tell which kinds the API server has", error=str(error))
            await asyncio.sleep(1)

    async def _look(self, key: TableKey) -> float | None:
        with structlog.contextvars.bound_contextvars(table=str(key)), metrics.reconcile():
            return await self._reconcile(key)

    async def _shut_down(self, parts: set[asyncio.Task[Any]]) -> None:
        finished = await self.queue.stop(grace_seconds=self._settings.shutdown_seconds)
        if not finished:
            _log.warning("looks cut off at shutdown", seconds=self._settings.shutdown_seconds)
        # kopf last: when it ends, it cancels whatever tasks began after it, a running look's among them.
        self._informer_stop.set()
        informer = {part for part in parts if part.get_name() == "informer" and self._watching}
        if informer:
            await asyncio.wait(informer, timeout=_INFORMER_STOP_SECONDS)
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)

    def _queue_check(self) -> str | None:
        idle = self.queue.seconds_without_progress
        limit = max(_STANDSTILL_SECONDS, 2 * self._settings.reconcile_timeout_seconds)
        return f"{self.queue.depth} tables wait and none was taken for {idle:.0f} seconds" if idle > limit else None

    def _sweep_check(self) -> str | None:
        idle = self.sweep.seconds_since_attempt
        limit = _STANDSTILL_SECONDS + 2 * self._settings.resync_seconds
        return f"no sweep was tried for {idle:.0f} seconds" if idle > limit else None

    def _ready_check(self) -> str | None:
        return None if self.sweep.completed else self.sweep.problem


def _why(ended: set[asyncio.Task[Any]]) -> OperatorStopped:
    task = next(iter(ended))
    error = None if task.cancelled() else task.exception()
    stopped = OperatorStopped(f"the {task.get_name()} has ended: {error or 'no reason given'}")
    stopped.__cause__ = error
    return stopped
