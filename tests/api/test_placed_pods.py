"""The API server accepts Jobs and executors with everything that a class can give a pod, in a restricted namespace."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client
from tests.jobs.test_placement import BOTH, driver, executor, manifest

pytestmark = pytest.mark.cluster

Document = dict[str, Any]

ACCOUNT = "tried"
"""A controller makes the account `default`, at some time."""


@pytest.fixture(scope="module")
def namespace(api_server: client.ApiClient) -> Iterator[str]:
    """A namespace that enforces the restricted Pod Security Standard, with the classes that the template names."""
    core, mark = client.CoreV1Api(api_server), f"placed-{uuid.uuid4().hex[:6]}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=mark, labels=labels)))
    core.create_namespaced_service_account(mark, client.V1ServiceAccount(metadata=client.V1ObjectMeta(name=ACCOUNT)))
    named: Document = {"metadata": {"name": "batch"}, "value": 1000}
    client.SchedulingV1Api(api_server).create_priority_class(named)
    runtime = {"metadata": {"name": "gvisor"}, "handler": "runsc"}
    client.NodeV1Api(api_server).create_runtime_class(runtime)
    yield mark
    client.SchedulingV1Api(api_server).delete_priority_class("batch")
    client.NodeV1Api(api_server).delete_runtime_class("gvisor")
    core.delete_namespace(mark)


def pod_of(metadata: Document, spec: Document) -> Document:
    kept = {key: metadata[key] for key in ("labels", "annotations")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**kept, "generateName": "tried-"},
        "spec": {**spec, "serviceAccountName": ACCOUNT},
    }


def create_pod(api_server: client.ApiClient, namespace: str, pod: Document) -> None:
    """Create a pod that is thrown away, with unknown fields refused; raise ApiException where it is refused."""
    options = {"dry_run": "All", "field_validation": "Strict"}
    client.CoreV1Api(api_server).create_namespaced_pod(namespace, pod, **options)


@pytest.mark.parametrize("mode", ["Local", "Cluster"])
def test_job_and_driver_with_every_field_are_accepted(mode: str, api_server: client.ApiClient, namespace: str) -> None:
    job = manifest(mode, podTemplate=BOTH, job={"queueName": "lake"})
    job["metadata"]["namespace"] = namespace
    options = {"dry_run": "All", "field_validation": "Strict"}
    client.BatchV1Api(api_server).create_namespaced_job(namespace, job, **options)
    create_pod(api_server, namespace, pod_of(driver(job)["metadata"], driver(job)["spec"]))


def test_executor_with_every_field_is_accepted(api_server: client.ApiClient, namespace: str) -> None:
    template = executor(manifest(podTemplate=BOTH))
    template["spec"]["containers"][0]["image"] = "spark"
    create_pod(api_server, namespace, pod_of(template["metadata"], template["spec"]))


def test_pod_with_a_volume_of_the_node_is_refused_in_the_same_namespace(
    api_server: client.ApiClient, namespace: str
) -> None:
    template = executor(manifest(podTemplate=BOTH))
    template["spec"]["containers"][0]["image"] = "spark"
    template["spec"]["volumes"].append({"name": "node", "hostPath": {"path": "/"}})
    with pytest.raises(client.ApiException, match="violates PodSecurity"):
        create_pod(api_server, namespace, pod_of(template["metadata"], template["spec"]))
