"""The policy of the chart on a real API server: a class is only for the namespaces that it allows."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils
from tests.planning.policy.namespace_cases import CASES, LABELS

from hudi_operator.api.values.base import GROUP, VERSION

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
KUBERNETES_VERSION = "1.34.0"


@dataclass
class World:
    """Namespaces with labels, classes and the policy; names carry a mark: several worlds fit into one cluster."""

    connection: client.ApiClient
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:6])

    def name(self, plain: str) -> str:
        return f"{plain}-{self.mark}"

    def make_class(self, name: str, allowed: Document | None, *, default: bool = False) -> None:
        document = dict(allowed or {})
        if "names" in document:
            document["names"] = [self.name(one) for one in document["names"]]
        metadata: Document = {"name": self.name(name)}
        if default:
            metadata["annotations"] = {"hudi-operator.io/is-default-class": "true"}
        spec: Document = {"allowedBasePaths": ["s3a://lake/{namespace}"]}
        body = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "HudiTableClass",
            "metadata": metadata,
            "spec": {**spec, **({"allowedNamespaces": document} if allowed is not None else {})},
        }
        self.objects.create_cluster_custom_object(GROUP, VERSION, "huditableclasses", body)

    def drop_class(self, name: str) -> None:
        self.objects.delete_cluster_custom_object(GROUP, VERSION, "huditableclasses", self.name(name))

    @property
    def objects(self) -> client.CustomObjectsApi:
        return client.CustomObjectsApi(self.connection)

    def refusal(self, namespace: str, class_name: str | None) -> str:
        """Return the words with which a new table is refused, or "" where it is accepted."""
        body = table("tried", self.name(class_name) if class_name else None)
        place = (GROUP, VERSION, self.name(namespace), "huditables")
        try:
            self.objects.create_namespaced_custom_object(*place, body, dry_run="All")
        except client.ApiException as error:
            if error.status not in {403, 422}:
                raise
            return str(error.body)
        return ""

    def eventually(self, namespace: str, class_name: str | None, *, refused: bool) -> None:
        """Wait until the policy has seen what the API server holds."""
        end = time.monotonic() + 30
        while bool(self.refusal(namespace, class_name)) is not refused:
            assert time.monotonic() < end, f"{class_name} for {namespace}: {self.refusal(namespace, class_name)!r}"
            time.sleep(0.1)


def table(name: str, class_name: str | None) -> Document:
    spec: Document = {"basePath": "s3a://lake/team/flights", "type": "MergeOnRead", "recordKey": ["id"]}
    if class_name:
        spec["tableClassName"] = class_name
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "HudiTable", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def world(cluster: None, helm: Any, chart: Any) -> Iterator[World]:  # noqa: ARG001 - the cluster is wanted
    connection = config.new_client_from_config(os.environ["KUBECONFIG"])
    world = World(connection)
    only = "--show-only=templates/admissionpolicy.yaml"
    rendered = helm("template", world.mark, str(chart), only, f"--kube-version={KUBERNETES_VERSION}")
    assert rendered.returncode == 0, rendered.stderr
    policy = [document for document in yaml.safe_load_all(rendered.stdout) if document]
    core, admission = client.CoreV1Api(connection), client.AdmissionregistrationV1Api(connection)
    for namespace, labels in LABELS.items():
        core.create_namespace(
            client.V1Namespace(metadata=client.V1ObjectMeta(name=world.name(namespace), labels=labels))
        )
    for number, (allowed, _) in enumerate(CASES.values()):
        world.make_class(f"case-{number}", allowed)
    for document in policy:
        utils.create_from_dict(connection, document)
    world.make_class("nobody", {"names": ["nobody"]})
    try:
        world.eventually("team-a", "nobody", refused=True)
        yield world
    finally:
        name = policy[0]["metadata"]["name"]
        admission.delete_validating_admission_policy_binding(name)
        admission.delete_validating_admission_policy(name)
        for number in range(len(CASES)):
            world.drop_class(f"case-{number}")
        world.drop_class("nobody")
        for namespace in LABELS:
            core.delete_namespace(world.name(namespace))


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=CASES)
def test_exactly_the_namespaces_that_the_operator_lets_in_are_let_in(number: int, case: str, world: World) -> None:
    _, expected = CASES[case]
    refusals = {namespace: world.refusal(namespace, f"case-{number}") for namespace in LABELS}
    assert {namespace for namespace, words in refusals.items() if not words} == expected
    for namespace, words in refusals.items():
        told = (
            f"HudiTableClass {world.name(f'case-{number}')} does not allow tables of namespace {world.name(namespace)}"
        )
        assert not words or told in words


def test_a_class_that_does_not_exist_is_left_to_the_operator(world: World) -> None:
    assert world.refusal("team-a", "missing") == ""


def test_a_table_without_a_class_is_checked_by_the_default_class(world: World) -> None:
    assert world.refusal("team-a", None) == ""
    world.make_class("default", {"names": ["team-b"]}, default=True)
    try:
        world.eventually("team-a", None, refused=True)
        assert world.refusal("team-b", None) == ""
    finally:
        world.drop_class("default")


def test_the_class_of_a_table_cannot_be_changed_to_one_for_others_but_all_else_can(world: World) -> None:
    place = (GROUP, VERSION, world.name("team-c"), "huditables")
    world.make_class("given", {"names": ["team-c"]})
    world.eventually("team-c", "given", refused=False)
    world.objects.create_namespaced_custom_object(*place, table("kept", world.name("given")))
    try:
        change = {"spec": {"tableClassName": world.name("nobody")}}
        with pytest.raises(client.ApiException, match="does not allow tables of namespace"):
            world.objects.patch_namespaced_custom_object(*place, "kept", change)
        patch = {"spec": {"allowedNamespaces": {"names": [world.name("team-a")]}}}
        world.objects.patch_cluster_custom_object(GROUP, VERSION, "huditableclasses", world.name("given"), patch)
        world.eventually("team-c", "given", refused=True)
        finalizers = {"metadata": {"finalizers": ["example.com/x"]}, "spec": {"suspend": True}}
        world.objects.patch_namespaced_custom_object(*place, "kept", finalizers)
        world.objects.delete_namespaced_custom_object(*place, "kept")
        world.objects.patch_namespaced_custom_object(*place, "kept", {"metadata": {"finalizers": []}})
        with pytest.raises(client.ApiException, match="not found"):
            world.objects.get_namespaced_custom_object(*place, "kept")
    finally:
        world.drop_class("given")
