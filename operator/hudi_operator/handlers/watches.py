"""kopf as the watcher: lists and watches the managed kinds, and passes every event to the informer.

kopf runs in a thread with its own event loop: it takes over signals, cancels tasks of others, and ends altogether on a
watch error that it does not know. Then it is restarted, and the resync finds the missed changes.
"""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import kopf
import structlog

from hudi_operator.kube.objects import Kind
from hudi_operator.kube.transport import load_configuration
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.informer import Informer
from hudi_operator.telemetry.metrics import metrics

_FIRST_PAUSE = 1.0
_LAST_PAUSE = 60.0
_STEADY_SECONDS = 300.0
_STOP_SECONDS = 10.0

_log = structlog.get_logger(__name__)


class Watcher:
    """Watches until cancelled; `namespaces` limits it, empty means the whole cluster."""

    def __init__(
        self, *, controllers: Iterable[Controller[Any]], informer: Informer, namespaces: Sequence[str] = ()
    ) -> None:
        self._controllers = tuple(controllers)
        self._informer = informer
        self._namespaces = tuple(namespaces)
        self.problem: str | None = None
        """Why no watch is running, as a sentence; None while watching."""

    async def run(self) -> None:
        """Watch, and restart after a pause whenever kopf ends."""
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        while True:
            began = loop.time()
            try:
                await self._watch_once()
                error: Exception | None = None
            except Exception as failure:  # noqa: BLE001 - whatever ends kopf must not end the operator
                error = failure
            if loop.time() - began > _STEADY_SECONDS:
                pause = _FIRST_PAUSE
            self.problem = f"the watches have ended: {error or 'no reason given'}"
            metrics.watch_restarted()
            _log.warning("watches ended", error=str(error), retry_seconds=pause, exc_info=error)
            await asyncio.sleep(pause)
            pause = min(_LAST_PAUSE, 2 * pause)

    async def _watch_once(self) -> None:
        run = _KopfThread(self._controllers, self._informer, self._namespaces)
        run.start()
        self.problem = None
        try:
            await asyncio.shield(run.ended)
        finally:
            run.stop()
            await asyncio.wait([run.ended], timeout=_STOP_SECONDS)


class _KopfThread:
    """A run of kopf. Passes its events to the event loop that created it."""

    def __init__(self, controllers: Sequence[Controller[Any]], informer: Informer, namespaces: Sequence[str]) -> None:
        self._controllers = controllers
        self._informer = informer
        self._namespaces = namespaces
        self._home = asyncio.get_running_loop()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self.ended: asyncio.Future[None] = self._home.create_future()
        self.ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def start(self) -> None:
        threading.Thread(target=self._run, name="watches", daemon=True).start()

    def stop(self) -> None:
        if self._loop is None:
            self._stop.set()
            return
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)

    def _run(self) -> None:
        error: Exception | None = None
        # Not asyncio.run, which waits for tasks without a limit.
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._watch())
        except Exception as failure:  # noqa: BLE001 - handed over below
            error = failure
        finally:
            loop.close()
        self._hand_over(self._end, error)

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    async def _watch(self) -> None:
        """Watch until kopf ends, and give its tasks a bounded time to end.

        kopf would wait for ever for a watch that waits to sign in again while another watch has failed.
        """
        self._loop = asyncio.get_running_loop()
        mine = asyncio.all_tasks()
        tasks = await kopf.spawn_tasks(
            registry=self._registry(),
            settings=watch_settings(self._controllers),
            clusterwide=not self._namespaces,
            namespaces=self._namespaces,
            stop_flag=self._stop,
        )
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        # From here on, kopf's callbacks may find their tasks gone; this is harmless.
        self._loop.set_exception_handler(lambda _, context: _log.debug("while kopf ends", reason=context["message"]))
        ending = asyncio.create_task(kopf.run_tasks(tasks, ignored=mine))
        await asyncio.wait({ending}, timeout=_STOP_SECONDS)
        for task in (*done, ending):
            if task.done() and not task.cancelled():
                task.result()

    def _registry(self) -> kopf.OperatorRegistry:
        """Return a kopf registry with the handlers, separate from kopf's global registry."""
        registry = kopf.OperatorRegistry()

        @kopf.on.login(registry=registry)
        async def credentials(**_: object) -> kopf.ConnectionInfo:
            return await watch_credentials()

        for controller in self._controllers:
            self._watch_kind(registry, controller.kind, partial(self._informer.object_event, controller))
            for children in controller.children:
                heard = partial(self._informer.child_event, controller, children)
                self._watch_kind(registry, children.kind, heard)
        return registry

    def _watch_kind(self, registry: kopf.OperatorRegistry, kind: Kind, heard: Callable[[object], None]) -> None:
        @kopf.on.event(*kind.address, id=kind.plural, registry=registry)
        async def tell(event: kopf.RawEvent, **_: object) -> None:
            self._hand_over(heard, event)

    def _hand_over(self, call: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the operator's own loop has ended
            self._home.call_soon_threadsafe(call, *arguments)


class _Backoffs:
    """Endless delays between attempts: after a last attempt, kopf would stop the whole operator."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((1, 1, 2, 3, 5, 8, 13, 21), itertools.repeat(30))


class _NoComparisons(kopf.DiffBaseStorage):
    """Stores no earlier state of objects: only events are handled, and comparing would copy every object."""

    def build(self, **_: object) -> kopf.BodyEssence:
        return kopf.BodyEssence({})

    def fetch(self, **_: object) -> None:
        return None

    def store(self, **_: object) -> None:
        return None


def watch_settings(controllers: Iterable[Controller[Any]]) -> kopf.OperatorSettings:
    """Return kopf's settings for watching only: no writes, no peering, no events, timeouts on every stream."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.scanning.disabled = True  # the CRDs exist before the operator, so it needs no right to watch CRDs
    settings.process.ultimate_exiting_timeout = None
    settings.persistence.diffbase_storage = _NoComparisons()
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 310
    settings.watching.connect_timeout = 30
    settings.watching.reconnect_backoff = 2.0
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 60
    settings.networking.error_backoffs = _Backoffs()
    for children in (one for controller in controllers for one in controller.children):
        settings.watching.label_selectors[children.kind.address] = children.label_selector
    return settings


async def watch_credentials() -> kopf.ConnectionInfo:
    """Return kopf's API server and credentials: the same as the operator's own client."""
    configuration = await load_configuration()
    scheme, _, token = str(configuration.api_key.get("BearerToken") or "").rpartition(" ")
    return kopf.ConnectionInfo(
        server=configuration.host,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        scheme=(scheme or "Bearer").capitalize() if token else None,
        token=token or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
        proxy_url=configuration.proxy,
    )
