"""`PersonClient`: the calls of the command line, with a person's own credentials and rights."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Self

from hudi_operator.api.values.base import GROUP
from hudi_operator.kube.client import Documents, KubernetesClient
from hudi_operator.kube.errors import KubernetesError, NotServed, Rejected
from hudi_operator.kube.objects import EVENT, Kind, ObjectKey, collection_path, field, log_path, object_path, text
from hudi_operator.kube.transport import MERGE_PATCH, Document, Transport, items_of, load_context

FIELD_MANAGER = "hudi-cli"
"""Who wrote a field. Flux drops the fields of managers whose name begins with `kubectl` from what it applies."""

APPLY_PATCH = "application/apply-patch+yaml"

_MAY = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class PersonClient:
    """Access to objects with the rights of whoever runs the command; `namespace` is that of the context."""

    def __init__(self, transport: Transport, *, namespace: str) -> None:
        self._transport = transport
        self.namespace = namespace
        self._objects = KubernetesClient(transport, operator_namespace="")

    @classmethod
    async def connect(cls, *, kubeconfig: str | None, context: str | None, timeout_seconds: float) -> Self:
        """Return a client for the chosen cluster; sends no request yet."""
        configuration, namespace = await load_context(kubeconfig=kubeconfig, context=context)
        try:
            transport = Transport(configuration, timeout_seconds=timeout_seconds)
        except OSError as error:  # OpenSSL's refusal of a certificate is one
            raise Rejected(f"the certificates of the kubeconfig cannot be used: {error}") from error
        return cls(transport, namespace=namespace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    async def get(self, key: ObjectKey) -> Document | None:
        """Return an object, or None; raises `NotServed` where the cluster has no definition of its kind."""
        found = await self._objects.get(key)
        if found is None and key.kind.group == GROUP and not await self._objects.are_served((key.kind,)):
            raise NotServed(f"GET {object_path(key)}: the API server does not serve this kind")
        return found

    async def list(self, kind: Kind, namespace: str | None, *, label_selector: str | None = None) -> Documents:
        """Return the objects of a namespace or (None) of the cluster."""
        return await self._objects.list(kind, namespace, label_selector=label_selector)

    async def create(
        self, kind: Kind, namespace: str | None, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Document:
        """Create an object, with unknown fields refused; a dry run only has the API server check it.

        The namespace of an object of the cluster is None.
        """
        path = collection_path(kind, namespace)
        return await self._transport.request("POST", path, query=_query(dry_run=dry_run), body=dict(manifest))

    async def annotate(
        self, key: ObjectKey, annotations: Mapping[str, str | None], *, dry_run: bool = False
    ) -> Document:
        """Set annotations of an object, or remove those that are None; raises `NotFound`."""
        return await self.patch(key, {"metadata": {"annotations": dict(annotations)}}, dry_run=dry_run)

    async def patch(self, key: ObjectKey, change: Mapping[str, Any], *, dry_run: bool = False) -> Document:
        """Merge a change into an object, with unknown fields refused; raises `NotFound`.

        Raises `Conflict` if the change names a `resourceVersion` that is no longer the object's.
        """
        return await self._transport.request(
            "PATCH", object_path(key), query=_query(dry_run=dry_run), body=dict(change), content_type=MERGE_PATCH
        )

    async def delete(self, key: ObjectKey, *, uid: str, version: str | None = None) -> bool:
        """Delete the object with this uid, in this version if one is given; False if it was already gone.

        Raises `Conflict` if the name belongs to another object, or the object has changed.
        """
        return await self._objects.delete(key, uid=uid, version=version)

    async def may(self, verb: str, kind: Kind, namespace: str) -> bool:
        """Tell whether this person may do something with the objects of a kind; an empty namespace means all."""
        attributes = {"verb": verb, "group": kind.group, "resource": kind.plural}
        if kind.namespaced and namespace:
            attributes["namespace"] = namespace
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        review = await self._transport.request("POST", _MAY, body=body)
        return field(review, "status", "allowed") is True

    async def apply_dry_run(self, key: ObjectKey, manifest: Mapping[str, Any]) -> Document:
        """Return what an object would be after an apply, by all rules of the API server; nothing is changed."""
        query = _query(dry_run=True) | {"force": "true"}
        body = {**manifest, "metadata": {"name": key.name, **(manifest.get("metadata") or {})}}
        return await self._transport.request(
            "PATCH", object_path(key), query=query, body=body, content_type=APPLY_PATCH
        )

    async def events_about(self, key: ObjectKey, *, limit: int) -> Documents:
        """Return the Events about an object that the API server lists first, at most `limit`."""
        about = f"involvedObject.kind={key.kind.name},involvedObject.name={key.name}"
        query = {"fieldSelector": about, "limit": str(limit)}
        page = await self._transport.request("GET", collection_path(EVENT, key.namespace or "default"), query=query)
        return list(items_of(page))

    def log(self, pod: str, container: str, *, follow: bool, tail: int | None) -> AsyncGenerator[bytes, None]:
        """Yield the log of a container of the namespace: its last `tail` lines or all, and with `follow` what comes."""
        query = {"container": container, "follow": str(follow).lower()}
        if tail is not None:
            query["tailLines"] = str(tail)
        return self._transport.stream(log_path(self.namespace, pod), query=query)

    async def server_version(self) -> str:
        """Return the version of the API server, such as `v1.34.4`; empty where the server does not say."""
        try:
            return text(await self._transport.request("GET", "/version"), "gitVersion") or ""
        except KubernetesError:
            return ""

    async def who_am_i(self) -> str | None:
        """Return the person's name as the API server knows it; None where the server does not say."""
        try:
            review = await self._transport.request(
                "POST", _WHO, body={"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            )
        except KubernetesError:
            return None
        return text(review, "status", "userInfo", "username")


def _query(*, dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
    return query | {"dryRun": "All"} if dry_run else query
