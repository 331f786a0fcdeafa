"""`KubernetesClient`: all of the operator's calls to the Kubernetes API.

Every call has a timeout, takes and returns plain documents, and raises only `KubernetesError`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeAlias, TypeVar

from hudi_operator.kube.api import NO_NOTES
from hudi_operator.kube.errors import (
    AlreadyExists,
    ApiUnavailable,
    Forbidden,
    KubernetesError,
    NamespaceTerminating,
    NotFound,
)
from hudi_operator.kube.events import EventType, event_manifest, log_lost_event
from hudi_operator.kube.objects import (
    EVENT,
    GROUPS_PATH,
    LEASE,
    NAMESPACE,
    Kind,
    ObjectKey,
    collection_path,
    log_path,
    object_path,
)
from hudi_operator.kube.transport import (
    DEFAULT_TIMEOUT,
    MERGE_PATCH,
    Document,
    Transport,
    load_configuration,
)

T = TypeVar("T")
Documents: TypeAlias = list[Document]

_SECOND_TRY_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 1.0
_EVENTS_READ = 100
"""The API server sorts Events by name, oldest first: fewer could leave out the newest of a Job that waits for hours."""


class KubernetesClient:
    """Access to objects, claims and events in the Kubernetes API.

    `operator_namespace` holds the claims. Reads of a missing object return None. `guard` runs before every write except
    the election's own, and raises `WriteRefused` in a process that may not write.
    """

    guard: Callable[[], None]

    def __init__(self, transport: Transport, *, operator_namespace: str, instance: str = "hudi-operator") -> None:
        self._transport = transport
        self._operator_namespace = operator_namespace
        self._instance = instance
        self.guard = lambda: None

    @classmethod
    async def connect(
        cls, *, operator_namespace: str, instance: str = "hudi-operator", timeout_seconds: float = DEFAULT_TIMEOUT
    ) -> Self:
        """Return a client for the cluster configured in the environment; sends no request yet."""
        transport = Transport(await load_configuration(), timeout_seconds=timeout_seconds)
        return cls(transport, operator_namespace=operator_namespace, instance=instance)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def now(self) -> datetime:
        """Return the time by the API server's clock."""
        return self._transport.clock.now()

    # Objects of any kind

    async def get(self, key: ObjectKey) -> Document | None:
        """Return an object as it is now in the API server."""
        return await self._document(object_path(key))

    def each(
        self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None
    ) -> AsyncIterator[Document]:
        """Yield the objects of a namespace or of the cluster, page by page; some may appear twice."""
        return self._transport.list_items(collection_path(kind, namespace), label_selector=label_selector)

    async def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None) -> Documents:
        """Return the objects of a namespace or of the cluster; `each` needs less memory."""

        async def read() -> Documents:
            found = {
                (_namespace(item), _name(item)): item
                async for item in self.each(kind, namespace, label_selector=label_selector)
            }
            return [*found.values()]

        return await _read(read)

    async def create(self, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> Document:
        """Create an object; raises `AlreadyExists` if the name is taken, whoever created the other object."""
        return await self._write("POST", collection_path(kind, namespace), dict(manifest))

    async def delete(self, key: ObjectKey, *, uid: str, version: str | None = None) -> bool:
        """Delete the object with this uid and, in the background, its dependents; False if it was already gone.

        Raises `Conflict` if the name now belongs to another object, or the resourceVersion is no longer `version`.
        """
        # By default, deleting a Job of batch/v1 orphans its pods.
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid} | ({"resourceVersion": version} if version is not None else {}),
        }
        try:
            await self._write("DELETE", object_path(key), options)
        except NotFound:
            return False
        return True

    async def replace_status(self, kind: Kind, document: Document, status: Mapping[str, Any]) -> Document:
        """Replace the whole status of an object read before; return the updated object.

        Raises `Conflict` if the object changed since it was read. Sends no request if the status is the same.
        """
        if document.get("status") == status:
            return document
        path = object_path(_key(kind, document), subresource="status")
        # A merge patch would keep fields that the new status lacks.
        return await self._write("PUT", path, {**_identity(document), "status": dict(status)})

    async def set_finalizers(
        self, kind: Kind, document: Document, finalizers: Sequence[str], *, annotations: Mapping[str, str] = NO_NOTES
    ) -> Document:
        """Set the finalizers, and these annotations, of an object read before; return the updated object.

        Raises `Conflict` if the object changed since it was read, so no other controller's finalizer is lost.
        """
        # The resourceVersion makes the replacement of the whole list atomic.
        notes = {"annotations": dict(annotations)} if annotations else {}
        body = {"metadata": {**_identity(document)["metadata"], "finalizers": list(finalizers), **notes}}
        return await self._write("PATCH", object_path(_key(kind, document)), body, content_type=MERGE_PATCH)

    # Queries about the cluster itself

    async def are_served(self, kinds: Iterable[Kind]) -> bool:
        """Return True if the API server serves these kinds and their groups, so that they can be watched."""
        groups = await self._document(GROUPS_PATH)
        announced = {entry.get("name") for entry in (groups or {}).get("groups", ())}
        for prefix, wanted in _by_prefix(kinds).items():
            resources = ((await self._document(prefix)) or {}).get("resources", ())
            served = {resource.get("name") for resource in resources}
            if not all(kind.plural in served and (not kind.group or kind.group in announced) for kind in wanted):
                return False
        return True

    async def cluster_uid(self) -> str | None:
        """Return a unique identifier of the cluster: the uid of its `kube-system` namespace."""
        namespace = await self.get(ObjectKey(NAMESPACE, "", "kube-system"))
        return None if namespace is None else str(namespace["metadata"]["uid"])

    # Claims: one Lease per base path, in the operator's own namespace

    async def create_claim(
        self,
        name: str,
        *,
        holder: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """Create a claim; raises `AlreadyExists` if it is taken: read the claim to see its holder."""
        body: Document = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
            "spec": {"holderIdentity": holder},
        }
        return await self.create(LEASE, self._operator_namespace, body)

    async def get_claim(self, name: str) -> Document | None:
        """Return a claim as it is now in the API server."""
        return await self.get(self._lease_key(name))

    async def list_claims(self, label_selector: str) -> Documents:
        """Return the claims that match a label selector."""
        return await self.list(LEASE, self._operator_namespace, label_selector=label_selector)

    async def delete_claim(self, name: str, *, uid: str) -> bool:
        """Delete the claim with this uid; False if it was already gone, `Conflict` if the name is another claim's."""
        return await self.delete(self._lease_key(name), uid=uid)

    # The election's Lease, in the operator's own namespace; not guarded, because the guard depends on it

    async def get_lease(self, name: str) -> Document | None:
        """Return a Lease as it is now in the API server."""
        return await self.get(self._lease_key(name))

    async def create_lease(self, name: str, spec: Document) -> Document:
        """Create a Lease; raises `AlreadyExists` if another process was faster."""
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        return await self._transport.request("POST", collection_path(LEASE, self._operator_namespace), body=body)

    async def replace_lease(self, lease: Document) -> Document:
        """Write back a changed Lease; raises `Conflict` if it was changed since it was read."""
        path = object_path(self._lease_key(_name(lease)))
        return await self._transport.request("PUT", path, body=lease)

    # Events

    async def create_event(
        self, about: Document, *, kind: EventType, reason: str, message: str, once: bool = False
    ) -> None:
        """Post an event about an object; a failure is logged, never raised.

        With `once`, only a single event of this reason exists about this object, however often it is posted.
        """
        event = event_manifest(about, kind=kind, reason=reason, message=message, instance=self._instance, once=once)
        path = collection_path(EVENT, event["metadata"]["namespace"])
        try:
            await self._write("POST", path, event)
        except AlreadyExists:
            return
        except KubernetesError as error:
            log_lost_event(event, error)

    async def warnings_about(self, namespace: str, uid: str) -> Documents | None:
        """Return at most 100 Events of type Warning about the object with this uid; None without the right to read."""
        query = {"fieldSelector": f"involvedObject.uid={uid},type=Warning", "limit": str(_EVENTS_READ)}
        try:
            page = await _read(lambda: self._transport.request("GET", collection_path(EVENT, namespace), query=query))
        except Forbidden:
            return None
        return list(page.get("items") or ())[:_EVENTS_READ]

    async def read_log(self, namespace: str, pod: str, container: str, *, lines: int, most_bytes: int) -> bytes:
        """Return the last lines of a container's log; of these, the kubelet cuts what exceeds `most_bytes`."""
        query = {"container": container, "tailLines": str(lines), "limitBytes": str(most_bytes)}
        return await self._transport.read(log_path(namespace, pod), query=query, most_bytes=most_bytes)

    async def namespace_is_terminating(self, about: Document) -> bool:
        """Return True if the object's namespace is being deleted, so nothing can be created there.

        Found by a dry run of an event, because a namespace's rights do not allow reading the namespace itself.
        """
        event = event_manifest(about, kind=EventType.NORMAL, reason="Tried", message="", instance=self._instance)
        path = collection_path(EVENT, event["metadata"]["namespace"])
        try:
            await self._transport.request("POST", path, query={"dryRun": "All"}, body=event)
        except KubernetesError as error:  # a webhook may refuse a dry run
            return isinstance(error, NotFound | NamespaceTerminating)
        return False

    # Shared by the calls above

    async def _write(
        self, method: str, path: str, body: Document, *, content_type: str = "application/json"
    ) -> Document:
        self.guard()
        return await self._transport.request(method, path, body=body, content_type=content_type)

    async def _document(self, path: str) -> Document | None:
        try:
            return await _read(lambda: self._transport.request("GET", path))
        except NotFound:
            return None

    def _lease_key(self, name: str) -> ObjectKey:
        return ObjectKey(LEASE, self._operator_namespace, name)


async def _read(read: Callable[[], Awaitable[T]]) -> T:
    """Read with one retry after a refusal: otherwise a reconcile of many calls would seldom succeed on a bad day."""
    try:
        return await read()
    except ApiUnavailable as error:
        if not error.status:  # no answer came: the call has waited long enough
            raise
        await asyncio.sleep(min(error.retry_after or _SECOND_TRY_SECONDS, _LONGEST_WAIT_SECONDS))
    return await read()


def _name(document: Document) -> str:
    return str(document["metadata"]["name"])


def _namespace(document: Document) -> str | None:
    namespace = document["metadata"].get("namespace")
    return None if namespace is None else str(namespace)


def _key(kind: Kind, document: Document) -> ObjectKey:
    return ObjectKey(kind, _namespace(document) or "", _name(document))


def _by_prefix(kinds: Iterable[Kind]) -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {}
    for kind in kinds:
        found.setdefault(kind.prefix, []).append(kind)
    return found


def _identity(document: Document) -> Document:
    """Return the identity of this version of the object: a write with it fails if the object has changed."""
    metadata = document["metadata"]
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "metadata": {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata},
    }
