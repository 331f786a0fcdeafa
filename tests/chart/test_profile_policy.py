"""The policy of the chart on a real API server: a table chooses only a profile that its class offers."""

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

from hudi_operator.api.values.base import GROUP, VERSION

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
KUBERNETES_VERSION = "1.34.0"


@dataclass
class World:
    """A namespace, two classes and the policy; names carry a mark: several worlds fit into one cluster."""

    connection: client.ApiClient
    mark: str = field(default_factory=lambda: f"profiles-{uuid.uuid4().hex[:6]}")

    @property
    def objects(self) -> client.CustomObjectsApi:
        return client.CustomObjectsApi(self.connection)

    def make_class(self, name: str, *profiles: str) -> None:
        spec: Document = {"allowedBasePaths": ["s3a://lake"], "profiles": [{"name": one} for one in profiles]}
        body = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "HudiTableClass",
            "metadata": {"name": f"{name}-{self.mark}"},
            "spec": spec,
        }
        self.objects.create_cluster_custom_object(GROUP, VERSION, "huditableclasses", body)

    def table(self, class_name: str, profile: str | None, *, name: str = "tried") -> Document:
        spec: Document = {"basePath": "s3a://lake/flights", "type": "MergeOnRead", "recordKey": ["id"]}
        spec["tableClassName"] = f"{class_name}-{self.mark}"
        if profile:
            spec["execution"] = {"profile": profile}
        return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "HudiTable", "metadata": {"name": name}, "spec": spec}

    def refusal(self, class_name: str, profile: str | None) -> str:
        """Return the words with which a new table is refused, or "" where it is accepted."""
        place = (GROUP, VERSION, self.mark, "huditables")
        try:
            self.objects.create_namespaced_custom_object(*place, self.table(class_name, profile), dry_run="All")
        except client.ApiException as error:
            if error.status not in {403, 422}:
                raise
            return str(error.body)
        return ""


@pytest.fixture(scope="module")
def world(cluster: None, helm: Any, chart: Any) -> Iterator[World]:  # noqa: ARG001 - the cluster is wanted
    world = World(config.new_client_from_config(os.environ["KUBECONFIG"]))
    only = "--show-only=templates/profilepolicy.yaml"
    rendered = helm("template", world.mark, str(chart), only, f"--kube-version={KUBERNETES_VERSION}")
    assert rendered.returncode == 0, rendered.stderr
    policy = [document for document in yaml.safe_load_all(rendered.stdout) if document]
    core, admission = client.CoreV1Api(world.connection), client.AdmissionregistrationV1Api(world.connection)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=world.mark)))
    world.make_class("offers", "spot", "large")
    world.make_class("plain")
    for document in policy:
        utils.create_from_dict(world.connection, document)
    try:
        end = time.monotonic() + 30
        while not world.refusal("plain", "spot"):
            assert time.monotonic() < end, "the API server does not apply the policy"
            time.sleep(0.1)
        yield world
    finally:
        name = policy[0]["metadata"]["name"]
        admission.delete_validating_admission_policy_binding(name)
        admission.delete_validating_admission_policy(name)
        for one in ("offers", "plain"):
            world.objects.delete_cluster_custom_object(GROUP, VERSION, "huditableclasses", f"{one}-{world.mark}")
        core.delete_namespace(world.mark)


def test_table_chooses_each_profile_of_its_class(world: World) -> None:
    assert [world.refusal("offers", one) for one in ("spot", "large", None)] == ["", "", ""]


def test_table_without_a_profile_needs_no_offer(world: World) -> None:
    assert world.refusal("plain", None) == ""


def test_profile_that_the_class_does_not_offer_is_refused_with_those_on_offer(world: World) -> None:
    refusal = world.refusal("offers", "gpu")
    assert f"execution.profile gpu is not a profile of HudiTableClass offers-{world.mark}" in refusal
    assert "which offers spot, large: choose another" in refusal
    assert "which offers none" in world.refusal("plain", "spot")


def test_profile_of_a_class_that_does_not_exist_is_left_to_the_operator(world: World) -> None:
    assert world.refusal("missing", "spot") == ""


def test_profile_of_a_table_cannot_be_changed_to_one_that_is_not_offered_but_all_else_can(world: World) -> None:
    place = (GROUP, VERSION, world.mark, "huditables")
    world.objects.create_namespaced_custom_object(*place, world.table("offers", "spot", name="kept"))

    def change(spec: Document) -> None:
        world.objects.patch_namespaced_custom_object(*place, "kept", {"spec": spec})

    for refused in ({"execution": {"profile": "gpu"}}, {"tableClassName": f"plain-{world.mark}"}):
        with pytest.raises(client.ApiException, match="is not a profile of HudiTableClass"):
            change(refused)
    change({"execution": {"profile": "large"}})
    offers = f"offers-{world.mark}"
    world.objects.patch_cluster_custom_object(GROUP, VERSION, "huditableclasses", offers, {"spec": {"profiles": []}})
    time.sleep(1)
    change({"suspend": True})
