"""What the API server lets the operator do with the rights that the chart gives it: what it needs, and no more."""

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config

pytestmark = pytest.mark.cluster

OURS = "hudi-operator.io"
NEEDED: dict[str, tuple[str, str, str]] = {
    **{f"{verb} tables": (OURS, "huditables", verb) for verb in ("get", "list", "watch", "patch")},
    "replace the status of a table": (OURS, "huditables/status", "update"),
    "set finalizers of a table": (OURS, "huditables/finalizers", "update"),
    **{
        f"{verb} savepoints": (OURS, "hudisavepoints", verb)
        for verb in ("get", "list", "watch", "patch", "create", "delete")
    },
    "replace the status of a savepoint": (OURS, "hudisavepoints/status", "update"),
    **{
        f"{verb} operations": (OURS, "hudioperations", verb)
        for verb in ("get", "list", "watch", "patch", "create", "delete")
    },
    "replace the status of an operation": (OURS, "hudioperations/status", "update"),
    "set finalizers of an operation": (OURS, "hudioperations/finalizers", "update"),
    "set finalizers of a savepoint": (OURS, "hudisavepoints/finalizers", "update"),
    **{f"{verb} jobs": ("batch", "jobs", verb) for verb in ("get", "list", "watch", "create", "delete")},
    **{f"{verb} pods": ("", "pods", verb) for verb in ("get", "list", "watch", "delete")},
    **{f"{verb} events": ("", "events", verb) for verb in ("create", "get", "list")},
    "read labels and annotations of a namespace": ("", "namespaces", "get"),
}
NEEDED_IN_THE_CLUSTER = {
    **{f"{verb} classes": (OURS, "huditableclasses", verb) for verb in ("get", "list", "watch")},
    "replace the status of a class": (OURS, "huditableclasses/status", "update"),
}
NEEDED_AT_HOME = {
    f"{verb} claims": ("coordination.k8s.io", "leases", verb) for verb in ("get", "list", "create", "update", "delete")
}
NEVER: dict[str, tuple[str, str, str]] = {
    **{f"{verb} secrets": ("", "secrets", verb) for verb in ("get", "list", "watch")},
    "create pods": ("", "pods", "create"),
    "read logs of pods": ("", "pods/log", "get"),
    "run commands in pods": ("", "pods/exec", "create"),
    "create tables": (OURS, "huditables", "create"),
    "delete tables": (OURS, "huditables", "delete"),
    "approve operations": (OURS, "hudioperations", "approve"),
    "change classes": (OURS, "huditableclasses", "update"),
    "change roles": ("rbac.authorization.k8s.io", "roles", "update"),
    "act as others": ("", "serviceaccounts", "impersonate"),
    **{f"{verb} namespaces": ("", "namespaces", verb) for verb in ("list", "watch", "update", "patch", "delete")},
    "write claims elsewhere": ("coordination.k8s.io", "leases", "create"),
}


@pytest.fixture(scope="module")
def api_server(cluster: None) -> client.ApiClient:  # noqa: ARG001 - wanted for what it does
    found: client.ApiClient = config.new_client_from_config(os.environ["KUBECONFIG"])
    return found


@pytest.fixture(scope="module")
def installed(api_server: client.ApiClient, helm: Any, chart: Any) -> Iterator[tuple[client.ApiClient, str, str]]:
    """The chart, without a pod of the operator, in its own namespace that is also its only tenant."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    core = client.CoreV1Api(api_server)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    place = f"--namespace={name}"
    # A node that does not exist: the rights are wanted here, and a second operator in the cluster is not.
    nowhere = f"--set=nodeSelector.nowhere={name}"
    result = helm("install", name, str(chart), place, "--skip-crds", nowhere, f"--set=tenants={{{name}}}")
    try:
        assert result.returncode == 0, result.stderr
        yield api_server, name, f"{name}-hudi-operator"
    finally:
        helm("uninstall", name, place)
        core.delete_namespace(name)


@pytest.mark.parametrize("right", NEEDED.values(), ids=NEEDED)
def test_the_operator_may_in_every_namespace(right: tuple[str, str, str], installed: Any) -> None:
    assert may(installed, right, namespace="default")


@pytest.mark.parametrize("right", NEEDED_IN_THE_CLUSTER.values(), ids=NEEDED_IN_THE_CLUSTER)
def test_the_operator_may_in_the_cluster(right: tuple[str, str, str], installed: Any) -> None:
    assert may(installed, right, namespace=None)


@pytest.mark.parametrize("right", NEEDED_AT_HOME.values(), ids=NEEDED_AT_HOME)
def test_the_operator_may_in_its_own_namespace(right: tuple[str, str, str], installed: Any) -> None:
    assert may(installed, right, namespace=installed[1])


@pytest.mark.parametrize("right", NEVER.values(), ids=NEVER)
def test_the_operator_may_not(right: tuple[str, str, str], installed: Any) -> None:
    assert not may(installed, right, namespace="default")


def test_the_operator_may_read_what_tells_its_cluster_from_others(installed: Any) -> None:
    assert may(installed, ("", "namespaces", "get"), namespace=None, name="kube-system")


def test_a_driver_manages_pods_in_its_namespace_only(installed: Any) -> None:
    for verb in ("get", "list", "watch", "create", "delete", "deletecollection", "patch"):
        assert may(installed, ("", "pods", verb), namespace=installed[1], account="hudi-driver"), verb
        assert not may(installed, ("", "pods", verb), namespace="default", account="hudi-driver"), verb
    assert not may(installed, ("", "secrets", "get"), namespace=installed[1], account="hudi-driver")


def test_an_executor_may_nothing(installed: Any) -> None:
    for verb in ("get", "list", "create", "delete"):
        assert not may(installed, ("", "pods", verb), namespace=installed[1], account="hudi-executor"), verb


def test_operator_that_keeps_logs_of_failed_runs_may_get_them_and_do_no_more(
    installed: Any, helm: Any, chart: Any
) -> None:
    name = installed[1]
    switched_on = ("--reuse-values", "--set=failedRunLogs.enabled=true")
    result = helm("upgrade", name, str(chart), f"--namespace={name}", "--skip-crds", *switched_on)
    assert result.returncode == 0, result.stderr
    assert may(installed, ("", "pods/log", "get"), namespace="default")
    assert not may(installed, ("", "pods/exec", "create"), namespace="default")
    assert not may(installed, ("", "pods", "create"), namespace="default")


def may(
    installed: Any,
    right: tuple[str, str, str],
    *,
    namespace: str | None,
    account: str | None = None,
    name: str = "",
) -> bool:
    """Ask the API server whether an account of the release, by default the operator's, has a right."""
    connection, home, operator = installed
    group, resource, verb = right
    resource, _, subresource = resource.partition("/")
    attributes = client.V1ResourceAttributes(
        group=group, resource=resource, subresource=subresource, verb=verb, name=name, namespace=namespace or None
    )
    user = f"system:serviceaccount:{home}:{account or operator}"
    spec = client.V1SubjectAccessReviewSpec(user=user, resource_attributes=attributes)
    review = client.V1SubjectAccessReview(spec=spec)
    answer = client.AuthorizationV1Api(connection).create_subject_access_review(review)
    return answer.status is not None and bool(answer.status.allowed)
