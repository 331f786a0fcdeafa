"""`KubernetesClient`: every call that the operator makes to the Kubernetes API.

All calls have a timeout, take and return plain documents, and raise `KubernetesError` and nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Self, TypeVar

from hudi_operator.api.base import GROUP
from hudi_operator.kube.errors import AlreadyExists, ApiUnavailable, KubernetesError, NotFound
from hudi_operator.kube.events import EventType, event_manifest, log_lost_event
from hudi_operator.kube.paths import GROUPS_PATH, Kind, collection_path, group_path, object_path
from hudi_operator.kube.transport import (
    DEFAULT_TIMEOUT,
    MERGE_PATCH,
    Document,
    Transport,
    load_configuration,
)

T = TypeVar("T")

_SECOND_TRY_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 1.0


class KubernetesClient:
    """Tables, classes, Jobs, pods, claims and events in the Kubernetes API.

    `operator_namespace` is where the claims are kept. Reads of one object return None where it does not exist.
    `guard` is called before every write but those of the election itself, and raises `WriteRefused` in a process that
    may not write.
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
        """Return a client for the cluster that the environment names; nothing is sent yet."""
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

    # Tables and classes

    async def get_table(self, namespace: str, name: str) -> Document | None:
        """Return a table as the API server holds it now."""
        return await self._get(object_path(Kind.TABLE, name, namespace))

    def each_table(self, namespace: str | None = None) -> AsyncIterator[Document]:
        """Yield the tables of a namespace or of the cluster, page by page; some may come twice."""
        return self._transport.list_items(collection_path(Kind.TABLE, namespace))

    async def list_tables(self, namespace: str | None = None) -> list[Document]:
        """Return the tables of a namespace or of the cluster; `each_table` holds less in memory."""
        return await self._list(Kind.TABLE, namespace)

    async def replace_table_status(self, table: Document, status: Mapping[str, Any]) -> Document:
        """Replace the whole status of a table that was read before; return the table as it is then.

        Raises `Conflict` when the table was written to since it was read. Sends nothing when the status is the same.
        """
        if table.get("status") == status:
            return table
        path = object_path(Kind.TABLE, _name(table), _namespace(table), subresource="status")
        # A merge patch would keep the fields that the new status no longer has.
        body = {**_identity(table), "status": dict(status)}
        return await self._write("PUT", path, body)

    async def add_finalizer(self, table: Document, finalizer: str) -> Document:
        """Add a finalizer unless it is there; raises `Conflict` when the table was written to since it was read."""
        present = list(table["metadata"].get("finalizers") or ())
        return table if finalizer in present else await self._set_finalizers(table, [*present, finalizer])

    async def remove_finalizer(self, table: Document, finalizer: str) -> Document | None:
        """Remove a finalizer if it is there; return the table, or None when that let it go.

        Raises `Conflict` when the table was written to since it was read, so that nobody else's finalizer is lost.
        """
        present = list(table["metadata"].get("finalizers") or ())
        if finalizer not in present:
            return table
        try:
            return await self._set_finalizers(table, [other for other in present if other != finalizer])
        except NotFound:
            return None

    async def get_class(self, name: str) -> Document | None:
        """Return a table class as the API server holds it now."""
        return await self._get(object_path(Kind.TABLE_CLASS, name))

    async def replace_class_status(self, table_class: Document, status: Mapping[str, Any]) -> Document:
        """Replace the whole status of a class that was read before, as `replace_table_status` does for tables."""
        if table_class.get("status") == status:
            return table_class
        path = object_path(Kind.TABLE_CLASS, _name(table_class), subresource="status")
        return await self._write("PUT", path, {**_identity(table_class), "status": dict(status)})

    async def list_classes(self) -> list[Document]:
        """Return all table classes."""
        return await self._list(Kind.TABLE_CLASS)

    async def kinds_are_served(self) -> bool:
        """Return whether the API server has announced both kinds of the group, so that they can be watched."""
        group = await self._get(group_path())
        served = {resource.get("name") for resource in (group or {}).get("resources", ())}
        groups = await self._get(GROUPS_PATH)
        announced = {entry.get("name") for entry in (groups or {}).get("groups", ())}
        return {"huditables", "huditableclasses"} <= served and GROUP in announced

    async def cluster_uid(self) -> str | None:
        """Return what tells this cluster from all others: the uid of a namespace that is in each, made with it."""
        namespace = await self._get(object_path(Kind.NAMESPACE, "kube-system"))
        return None if namespace is None else str(namespace["metadata"]["uid"])

    async def namespace_labels(self, name: str) -> dict[str, str]:
        """Return the labels of a namespace; none where it does not exist."""
        namespace = await self._get(object_path(Kind.NAMESPACE, name)) or {"metadata": {}}
        return {str(key): str(value) for key, value in (namespace["metadata"].get("labels") or {}).items()}

    # Jobs and pods

    async def create_job(self, namespace: str, manifest: Mapping[str, Any]) -> Document:
        """Create a Job; raises `AlreadyExists` when one of this name exists, whoever made it."""
        return await self._write("POST", collection_path(Kind.JOB, namespace), dict(manifest))

    async def get_job(self, namespace: str, name: str) -> Document | None:
        """Return a Job as the API server holds it now."""
        return await self._get(object_path(Kind.JOB, name, namespace))

    async def list_jobs(self, label_selector: str, namespace: str | None = None) -> list[Document]:
        """Return the Jobs that a label selector names, in a namespace or in the cluster."""
        return await self._list(Kind.JOB, namespace, label_selector)

    def each_job(self, label_selector: str, namespace: str | None = None) -> AsyncIterator[Document]:
        """Yield the Jobs that a label selector names, page by page; some may come twice."""
        return self._transport.list_items(collection_path(Kind.JOB, namespace), label_selector=label_selector)

    async def delete_job(self, namespace: str, name: str, *, uid: str) -> bool:
        """Delete the Job with this uid and, in the background, its pods; False when it was gone already.

        Raises `Conflict` when the name now belongs to another Job.
        """
        return await self._delete(object_path(Kind.JOB, name, namespace), uid=uid)

    async def list_pods(self, namespace: str, label_selector: str) -> list[Document]:
        """Return the pods of a namespace that a label selector names."""
        return await self._list(Kind.POD, namespace, label_selector)

    async def delete_pod(self, namespace: str, name: str, *, uid: str) -> bool:
        """Tell the pod with this uid to end; False when it was gone already, `Conflict` when it is another one."""
        return await self._delete(object_path(Kind.POD, name, namespace), uid=uid)

    # Claims: one Lease per base path, in the operator's own namespace

    async def create_claim(
        self,
        name: str,
        *,
        holder: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """Create a claim; raises `AlreadyExists` when somebody holds it: read it to see who."""
        body: Document = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
            "spec": {"holderIdentity": holder},
        }
        return await self._write("POST", collection_path(Kind.LEASE, self._operator_namespace), body)

    async def get_claim(self, name: str) -> Document | None:
        """Return a claim as the API server holds it now."""
        return await self._get(object_path(Kind.LEASE, name, self._operator_namespace))

    async def list_claims(self, label_selector: str) -> list[Document]:
        """Return the claims that a label selector names."""
        return await self._list(Kind.LEASE, self._operator_namespace, label_selector)

    async def replace_claim(self, claim: Document) -> Document:
        """Write a claim back that was read and changed; raises `Conflict` when it was written to in between."""
        return await self._write("PUT", object_path(Kind.LEASE, _name(claim), self._operator_namespace), claim)

    async def delete_claim(self, name: str, *, uid: str) -> bool:
        """Delete the claim with this uid; False when it was gone already, `Conflict` when it is another one."""
        return await self._delete(object_path(Kind.LEASE, name, self._operator_namespace), uid=uid)

    # The Lease of the election, in the operator's own namespace; not guarded, since it is what the guard rests on

    async def get_lease(self, name: str) -> Document | None:
        """Return a Lease as the API server holds it now."""
        return await self._get(object_path(Kind.LEASE, name, self._operator_namespace))

    async def create_lease(self, name: str, spec: Document) -> Document:
        """Create a Lease; raises `AlreadyExists` when another process was faster."""
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        return await self._transport.request("POST", collection_path(Kind.LEASE, self._operator_namespace), body=body)

    async def replace_lease(self, lease: Document) -> Document:
        """Write a Lease back that was read and changed; raises `Conflict` when it was written to in between."""
        path = object_path(Kind.LEASE, _name(lease), self._operator_namespace)
        return await self._transport.request("PUT", path, body=lease)

    # Events

    async def create_event(
        self, about: Document, *, kind: EventType, reason: str, message: str, once: bool = False
    ) -> None:
        """Post an event about an object; an event that cannot be posted is logged, never raised.

        With `once` there is one event of this reason about this object, however often it is posted.
        """
        event = event_manifest(about, kind=kind, reason=reason, message=message, instance=self._instance, once=once)
        path = collection_path(Kind.EVENT, event["metadata"]["namespace"])
        try:
            await self._write("POST", path, event)
        except AlreadyExists:
            return
        except KubernetesError as error:
            log_lost_event(event, error)

    async def namespace_is_terminating(self, about: Document) -> bool:
        """Return whether the namespace of an object is being deleted, so that nothing can be created there any more.

        It is asked by an event that is only tried, because namespaces cannot be read with rights for one namespace.
        """
        event = event_manifest(about, kind=EventType.NORMAL, reason="Tried", message="", instance=self._instance)
        path = collection_path(Kind.EVENT, event["metadata"]["namespace"])
        try:
            await self._transport.request("POST", path, query={"dryRun": "All"}, body=event)
        except KubernetesError as error:  # a webhook may refuse what is only tried
            return isinstance(error, NotFound) or "being terminated" in str(error)
        return False

    # What the calls above have in common

    async def _write(
        self, method: str, path: str, body: Document, *, content_type: str = "application/json"
    ) -> Document:
        self.guard()
        return await self._transport.request(method, path, body=body, content_type=content_type)

    async def _get(self, path: str) -> Document | None:
        try:
            return await _read(lambda: self._transport.request("GET", path))
        except NotFound:
            return None

    async def _list(
        self, kind: Kind, namespace: str | None = None, label_selector: str | None = None
    ) -> list[Document]:
        path = collection_path(kind, namespace)

        async def read() -> list[Document]:
            found = {
                (_namespace(item), _name(item)): item
                async for item in self._transport.list_items(path, label_selector=label_selector)
            }
            return list(found.values())

        return await _read(read)

    async def _delete(self, path: str, *, uid: str) -> bool:
        # The default for Jobs of batch/v1 is to orphan their pods.
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        }
        try:
            await self._write("DELETE", path, options)
        except NotFound:
            return False
        return True

    async def _set_finalizers(self, table: Document, finalizers: list[str]) -> Document:
        # The resourceVersion makes the replacement of the whole list atomic.
        body = {"metadata": {**_identity(table)["metadata"], "finalizers": finalizers}}
        path = object_path(Kind.TABLE, _name(table), _namespace(table))
        return await self._write("PATCH", path, body, content_type=MERGE_PATCH)


async def _read(read: Callable[[], Awaitable[T]]) -> T:
    """Read once more where the API server refuses: a look of many calls would else seldom succeed on a bad day."""
    try:
        return await read()
    except ApiUnavailable as error:
        if not error.status:  # it was waited for long enough
            raise
        await asyncio.sleep(min(error.retry_after or _SECOND_TRY_SECONDS, _LONGEST_WAIT_SECONDS))
    return await read()


def _name(document: Document) -> str:
    return str(document["metadata"]["name"])


def _namespace(document: Document) -> str | None:
    namespace = document["metadata"].get("namespace")
    return None if namespace is None else str(namespace)


def _identity(document: Document) -> Document:
    """Return what names this very version of the object: a write with it fails when the object has moved on."""
    metadata = document["metadata"]
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "metadata": {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata},
    }
