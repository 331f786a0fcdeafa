"""Pods run where the class puts them, and a tenant chooses only what the class offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.stage import Stage, Table, Tenant

from toolkit.cluster import CommandFailed

pytestmark = pytest.mark.e2e

PRIORITY = "e2e-lake"
POD = {"cpu": "200m", "memory": "1536Mi"}
TAINT = "e2e-placement=spark:NoSchedule"
TEMPLATE: dict[str, Any] = {
    "tolerations": [{"key": "e2e-placement", "value": "spark", "effect": "NoSchedule"}],
    "priorityClassName": PRIORITY,
    "labels": {"e2e-team": "placed"},
    "volumes": [
        {"name": "spill", "emptyDir": {"sizeLimit": "1Gi"}, "sparkLocalDir": True},
        {"name": "notes", "configMap": {"name": "notes"}},
    ],
}


@pytest.fixture(scope="module")
def placed(stage: Stage) -> Iterator[Tenant]:
    """A tenant of a class whose pods tolerate the taint of every node of the cluster, while the nodes have it."""
    cluster = stage.cluster
    tenant = stage.tenant("placed")
    stage.make_service_accounts(tenant.name)
    cluster.apply(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": PRIORITY},
            "value": 1000,
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "notes", "namespace": tenant.name},
            "data": {"note": "of the platform team"},
        },
    )
    stage.make_class(
        "e2e-placed",
        podTemplate={"driver": TEMPLATE, "executor": TEMPLATE},
        profiles=[{"name": "tolerant"}, {"name": "timid", "podTemplate": {}}],
    )
    cluster.kubectl("taint", "nodes", "--all", TAINT, "--overwrite")
    try:
        yield tenant
    finally:
        cluster.kubectl("taint", "nodes", "--all", f"{TAINT}-")
        cluster.kubectl("delete", "priorityclass", PRIORITY, "--ignore-not-found")


def assert_placed(pod: dict[str, Any]) -> None:
    """The pod runs on a node with the taint, with everything that the class gives it."""
    spec = pod["spec"]
    assert spec["nodeName"]
    assert spec["priorityClassName"] == PRIORITY
    assert pod["metadata"]["labels"]["e2e-team"] == "placed"
    assert {"configMap", "emptyDir"} <= {kind for volume in spec["volumes"] for kind in volume}
    (container,) = spec["containers"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/mnt/spill", "/mnt/notes"} <= mounts


def in_role(table: Table, role: str) -> list[dict[str, Any]]:
    """The pods of a table in this role that have a node."""
    pods = table.pods()
    return [
        pod
        for pod in pods
        if pod["metadata"]["labels"]["hudi-operator.io/role"] == role and pod["spec"].get("nodeName")
    ]


def test_driver_in_mode_local_runs_on_a_tainted_node(placed: Tenant) -> None:
    table = placed.filled("local", tableClassName="e2e-placed")

    (pod,) = in_role(table, "driver")
    assert_placed(pod)
    assert table.ids() == dict.fromkeys(range(10), 1)


def test_driver_and_executor_in_mode_cluster_run_on_a_tainted_node(placed: Tenant) -> None:
    execution = {"mode": "Cluster", "driver": POD, "executor": {"instances": 1, **POD}, "profile": "tolerant"}
    table = placed.table("in-cluster", tableClassName="e2e-placed", execution=execution)
    table.deliver(range(10))

    executors = placed.stage.eventually(
        lambda: in_role(table, "executor"), what="an executor has a node", explain=table.explain
    )
    assert_placed(executors[0])
    assert_placed(in_role(table, "driver")[0])
    table.wait_ready(runs=1)
    assert table.ids() == dict.fromkeys(range(10), 1)


def test_profile_without_the_toleration_says_what_its_pod_waits_for(placed: Tenant) -> None:
    table = placed.table("timid", tableClassName="e2e-placed", execution={"profile": "timid"})
    table.deliver(range(10))

    table.wait(lambda status: "untolerated taint" in str(status), what="the status names the taint")
    table.kubectl("delete", "ht", table.name, "--wait=false")


def test_profile_that_the_class_does_not_offer_is_refused_when_it_is_applied(placed: Tenant) -> None:
    with pytest.raises(CommandFailed, match="which offers tolerant, timid"):
        placed.table("greedy", tableClassName="e2e-placed", execution={"profile": "gpu"})


def test_pod_field_of_a_table_is_refused_when_it_is_applied(placed: Tenant) -> None:
    with pytest.raises(CommandFailed, match="not declared in schema"):
        placed.table("sly", tableClassName="e2e-placed", podTemplate={"driver": TEMPLATE})


def test_job_of_a_queue_waits_suspended_until_it_is_admitted(placed: Tenant) -> None:
    job = {"queueName": "lake"}
    placed.stage.make_class("e2e-queued", job=job, podTemplate={"driver": TEMPLATE})
    table = placed.table("queued", tableClassName="e2e-queued")
    table.deliver(range(10))

    table.wait(lambda status: "The queue lake holds the Job" in str(status), what="the status names the queue")
    (held,) = table.jobs()
    assert held["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lake"
    assert table.pods() == []

    table.kubectl("patch", "job", held["metadata"]["name"], "--type=merge", "-p", '{"spec": {"suspend": false}}')
    table.wait_ready(runs=1)
    assert table.ids() == dict.fromkeys(range(10), 1)
