"""A cache of namespace labels; actions read the labels live."""

from collections.abc import Mapping

from hudi_operator.control.observation.recent import Recent
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import Forbidden


class NamespaceLabels:
    """The labels of namespaces whose tables use a class with a selector."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube
        self._known = Recent(self._read)

    async def get(self, namespace: str, *, since: float | None = None) -> Mapping[str, str] | None:
        """Return the labels read at `since` or later, else at most a minute old; None if they may not be read.

        A missing namespace has no labels.
        """
        return await self._known.get(namespace, since=since)

    async def _read(self, namespace: str) -> Mapping[str, str] | None:
        try:
            return await self._kube.namespace_labels(namespace)
        except Forbidden:
            return None
