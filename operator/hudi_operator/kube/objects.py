"""Kinds of the Kubernetes API as values, the key and path of an object, and the fields of arbitrary documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind as named by the API server; the core group is empty."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def prefix(self) -> str:
        """Path of the group and version of the kind."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def address(self) -> tuple[str, str] | tuple[str, str, str]:
        """Group, version and plural; the core group is omitted."""
        return (self.group, self.version, self.plural) if self.group else (self.version, self.plural)


JOB = Kind(group="batch", version="v1", plural="jobs", name="Job")
POD = Kind(group="", version="v1", plural="pods", name="Pod")
EVENT = Kind(group="", version="v1", plural="events", name="Event")
NAMESPACE = Kind(group="", version="v1", plural="namespaces", name="Namespace", namespaced=False)
LEASE = Kind(group="coordination.k8s.io", version="v1", plural="leases", name="Lease")


class ObjectKey(NamedTuple):
    """Kind, namespace and name of an object. Another object may take the name: compare the uid before acting.

    The namespace of a cluster-wide object is empty.
    """

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


GROUPS_PATH = "/apis"
"""The path under which the API server lists its groups."""


def collection_path(kind: Kind, namespace: str | None = None) -> str:
    """Return the path of all objects of a kind, in a namespace or (None) in the cluster."""
    place = f"/namespaces/{_segment(namespace)}" if namespace is not None else ""
    return f"{kind.prefix}{place}/{kind.plural}"


def object_path(key: ObjectKey, *, subresource: str | None = None) -> str:
    """Return the path of an object or of a subresource of it."""
    namespace = key.namespace if key.kind.namespaced else None
    path = f"{collection_path(key.kind, namespace)}/{_segment(key.name)}"
    return f"{path}/{subresource}" if subresource else path


def log_path(namespace: str, pod: str) -> str:
    """Return the path of the logs of a pod."""
    return object_path(ObjectKey(POD, namespace, pod), subresource="log")


def _segment(text: str) -> str:
    # An empty name would turn a call on a single object into a call on all objects.
    if not text or text in {".", ".."}:
        raise ValueError(f"{text!r} is not the name of an object or namespace")
    return quote(text, safe="")


Document = Mapping[str, Any]

TEXT_LIMIT = 32 * 1024
"""The longest text to read: Kubernetes' limit for a pod's message."""

_ITEMS_LIMIT = 1000
_NUMBER_DIGITS = 15


def field(document: object, *path: str) -> object:
    """Return the value at a path of nested mappings, or None."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def part(document: object, *path: str) -> Document:
    """Return the mapping at a path, or an empty mapping."""
    value = field(document, *path)
    return value if isinstance(value, Mapping) else {}


def text(document: object, *path: str, limit: int = TEXT_LIMIT) -> str | None:
    """Return the string at a path, or None if it is missing, empty or longer than the limit."""
    value = field(document, *path)
    return value if isinstance(value, str) and 0 < len(value) <= limit else None


def whole_number(document: object, *path: str) -> int | None:
    """Return the whole number at a path, as a number or digits; None for anything else or over 15 digits."""
    value = field(document, *path)
    if isinstance(value, str):
        return int(value) if len(value) <= _NUMBER_DIGITS and value.isascii() and value.isdecimal() else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < 10**_NUMBER_DIGITS else None


def items(document: object, *path: str) -> list[Document]:
    """Return the mappings in the list at a path, at most a thousand."""
    found = field(document, *path)
    listed = found if isinstance(found, Sequence) and not isinstance(found, str | bytes) else ()
    return [one for one in islice(listed, _ITEMS_LIMIT) if isinstance(one, Mapping)]
