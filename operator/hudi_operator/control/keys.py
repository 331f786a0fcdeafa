"""The operator's kinds, the keys of their objects, and the identity of this operator among others."""

from typing import TYPE_CHECKING, TypeAlias

from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.kube.errors import ApiUnavailable
from hudi_operator.kube.objects import Kind, ObjectKey, text

if TYPE_CHECKING:  # the command line wants the kinds, and the client takes half a second
    from hudi_operator.kube.api import KubernetesApi

TABLE = Kind(group=GROUP, version=VERSION, plural="huditables", name="HudiTable")
TABLE_CLASS = Kind(group=GROUP, version=VERSION, plural="huditableclasses", name="HudiTableClass", namespaced=False)
SAVEPOINT = Kind(group=GROUP, version=VERSION, plural="hudisavepoints", name="HudiSavepoint")
OPERATION = Kind(group=GROUP, version=VERSION, plural="hudioperations", name="HudiOperation")

TableKey: TypeAlias = ObjectKey
"""The key of a HudiTable."""


def table_key(namespace: str, name: str) -> TableKey:
    """Return the key of a HudiTable."""
    return ObjectKey(TABLE, namespace, name)


def savepoint_key(namespace: str, name: str) -> ObjectKey:
    """Return the key of a HudiSavepoint."""
    return ObjectKey(SAVEPOINT, namespace, name)


def operation_key(namespace: str, name: str) -> ObjectKey:
    """Return the key of a HudiOperation."""
    return ObjectKey(OPERATION, namespace, name)


def class_key(name: str) -> ObjectKey:
    """Return the key of a HudiTableClass."""
    return ObjectKey(TABLE_CLASS, "", name)


def table_named_by(dependent: object) -> TableKey | None:
    """Return the HudiTable in an object's tableRef, or None."""
    namespace, name = text(dependent, "metadata", "namespace"), text(dependent, "spec", "tableRef", "name", limit=253)
    return table_key(namespace, name) if namespace and name else None


class OperatorIdentity:
    """The operator's identity, read from the cluster once; the same for all replicas and restarts."""

    def __init__(self, kube: "KubernetesApi", *, namespace: str, given: str = "") -> None:
        self._kube = kube
        self._namespace = namespace
        self._identity = given

    async def get(self) -> str:
        """Return the configured identity, else the cluster's uid and the operator's namespace."""
        if not self._identity:
            cluster = await self._kube.cluster_uid()
            if cluster is None:
                raise ApiUnavailable("the cluster has no namespace kube-system: set HUDI_OPERATOR_IDENTITY")
            self._identity = f"{cluster}/{self._namespace}"
        return self._identity
