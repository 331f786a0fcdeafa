"""The resync: lists all managed objects periodically and finds changes that no watch event reported.

Namespaces that refuse access do not block the others: the rights in a namespace vanish with the namespace, before the
objects that wait for their finalizers.

Watches go silent behind load balancers, events get lost between two watches, and kopf does not compare a new listing
with its state. A resync per period bounds the damage.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import structlog

from hudi_operator.kube.api import ObjectApi
from hudi_operator.kube.errors import Forbidden, KubernetesError, NotFound
from hudi_operator.kube.objects import Kind, ObjectKey
from hudi_operator.kube.transport import Document
from hudi_operator.runtime.controller import Controller, Trigger, listing_order
from hudi_operator.runtime.informer import KnownObjects, own_key
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.telemetry.metrics import metrics

_log = structlog.get_logger(__name__)


async def refused_namespaces(kube: ObjectApi, kinds: Iterable[Kind], namespaces: Sequence[str]) -> frozenset[str]:
    """Return the namespaces where no kind may be listed; raises `Forbidden` if no namespace is left.

    A namespace that refuses only some kinds is not included: reconciling objects without those that refer to them would
    be wrong, so listing it raises the error.
    """
    namespaced = [kind for kind in kinds if kind.namespaced]
    refusals = {namespace: await _refusal(kube, namespaced, namespace) for namespace in namespaces}
    refused = {namespace: error for namespace, error in refusals.items() if error is not None}
    for namespace, error in refused.items():
        if len(refused) == len(refusals):
            raise error
        _log.warning("namespace is not served", namespace=namespace, error=str(error))
    return frozenset(refused)


def places_of(kind: Kind, namespaces: Iterable[str], refused: frozenset[str]) -> list[str | None]:
    """Return the namespaces in which to list a kind; None stands for the whole cluster."""
    served: list[str | None] = [namespace for namespace in namespaces if namespace not in refused]
    return served if kind.namespaced and served else [None]


async def _refusal(kube: ObjectApi, kinds: Iterable[Kind], namespace: str) -> Forbidden | None:
    refusal = None
    for kind in kinds:
        try:
            async for _ in kube.each(kind, namespace):
                break
        except Forbidden as error:
            refusal = error
        else:
            return None
    return refusal


MISSING_KINDS = (
    "CustomResourceDefinitions of this release are missing: `hudi-operator crds | kubectl apply --server-side -f -`"
)

_FIRST_RETRY = 1.0


class Resync:
    """Resyncs until cancelled; `namespaces` limits it, empty means the whole cluster."""

    def __init__(
        self,
        *,
        controllers: Iterable[Controller[Any]],
        kube: ObjectApi,
        queue: KeyedQueue[ObjectKey],
        known: KnownObjects,
        period_seconds: float,
        namespaces: Sequence[str] = (),
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._controllers = listing_order(controllers)
        self._polled = {controller.kind for controller in self._controllers if controller.polled}
        self._kube = kube
        self._queue = queue
        self._known = known
        self._period = period_seconds
        self._namespaces = tuple(namespaces)
        self._draw = draw
        self._last_attempt: float | None = None
        self._last_success: float | None = None
        self._completed = asyncio.Event()
        self.problem: str | None = "the objects have not been listed yet"
        """Why the last resync failed, as a sentence; None after a success."""
        self.refused: frozenset[str] = frozenset()
        """Namespaces that refuse listing: their known objects are kept, and none of them is reconciled."""

    @property
    def completed(self) -> bool:
        """Whether a resync has succeeded, so that every object is known."""
        return self._completed.is_set()

    async def wait_until_completed(self) -> None:
        """Wait until a resync has succeeded."""
        await self._completed.wait()

    @property
    def seconds_since_attempt(self) -> float:
        """Seconds since the last attempt, successful or not: an API outage is not a standstill."""
        return 0.0 if self._last_attempt is None else asyncio.get_running_loop().time() - self._last_attempt

    @property
    def seconds_since_success(self) -> float:
        """Seconds since the last successful resync; 0 before the first."""
        return 0.0 if self._last_success is None else asyncio.get_running_loop().time() - self._last_success

    async def run(self) -> None:
        """Resync now and once per period; retry sooner after a failure."""
        retry = _FIRST_RETRY
        while True:
            self._last_attempt = asyncio.get_running_loop().time()
            try:
                await self.resync()
            except KubernetesError as error:
                metrics.resync_ended(succeeded=False)
                self.problem = _sentence(error)
                _log.warning("resync failed", error=self.problem, retry_seconds=retry)
                pause, retry = retry, min(self._period, retry * 2)
            else:
                metrics.resync_ended(succeeded=True)
                self._last_success = asyncio.get_running_loop().time()
                self.problem = None
                self._completed.set()
                pause, retry = self._period * (0.9 + 0.2 * self._draw()), _FIRST_RETRY
            await asyncio.sleep(pause)

    async def resync(self) -> None:
        """List everything once; enqueue new, changed and removed objects, and restore keys missing from the queue."""
        kinds = [controller.kind for controller in self._controllers]
        refused = await refused_namespaces(self._kube, kinds, self._namespaces)
        self.refused |= refused
        for kind in kinds:
            await self._resync_kind(kind, refused)
        self.refused = refused  # a namespace that recovered is served only once all of its objects are known

    async def _resync_kind(self, kind: Kind, refused: frozenset[str]) -> None:
        before = self._known.of_kind(kind)
        seen: set[ObjectKey] = set()
        for namespace in places_of(kind, self._namespaces, refused):
            async for document in self._kube.each(kind, namespace):
                key = own_key(kind, document)
                if key is not None and key not in seen:
                    seen.add(key)
                    self._compare(key, document)
        for key in (key for key in before - seen if key.namespace not in refused):
            self._queue.add(key)  # the reconcile finds the object gone and releases its resources
            for other in self._known.forget(key):
                self._queue.add(other)

    def _compare(self, key: ObjectKey, document: Document) -> None:
        # The first resync finds every object: changes reported by events meanwhile go first.
        unknown = not self.completed and key not in self._known
        concerned = self._known.learn(key, document)
        if concerned is not None:
            self._queue.add(key, Trigger.POLL if unknown else Trigger.EVENT)
            for other in concerned:
                self._queue.add(other)
        elif key.kind in self._polled and key not in self._queue:
            self._queue.add(key, Trigger.POLL)


def _sentence(error: KubernetesError) -> str:
    if isinstance(error, NotFound):
        return MISSING_KINDS
    return str(error)
