"""A cache of namespaces; actions read the namespace live."""

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.control.observation.recent import Recent
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.objects import NAMESPACE, ObjectKey, field, part
from hudi_operator.planning.model import NamespaceObservation, suspension_text


class Namespaces:
    """The labels and the suspend annotation of the namespaces of tables."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube
        self._known = Recent(self._read)

    async def get(self, namespace: str, *, since: float | None = None) -> NamespaceObservation | None:
        """Return a namespace read at `since` or later, else at most a minute old; None if it may not be read.

        A missing namespace has no labels and suspends no table.
        """
        return await self._known.get(namespace, since=since)

    async def _read(self, namespace: str) -> NamespaceObservation | None:
        try:
            document = await self._kube.get(ObjectKey(NAMESPACE, "", namespace)) or {}
        except Forbidden:
            return None
        value = field(document, "metadata", "annotations", SUSPEND_ANNOTATION)
        return NamespaceObservation(
            labels={str(key): str(value) for key, value in part(document, "metadata", "labels").items()},
            suspension=suspension_text(value if isinstance(value, str) else None),
        )
