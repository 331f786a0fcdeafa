"""Paths of the kinds that the operator uses in the Kubernetes API, and nothing else."""

from enum import StrEnum
from urllib.parse import quote

from hudi_operator.api.base import GROUP, VERSION


class Kind(StrEnum):
    """A kind as `prefix of its API group:plural`."""

    TABLE = f"/apis/{GROUP}/{VERSION}:huditables"
    TABLE_CLASS = f"/apis/{GROUP}/{VERSION}:huditableclasses"
    JOB = "/apis/batch/v1:jobs"
    POD = "/api/v1:pods"
    EVENT = "/api/v1:events"
    NAMESPACE = "/api/v1:namespaces"
    LEASE = "/apis/coordination.k8s.io/v1:leases"


GROUPS_PATH = "/apis"
"""Path under which the API server announces its groups."""


def group_path() -> str:
    """Return the path under which the API server announces the kinds of the operator's own group."""
    return f"/apis/{GROUP}/{VERSION}"


def collection_path(kind: Kind, namespace: str | None = None) -> str:
    """Return the path of all objects of a kind, in one namespace or (None) in the cluster."""
    prefix, plural = kind.value.split(":")
    return f"{prefix}/namespaces/{_segment(namespace)}/{plural}" if namespace is not None else f"{prefix}/{plural}"


def object_path(kind: Kind, name: str, namespace: str | None = None, *, subresource: str | None = None) -> str:
    """Return the path of one object or of a subresource of it."""
    path = f"{collection_path(kind, namespace)}/{_segment(name)}"
    return f"{path}/{subresource}" if subresource else path


def _segment(text: str) -> str:
    # An empty name would turn a call on one object into a call on all of them.
    if not text or text in {".", ".."}:
        raise ValueError(f"{text!r} is not the name of an object or namespace")
    return quote(text, safe="")
