"""The operator's process: starts and stops election, queue, watches, resync and health servers together."""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from hudi_operator.control.settings import Settings
from hudi_operator.handlers.watches import Watcher
from hudi_operator.kube.api import WatchedApi
from hudi_operator.kube.errors import Forbidden, KubernetesError
from hudi_operator.kube.keys import TABLE
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.runtime.controller import Controller, Reconcile, Trigger
from hudi_operator.runtime.informer import Informer, KnownObjects
from hudi_operator.runtime.leadership import Leadership
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.runtime.resync import MISSING_KINDS, Resync, places_of, refused_namespaces
from hudi_operator.telemetry.health import HealthServer
from hudi_operator.telemetry.metrics import metrics

_STANDSTILL_SECONDS = 600.0

_log = structlog.get_logger(__name__)


class OperatorStopped(Exception):
    """A required part of the operator has ended; a new process is the recovery."""


class OperatorProcess:
    """Runs an operator until it is stopped.

    With an election, the process waits until it leads, and ends when it loses the lead: a new process starts without
    state that another leader may have overtaken. `known`, `queue` and `health` are public for tests and embedding.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        kube: WatchedApi,
        controllers: Sequence[Controller[Any]],
        known: KnownObjects,
        reconcile: Reconcile,
        leadership: Leadership | None = None,
    ) -> None:
        self._settings = settings
        self._kube = kube
        self._controllers = tuple(controllers)
        self._reconcile = reconcile
        self._leadership = leadership
        self._stop = asyncio.Event()
        self._acting = False
        self._lacks: str | None = MISSING_KINDS
        self.known = known
        self.queue: KeyedQueue[ObjectKey] = KeyedQueue(group=lambda key: key.namespace)
        self.resync = Resync(
            controllers=controllers,
            kube=kube,
            queue=self.queue,
            known=self.known,
            period_seconds=settings.resync_seconds,
            namespaces=settings.watch_namespaces,
        )
        self.watcher = Watcher(
            controllers=controllers,
            informer=Informer(queue=self.queue, known=self.known),
            namespaces=settings.watch_namespaces,
        )
        self.health = HealthServer(
            live={"queue": self._queue_check, "resync": self._resync_check, "leadership": self._leadership_check},
            ready={"objects": self._ready_check, "watches": lambda: self.watcher.problem},
            health_port=settings.health_port,
            metrics_port=settings.metrics_port,
        )
        metrics.tables.configure(enabled=settings.table_metrics, limit=settings.table_metrics_limit)
        metrics.observe_queue(depth=lambda: self.queue.depth, oldest_seconds=lambda: self.queue.oldest_seconds)
        metrics.observe_resync(age_seconds=lambda: self.resync.seconds_since_success)
        metrics.observe_refused_namespaces(lambda: len(self.resync.refused))
        metrics.observe_tables(lambda: known.count(TABLE))
        metrics.observe_leader(lambda: self._acting and (leadership is None or leadership.is_leader))

    def stop(self) -> None:
        """Take no more keys, let running reconciles end, then end `run`."""
        self._stop.set()

    async def run(self) -> None:
        """Run until `stop`; raise `OperatorStopped` when a required part ends by itself."""
        async with self.health:
            stopped = asyncio.create_task(self._stop.wait(), name="stop")
            try:
                if self._leadership is not None:
                    await self._until_leading(stopped, self._leadership)
                if not self._stop.is_set():
                    await self._act(stopped)
            finally:
                stopped.cancel()

    async def _until_leading(self, stopped: asyncio.Task[Any], leadership: Leadership) -> None:
        self._kube.guard = leadership.check
        waiting = asyncio.create_task(self._acquire(leadership), name="election")
        ended, _ = await asyncio.wait({stopped, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        if stopped in ended:
            await leadership.release()  # it may have been won in this moment
        elif waiting.exception() is not None:
            raise _why({waiting})

    async def _acquire(self, leadership: Leadership) -> None:
        """Stand for election once all kinds can be read: until then, an older operator that needs fewer kinds leads."""
        await self._wait_for_kinds()
        await leadership.acquire()

    async def _act(self, stopped: asyncio.Task[Any]) -> None:
        self._acting = True
        parts: set[asyncio.Task[Any]] = {
            stopped,
            asyncio.create_task(self._work(), name="queue"),
            asyncio.create_task(self.resync.run(), name="resync"),
            asyncio.create_task(self._watch(), name="watches"),
        }
        if self._leadership is not None:
            parts.add(asyncio.create_task(self._leadership.hold(), name="leadership"))
        try:
            ended, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            if not self._stop.is_set():
                raise _why(ended)
        finally:
            await self._shut_down(parts)

    async def _work(self) -> None:
        # Before all objects are known, a table would be decided without the objects that refer to it, such as
        # operations that hold it.
        await self.resync.wait_until_completed()
        await self.queue.run(
            workers=self._settings.workers,
            handler=self._reconcile_key,
            timeout_seconds=self._settings.reconcile_timeout_seconds,
        )

    async def _watch(self) -> None:
        # kopf discovers the kinds once, at its start: the CRDs have to exist by then.
        await self.resync.wait_until_completed()
        await self._wait_for_kinds()
        await self.watcher.run()

    async def _wait_for_kinds(self) -> None:
        while True:
            try:
                if await self._kube.are_served([controller.kind for controller in self._controllers]):
                    await self._try_to_list()
                    self._lacks = None
                    return
            except KubernetesError as error:
                self._lacks = str(error)
                _log.warning("cannot tell whether all kinds can be read", error=str(error))
            await asyncio.sleep(1)

    async def _try_to_list(self) -> None:
        """Raise the API server's error for a kind that may not be listed, as with rights of an earlier release.

        A namespace where no kind may be listed does not prevent taking over, unless no other is left.
        """
        kinds, namespaces = [controller.kind for controller in self._controllers], self._settings.watch_namespaces
        refused = await refused_namespaces(self._kube, kinds, namespaces)
        for kind in kinds:
            for namespace in places_of(kind, namespaces, refused):
                async for _ in self._kube.each(kind, namespace):
                    break

    async def _reconcile_key(self, key: ObjectKey, trigger: Trigger) -> float | None:
        with structlog.contextvars.bound_contextvars(kind=key.kind.name, object=str(key)), metrics.reconcile():
            if key.namespace in self.resync.refused:
                # kopf may regain access before the resync, and report a table before the objects that refer to it.
                raise Forbidden(f"namespace {key.namespace} is not served: nothing may be listed there")
            return await self._reconcile(key, trigger)

    async def _shut_down(self, parts: set[asyncio.Task[Any]]) -> None:
        # A process that no longer leads may not write, so there is nothing to wait for.
        leads = self._leadership is None or self._leadership.is_leader
        finished = await self.queue.stop(grace_seconds=self._settings.shutdown_seconds if leads else 0)
        if not finished:
            _log.warning("reconciles cut off at shutdown", seconds=self._settings.shutdown_seconds)
        for part in parts:
            part.cancel()
        if self._leadership is not None:
            election = [part for part in parts if part.get_name() == "leadership"]
            await asyncio.gather(*election, return_exceptions=True)
            await self._leadership.release()
        await asyncio.gather(*parts, return_exceptions=True)

    def _queue_check(self) -> str | None:
        if not self.resync.completed:
            return None  # no key is taken before all objects are known
        idle = self.queue.seconds_without_progress
        limit = max(_STANDSTILL_SECONDS, 2 * self._settings.reconcile_timeout_seconds)
        return f"{self.queue.depth} objects wait and none was taken for {idle:.0f} seconds" if idle > limit else None

    def _leadership_check(self) -> str | None:
        since = self._leadership.seconds_since_renewal if self._leadership is not None else None
        late = since is not None and since > 2 * self._settings.lease_seconds
        return f"the lease was last renewed {since:.0f} seconds ago" if late else None

    def _resync_check(self) -> str | None:
        idle = self.resync.seconds_since_attempt
        limit = _STANDSTILL_SECONDS + 2 * self._settings.resync_seconds
        return f"no resync was tried for {idle:.0f} seconds" if idle > limit else None

    def _ready_check(self) -> str | None:
        if self._acting:
            return None if self.resync.completed else self.resync.problem
        # A standby process is ready, unless it could not take over.
        return self._lacks if self._leadership is not None else None


def _why(ended: set[asyncio.Task[Any]]) -> OperatorStopped:
    task = next(iter(ended))
    error = None if task.cancelled() else task.exception()
    stopped = OperatorStopped(f"the {task.get_name()} has ended: {error or 'no reason given'}")
    stopped.__cause__ = error
    return stopped
