"""The operator's protocols for the Kubernetes API, implemented by `KubernetesClient` and an in-memory cluster.

Documents are plain dicts in the API's own camelCase; every method raises only `KubernetesError`.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.events import EventType
from hudi_operator.kube.objects import Kind, ObjectKey
from hudi_operator.kube.transport import Document

Documents: TypeAlias = list[Document]

NO_NOTES: Mapping[str, str] = MappingProxyType({})


class ObjectApi(Protocol):
    """Access to objects of any kind; see `KubernetesClient` for the guarantees of each method."""

    async def get(self, key: ObjectKey) -> Document | None:
        """Return an object as it is now in the API server."""
        ...

    def each(
        self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None
    ) -> AsyncIterator[Document]:
        """Yield the objects of a namespace or of the cluster, page by page."""
        ...

    async def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None) -> Documents:
        """Return the objects of a namespace or of the cluster."""
        ...

    async def create(self, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> Document:
        """Create an object; raises `AlreadyExists`."""
        ...

    async def delete(self, key: ObjectKey, *, uid: str, version: str | None = None) -> bool:
        """Delete the object with this uid, and resourceVersion if given; False if it was already gone."""
        ...

    async def replace_status(self, kind: Kind, document: Document, status: Mapping[str, Any]) -> Document:
        """Replace the whole status of an object read before; raises `Conflict`."""
        ...

    async def set_finalizers(
        self, kind: Kind, document: Document, finalizers: Sequence[str], *, annotations: Mapping[str, str] = NO_NOTES
    ) -> Document:
        """Set the finalizers of an object read before; raises `Conflict` and `NotFound`."""
        ...


class WatchedApi(ObjectApi, Protocol):
    """The additional API of the process and the resync."""

    guard: Callable[[], None]

    async def are_served(self, kinds: Iterable[Kind]) -> bool:
        """Return True if the API server serves these kinds."""
        ...


class KubernetesApi(ObjectApi, Protocol):
    """The additional API of the reconcilers: server time, claims on base paths, and events."""

    def now(self) -> datetime:
        """Return the time by the API server's clock."""
        ...

    async def cluster_uid(self) -> str | None:
        """Return a unique identifier of the cluster."""
        ...

    async def create_claim(
        self, name: str, *, holder: str, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Document:
        """Create a claim; raises `AlreadyExists` if it is taken."""
        ...

    async def get_claim(self, name: str) -> Document | None:
        """Return a claim as it is now in the API server."""
        ...

    async def list_claims(self, label_selector: str) -> Documents:
        """Return the claims that match a label selector."""
        ...

    async def delete_claim(self, name: str, *, uid: str) -> bool:
        """Delete the claim with this uid; False if it was already gone."""
        ...

    async def create_event(
        self, about: Document, *, kind: EventType, reason: str, message: str, once: bool = False
    ) -> None:
        """Post an event about an object; a failure is only logged."""
        ...

    async def warnings_about(self, namespace: str, uid: str) -> Documents | None:
        """Return the newest Warnings about the object with this uid; None without the right to read Events."""
        ...

    async def read_log(self, namespace: str, pod: str, container: str, *, lines: int, most_bytes: int) -> bytes:
        """Return the last lines of a container's log; of these, the kubelet cuts what exceeds `most_bytes`."""
        ...

    async def namespace_is_terminating(self, about: Document) -> bool:
        """Return True if the object's namespace is being deleted."""
        ...


async def add_finalizer(
    kube: ObjectApi, kind: Kind, document: Document, finalizer: str, *, annotations: Mapping[str, str] = NO_NOTES
) -> Document:
    """Add a missing finalizer and missing annotations in a single write; existing annotation values stay.

    Raises `Conflict` if the object changed since it was read.
    """
    present, noted = _finalizers_of(document), document["metadata"].get("annotations") or {}
    missing = {name: value for name, value in annotations.items() if name not in noted}
    if finalizer in present and not missing:
        return document
    return await kube.set_finalizers(
        kind, document, [*(one for one in present if one != finalizer), finalizer], annotations=missing
    )


async def remove_finalizer(kube: ObjectApi, kind: Kind, document: Document, finalizer: str) -> Document | None:
    """Remove a finalizer if present; return the object, or None if it is gone.

    Raises `Conflict` as `add_finalizer` does.
    """
    present = _finalizers_of(document)
    if finalizer not in present:
        return document
    try:
        return await kube.set_finalizers(kind, document, [other for other in present if other != finalizer])
    except NotFound:
        return None


def _finalizers_of(document: Document) -> list[str]:
    return list(document["metadata"].get("finalizers") or ())
