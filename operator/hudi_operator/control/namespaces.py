"""Labels of namespaces as they were read last; what is acted on is read live."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import Forbidden

_MAX_AGE_SECONDS = 60.0
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Known:
    labels: Mapping[str, str] | None
    asked_at: float


class NamespaceLabels:
    """The labels of namespaces whose tables name a class with a selector."""

    def __init__(self, kube: KubernetesClient) -> None:
        self._kube = kube
        self._known: dict[str, _Known] = {}

    async def get(self, namespace: str, *, since: float | None = None) -> Mapping[str, str] | None:
        """Return the labels as they were at `since` or later, else at most a minute old; None where nobody may know.

        A namespace that is gone has none.
        """
        now = asyncio.get_running_loop().time()
        known = self._known.get(namespace)
        if known is None or known.asked_at < (now - _MAX_AGE_SECONDS if since is None else since):
            known = _Known(await self._read(namespace), now)
            self._known.pop(namespace, None)
            self._known[namespace] = known
            while len(self._known) > _MOST_KEPT:
                del self._known[next(iter(self._known))]
        return known.labels

    async def _read(self, namespace: str) -> Mapping[str, str] | None:
        try:
            return await self._kube.namespace_labels(namespace)
        except Forbidden:
            return None
