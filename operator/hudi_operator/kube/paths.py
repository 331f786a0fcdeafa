"""Paths of objects and collections in the Kubernetes API."""

from urllib.parse import quote

from hudi_operator.kube.kinds import Kind, ObjectKey

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


def _segment(text: str) -> str:
    # An empty name would turn a call on a single object into a call on all objects.
    if not text or text in {".", ".."}:
        raise ValueError(f"{text!r} is not the name of an object or namespace")
    return quote(text, safe="")
