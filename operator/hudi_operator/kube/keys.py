"""The operator's kinds, and the keys of their objects."""

from typing import TypeAlias

from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.kube.objects import Kind, ObjectKey, text

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
