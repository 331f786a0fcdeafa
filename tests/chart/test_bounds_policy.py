"""The policy that bounds what the operator does with its rights, on a real API server."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils
from tests.chart.conftest import KUBERNETES_VERSION

from hudi_jobs.contract import Service
from hudi_operator.jobs.names import job_labels

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
LABELS = job_labels(table="flights", table_uid="uid", service=Service.INGESTION)
POD: Document = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}


@pytest.fixture(scope="module")
def admin(cluster: None) -> client.ApiClient:  # noqa: ARG001 - the cluster is wanted
    found: client.ApiClient = config.new_client_from_config(os.environ["KUBECONFIG"])
    return found


@pytest.fixture(scope="module")
def operator(admin: client.ApiClient, helm: Any, chart: Any) -> Iterator[client.ApiClient]:
    """Requests of the operator's account, under the policy and with the rights of a cluster administrator."""
    mark = f"test-{uuid.uuid4().hex[:8]}"
    only = "--show-only=templates/boundspolicy.yaml"
    rendered = helm("template", mark, str(chart), only, "--namespace=default", f"--kube-version={KUBERNETES_VERSION}")
    assert rendered.returncode == 0, rendered.stderr
    documents = [one for one in yaml.safe_load_all(rendered.stdout) if one]
    for document in documents:
        utils.create_from_dict(admin, document)
    connection = client.ApiClient(admin.configuration)
    connection.set_default_header("Impersonate-User", f"system:serviceaccount:default:{mark}-hudi-operator")
    connection.set_default_header("Impersonate-Group", "system:masters")
    try:
        end = time.monotonic() + 30
        while not refusal(lambda: create_job(connection, "kube-system")):
            assert time.monotonic() < end, "the policy does not hold"
            time.sleep(0.1)
        yield connection
    finally:
        admission = client.AdmissionregistrationV1Api(admin)
        admission.delete_validating_admission_policy_binding(documents[0]["metadata"]["name"])
        admission.delete_validating_admission_policy(documents[0]["metadata"]["name"])


def refusal(request: Callable[[], object]) -> str:
    """Return the words with which a request is refused, or "" where it is accepted."""
    try:
        request()
    except client.ApiException as error:
        if error.status not in {403, 422}:
            raise
        return str(error.body)
    return ""


def create_job(connection: client.ApiClient, namespace: str) -> object:
    body = {"metadata": {"generateName": "run-"}, "spec": {"template": {"spec": POD}}}
    return client.BatchV1Api(connection).create_namespaced_job(namespace, body, dry_run="All")


def make_pod(admin: client.ApiClient, namespace: str, labels: dict[str, str]) -> str:
    body = {
        "metadata": {"generateName": "pod-", "labels": labels},
        "spec": {**POD, "automountServiceAccountToken": False},
    }
    return str(client.CoreV1Api(admin).create_namespaced_pod(namespace, body).metadata.name)


@pytest.fixture(params=["default", "kube-system"])
def namespace(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    "labels", [LABELS, {}, {"app.kubernetes.io/name": "coredns"}], ids=["of a table", "none", "other"]
)
def test_operator_deletes_pods_of_tables_alone(
    labels: dict[str, str], namespace: str, admin: client.ApiClient, operator: client.ApiClient
) -> None:
    pod = make_pod(admin, namespace, labels)
    pods = client.CoreV1Api(operator)
    try:
        said = refusal(lambda: pods.delete_namespaced_pod(pod, namespace, dry_run="All"))
    finally:
        client.CoreV1Api(admin).delete_namespaced_pod(pod, namespace, grace_period_seconds=0)
    if namespace == "kube-system":
        assert "deletes nothing in the namespace kube-system" in said
    else:
        assert said == "" if labels == LABELS else f"which {pod} lacks" in said


def test_operator_starts_jobs_outside_of_the_namespaces_of_kubernetes(operator: client.ApiClient) -> None:
    assert refusal(lambda: create_job(operator, "default")) == ""
    for namespace in ("kube-system", "kube-public", "kube-node-lease"):
        assert f"starts and deletes nothing in the namespace {namespace}" in refusal(
            lambda place=namespace: create_job(operator, place)  # type: ignore[misc]
        )


def test_policy_bounds_nobody_else(admin: client.ApiClient) -> None:
    pod = make_pod(admin, "default", {})
    assert refusal(lambda: client.CoreV1Api(admin).delete_namespaced_pod(pod, "default")) == ""
