"""The sweep: lists all tables and classes from time to time, and finds what no watch event told of.

Watches go silent behind load balancers, events get lost between two watches, and kopf does not compare a new listing
with what it knew. One sweep per period bounds what any of that can cost.
"""

import asyncio
import random
from collections.abc import Callable, Sequence

import structlog

from hudi_operator.control.fields import text
from hudi_operator.control.keys import TableKey, Trigger
from hudi_operator.control.queue import KeyedQueue
from hudi_operator.handlers.documents import own_key
from hudi_operator.handlers.known import KnownObjects
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import KubernetesError, NotFound
from hudi_operator.telemetry.metrics import metrics

_FIRST_RETRY = 1.0

_log = structlog.get_logger(__name__)


class Sweep:
    """Sweeps until it is cancelled; `namespaces` limits it, none means the whole cluster."""

    def __init__(
        self,
        *,
        kube: KubernetesClient,
        queue: KeyedQueue[TableKey],
        known: KnownObjects,
        period_seconds: float,
        namespaces: Sequence[str] = (),
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._kube = kube
        self._queue = queue
        self._known = known
        self._period = period_seconds
        self._namespaces: list[str | None] = list(namespaces) or [None]
        self._draw = draw
        self._last_attempt: float | None = None
        self._last_success: float | None = None
        self._completed = asyncio.Event()
        self.problem: str | None = "the tables have not been listed yet"
        """Why the last sweep failed, as a sentence; None when it went through."""

    @property
    def completed(self) -> bool:
        """Whether a sweep has gone through, so that every table is known."""
        return self._completed.is_set()

    async def wait_until_completed(self) -> None:
        """Wait until a sweep has gone through."""
        await self._completed.wait()

    @property
    def seconds_since_attempt(self) -> float:
        """How long ago the last sweep was tried, successfully or not; an outage of the API is no standstill."""
        return 0.0 if self._last_attempt is None else asyncio.get_running_loop().time() - self._last_attempt

    @property
    def seconds_since_success(self) -> float:
        """How long ago a sweep last went through; 0 before the first."""
        return 0.0 if self._last_success is None else asyncio.get_running_loop().time() - self._last_success

    async def run(self) -> None:
        """Sweep now and once per period; after a failure sooner."""
        retry = _FIRST_RETRY
        while True:
            self._last_attempt = asyncio.get_running_loop().time()
            try:
                await self.sweep()
            except KubernetesError as error:
                metrics.sweep_ended(succeeded=False)
                self.problem = _sentence(error)
                _log.warning("sweep failed", error=self.problem, retry_seconds=retry)
                pause, retry = retry, min(self._period, retry * 2)
            else:
                metrics.sweep_ended(succeeded=True)
                self._last_success = asyncio.get_running_loop().time()
                self.problem = None
                self._completed.set()
                pause, retry = self._period * (0.9 + 0.2 * self._draw()), _FIRST_RETRY
            await asyncio.sleep(pause)

    async def sweep(self) -> None:
        """List everything once: what is new, changed or gone is looked at, and what the queue has lost is put back."""
        before = self._known.tables
        seen: set[TableKey] = set()
        for namespace in self._namespaces:
            async for document in self._kube.each_table(namespace):
                key = own_key(document)
                if key is None or key in seen:
                    continue
                seen.add(key)
                # At the start these are all tables: what an event tells of meanwhile goes before them.
                unknown = not self.completed and key not in self._known
                if self._known.learn_table(key, document):
                    self._queue.add(key, Trigger.POLL if unknown else Trigger.EVENT)
                elif key not in self._queue:
                    self._queue.add(key, Trigger.POLL)
        for key in before - seen:
            self._known.forget_table(key)
            self._queue.add(key)  # the look finds that it is gone and lets go of what belonged to it
        metrics.set_tables(len(self._known))
        await self._sweep_classes()

    async def _sweep_classes(self) -> None:
        before = self._known.classes
        documents = {text(document, "metadata", "name"): document for document in await self._kube.list_classes()}
        changed = {name for name, document in documents.items() if name and self._known.learn_class(name, document)}
        for name in changed:
            self._queue.add(TableKey.of_class(name), Trigger.POLL)
        for name in before - documents.keys():
            self._known.forget_class(name)
            changed.add(name)
        for name in changed:
            for key in self._known.of_class(name):
                self._queue.add(key)


def _sentence(error: KubernetesError) -> str:
    if isinstance(error, NotFound):
        return "the CustomResourceDefinitions are missing: `hudi-operator crds | kubectl apply --server-side -f -`"
    return str(error)
