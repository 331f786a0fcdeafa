"""The real API server as tests of the resources see it: what it accepts, and with which words it refuses."""

import copy
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from hudi_operator.api.crd.definitions import crd_document
from hudi_operator.api.crd.kinds import OPERATION, SAVEPOINT, TABLE, TABLE_CLASS, ResourceKind
from hudi_operator.api.values.base import GROUP, VERSION

Document = dict[str, Any]

SMALLEST_SPECS = {
    TABLE: {"basePath": "s3a://lake/team-a/flights", "type": "MergeOnRead", "recordKey": ["carrier", "flight"]},
    SAVEPOINT: {"tableRef": {"name": "flights"}, "latest": True, "keepForever": True},
    OPERATION: {"tableRef": {"name": "flights"}, "restore": {"instant": "20260310115900000"}},
    TABLE_CLASS: {"allowedBasePaths": ["s3a://lake/{namespace}"]},
}


class Resources:
    """Resources of one kind. Changes map dotted paths to values; None removes a field of an existing resource."""

    def __init__(self, connection: client.ApiClient, *, kind: ResourceKind, namespace: str | None) -> None:
        self._objects = client.CustomObjectsApi(connection)
        self._kind = kind
        self._namespace = namespace

    def smallest(self) -> Document:
        """Return the smallest document that is accepted."""
        metadata = {"name": f"test-{uuid.uuid4().hex[:8]}"}
        if self._namespace:
            metadata["namespace"] = self._namespace
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": self._kind.kind,
            "metadata": metadata,
            "spec": copy.deepcopy(SMALLEST_SPECS[self._kind]),
        }

    def create(self, document: Document, **options: Any) -> Document:
        """Create a resource, with unknown fields refused as kubectl has them refused."""
        place = {"namespace": self._namespace} if self._namespace else {}
        method: Any = (
            self._objects.create_namespaced_custom_object if place else self._objects.create_cluster_custom_object
        )
        created: Document = method(
            group=GROUP,
            version=VERSION,
            plural=self._kind.plural,
            body=document,
            field_validation="Strict",
            **place,
            **options,
        )
        return created

    def replace_status(self, document: Document, status: Document, *, accept: str = "application/json") -> Document:
        """Replace the status, whoever else has written to the object in the meantime; `accept` picks the answer."""
        patch = [{"op": "add", "path": "/status", "value": status}]
        return self._patch(f"{document['metadata']['name']}/status", patch, kind="json-patch", accept=accept)

    def _patch(
        self, place: str, patch: Any, *, kind: str, query: str = "", accept: str = "application/json"
    ) -> Document:
        connection = self._objects.api_client
        root = f"{connection.configuration.host}/apis/{GROUP}/{VERSION}/namespaces/{self._namespace}"
        url = f"{root}/{self._kind.plural}/{place}?fieldValidation=Strict{query}"
        headers = {"Accept": accept, "Content-Type": f"application/{kind}+json"}
        connection.update_params_for_auth(headers, [], ["BearerToken"], url, "PATCH", patch)
        response = connection.call_api("PATCH", url, header_params=headers, body=patch)
        body = response.read()
        if response.status >= 400:
            raise client.ApiException.from_response(http_resp=response, body=body.decode(), data=None)
        document: Document = json.loads(body)
        return document

    def refusal(self, changes: Document) -> str:
        """Return the words with which a new resource is refused, or "" where it is accepted."""
        document = changed(self.smallest(), changes)
        return words(lambda: self.create(document, dry_run="All"))

    def refusal_of_change(self, first: Document, then: Document) -> str:
        """Return the words with which a change of an existing resource is refused, or "" where it is accepted."""
        name = self.create(changed(self.smallest(), first))["metadata"]["name"]
        patch: Document = {}
        for path, value in then.items():
            *parents, last = path.split(".")
            place = patch
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = value
        return words(lambda: self._patch(name, patch, kind="merge-patch", query="&dryRun=All"))

    def refusal_of_status(self, status: Document) -> str:
        """Return the words with which a status is refused, or "" where it is accepted."""
        created = self.create(self.smallest())
        return words(lambda: self.replace_status(created, status))

    def refusal_of_document(self, document: Document) -> str:
        """Return the words with which a whole document is refused, or "" where it is accepted."""
        return words(lambda: self.create(document, dry_run="All"))


def changed(document: Document, changes: Document) -> Document:
    """Return a copy of a document with changes."""
    result = copy.deepcopy(document)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = result
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = copy.deepcopy(value)
    return result


def words(request: Callable[[], Any]) -> str:
    """Return the words with which a request is refused as invalid, or "" where it is accepted."""
    try:
        request()
    except client.ApiException as error:
        if error.status not in {400, 422}:
            raise
        return str(yaml.safe_load(error.body or "")["message"])
    return ""


@pytest.fixture(scope="session")
def api_server(cluster: None) -> client.ApiClient:  # noqa: ARG001 - wanted for what it does
    """The API server that KUBECONFIG names, with the committed definitions."""
    found: client.ApiClient = config.new_client_from_config(os.environ["KUBECONFIG"])
    return found


@pytest.fixture(scope="module")
def shared_namespace(api_server: client.ApiClient) -> Iterator[str]:
    """A namespace of its own for one test module."""
    core = client.CoreV1Api(api_server)
    name = f"test-{uuid.uuid4().hex[:8]}"
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    yield name
    core.delete_namespace(name)


@pytest.fixture
def tables(api_server: client.ApiClient, shared_namespace: str) -> Resources:
    return Resources(api_server, kind=TABLE, namespace=shared_namespace)


@pytest.fixture
def savepoints(api_server: client.ApiClient, shared_namespace: str) -> Resources:
    return Resources(api_server, kind=SAVEPOINT, namespace=shared_namespace)


@pytest.fixture
def operations(api_server: client.ApiClient, shared_namespace: str) -> Resources:
    return Resources(api_server, kind=OPERATION, namespace=shared_namespace)


@pytest.fixture
def resources_of(api_server: client.ApiClient, shared_namespace: str) -> dict[str, Resources]:
    """Returns the resources of each kind by its name."""
    places = {kind: shared_namespace if kind.namespaced else None for kind in SMALLEST_SPECS}
    return {kind.kind: Resources(api_server, kind=kind, namespace=place) for kind, place in places.items()}


@pytest.fixture
def classes(api_server: client.ApiClient) -> Resources:
    return Resources(api_server, kind=TABLE_CLASS, namespace=None)


@pytest.fixture
def checks_of() -> Callable[[ResourceKind], set[str]]:
    """Returns the messages of all CEL rules in a kind's schema, without the status and the words of patterns."""

    def collect(kind: ResourceKind) -> set[str]:
        schema = crd_document(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"].pop("status", None)
        return _messages(schema)

    return collect


def pattern_words(schema: Document) -> str | None:
    """Return the words of the rule that stands for a field's pattern, or None."""
    for rule in schema.get("x-kubernetes-validations", ())[:1]:
        if re.fullmatch(r"(self|string\(self\))[.]matches\(r'[^']*'\)", rule["rule"]):
            return str(rule["message"])
    return None


def _messages(schema: Document) -> set[str]:
    found = {rule["message"] for rule in schema.get("x-kubernetes-validations", ())} - {pattern_words(schema)}
    parts = [*schema.get("properties", {}).values()]
    parts += [schema[keyword] for keyword in ("items", "additionalProperties") if keyword in schema]
    return found.union(*map(_messages, parts))
