"""An upgrade of the chart while the operator of the release before has everything under way.

The release before is built from its commit, so this takes minutes more than the other end-to-end tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.operation import Operation
from tests.e2e.stage import WITHOUT_SERVICES, Document, Stage, Table

from toolkit.cluster import OPERATOR_NAMESPACE, ROOT, Cluster
from toolkit.store import Store

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

VALUES = {"operator": {"pollSeconds": 3, "maxPollSeconds": 10, "resyncSeconds": 60}}
POLICY: Document = {
    "jobQuota": {"runningJobs": 6},
    "retry": {"initialDelay": "30m", "maxDelay": "30m"},
}
TEN, TWENTY = range(10), range(10, 20)
RELEASE_BEFORE = "47821c5dd8e6c643810fbcf6f8f203708d646386"
"""The commit of the release before, 0.1.0; it moves with each release."""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The source tree of the release before, with its images in the cluster."""
    folder = tmp_path_factory.mktemp("before") / "source"
    subprocess.run(("git", "worktree", "add", "--detach", str(folder), RELEASE_BEFORE), cwd=ROOT, check=True)
    try:
        subprocess.run(("dev/images",), cwd=folder, check=True, timeout=1500)
        (folder / ".dev" / "kubeconfig").symlink_to(Cluster().kubeconfig)
        yield folder
    finally:
        subprocess.run(("git", "worktree", "remove", "--force", str(folder)), cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def stage(before: Path) -> Iterator[Stage]:
    """The cluster with the operator of the release before."""
    install = f"from toolkit.cluster import Cluster; Cluster().install_operator(values={VALUES!r})"
    environment = os.environ | {"PYTHONPATH": str(before / "dev")}
    subprocess.run((sys.executable, "-c", install), cwd=before, env=environment, check=True)
    cluster = Cluster()
    stage = Stage(cluster, Store(cluster.s3))
    stage.make_class(stage.class_name, **POLICY)
    try:
        yield stage
    finally:
        stage.clear()


def test_the_rollout_waits_until_all_kinds_of_the_release_are_served(before: Path, stage: Stage) -> None:
    """The definitions come late, one after the other: until the last the operator of the release before goes on."""
    late = sorted(known(ROOT) - known(before))
    if not late:
        pytest.skip("the release before knows every kind of this one")
    for definition in late:
        stage.cluster.kubectl("delete", "crd", f"{definition}.hudi-operator.io", "--ignore-not-found")
    leader = stage.operator_pod()["metadata"]["name"]
    stage.cluster.install_chart(values=VALUES)
    stage.eventually(lambda: waiting_pods(stage), what="a pod of the release runs and waits")
    for definition in late[:-1]:
        stage.cluster.kubectl(
            "apply", "--server-side", "-f", str(ROOT / "crds" / f"hudi-operator.io_{definition}.yaml")
        )
    time.sleep(15)
    assert waiting_pods(stage)
    assert stage.operator_pod()["metadata"]["name"] == leader
    tenant = stage.tenant("before")
    Table(stage, tenant.name, "served").deliver(TEN)
    tenant.table("served", **WITHOUT_SERVICES).wait_ready()

    # The next test begins with the release before.
    options = ("--namespace", OPERATOR_NAMESPACE, "--wait", "--timeout", "180s")
    stage.cluster.helm("rollback", "hudi-operator", *options)


def known(source: Path) -> set[str]:
    """The kinds that a source tree defines, by the names of their files."""
    return {path.stem.removeprefix("hudi-operator.io_") for path in (source / "crds").glob("*.yaml")}


def waiting_pods(stage: Stage) -> list[str]:
    """The operator's pods whose container runs and is not ready."""
    found = [
        (pod["metadata"]["name"], one)
        for pod in stage.cluster.items("pods", namespace=OPERATOR_NAMESPACE)
        if not pod["metadata"].get("deletionTimestamp")
        for one in pod.get("status", {}).get("containerStatuses", ())
    ]
    return [name for name, one in found if "running" in one["state"] and not one["ready"]]


def test_an_upgrade_loses_nothing_and_launches_nothing_twice(stage: Stage) -> None:
    tenant = stage.tenant("upgrade")
    for name in ("running", "doomed", "quiet", "pending"):
        Table(stage, tenant.name, name).deliver(TEN)
    stage.store.put(f"landing/{tenant.name}/failing/a.csv", b"id,value\nnot a number,v0\n")
    running = tenant.table("running", **WITHOUT_SERVICES)
    doomed = tenant.table("doomed", deletionPolicy="Delete", **WITHOUT_SERVICES)
    failing = tenant.table("failing", **WITHOUT_SERVICES)
    quiet = tenant.table("quiet", **WITHOUT_SERVICES)
    pending = tenant.table(
        "pending",
        type="MergeOnRead",
        ingestion={"operation": "Upsert"},
        compaction={"trigger": {"deltaCommits": 2}},
        **WITHOUT_SERVICES,
    )
    for table in (running, doomed, quiet, pending):
        table.wait_ready()
    failing.wait(lambda status: status["services"]["ingestion"]["failures"] == 1, what="one failed run")
    plan = leave_a_pending_compaction(pending)
    quiet_before = quiet.status()

    # What the operator of the new release finds under way.
    failing.deliver(TEN, name="a.csv")
    for table in (running, doomed):
        table.deliver(TWENTY)
        request(table)
    for table in (running, doomed):
        table.running_pod()
    names = {job["metadata"]["name"] for job in running.jobs()}
    doomed.kubectl("delete", "ht", doomed.name, "--wait=false")
    stage.cluster.install_operator(values=VALUES)

    running.wait_ready(runs=2)
    assert running.ids() == Counter(range(20))
    assert len(running.commits()) == 2
    assert {job["metadata"]["name"] for job in running.jobs()} == names
    assert outcomes(running) == ["Succeeded", "Succeeded"]
    assert [event for event in running.events() if event[0] == "Warning"] == []

    stage.eventually(lambda: doomed.document() == {}, what="the deleted table is gone", explain=doomed.explain)
    assert stage.store.files(f"{doomed.folder}/") == []

    # Another Spark image is a reason to try again, half an hour early.
    failing.wait_ready(runs=1)
    assert failing.ids() == Counter(TEN)
    assert outcomes(failing) == ["Failed", "Succeeded"]

    pending.patch({"spec": {"suspend": False}})
    pending.wait(
        lambda status: outcomes(pending)[-1] == "Succeeded" and not status["activeJobs"], what="the plan is executed"
    )
    assert plans(pending) == [plan]
    assert plan in pending.commits()
    assert pending.values("value") == Counter(f"w{number}" for number in TEN)

    assert outcomes(quiet) == ["Succeeded"]
    assert len(quiet.jobs()) == 1
    assert quiet.status()["timeline"]["instants"] == quiet_before["timeline"]["instants"]
    for table in (running, failing, quiet, pending):
        table.wait_ready()
        assert len({run["job"] for run in table.status()["history"]}) == len(table.status()["history"])
    restarts = [one["restartCount"] for pod in stage.operator_pods() for one in pod["status"]["containerStatuses"]]
    assert set(restarts) == {0}
    take_back(running)


def take_back(table: Table) -> None:
    """Take a table back to the commit of the release before."""
    table.stage.make_class(table.stage.class_name, **POLICY, operations={"allowed": ["Restore"]})
    operation = Operation(table, "back")
    operation.apply(restore={"instant": table.commits()[0], "reingest": False})
    assert operation.wait("Succeeded")["report"]["verified"] is True
    assert table.ids() == Counter(TEN)
    table.wait_ready()


def leave_a_pending_compaction(table: Table) -> str:
    """End a compaction between its plan and its commit, and start no other; return the plan's instant."""
    table.deliver(TEN, name="again.csv", value="w")
    request(table)
    table.stage.eventually(lambda: plans(table), what="a compaction is planned", pause=0.05, explain=table.explain)
    table.kubectl("delete", "pod", table.running_pod()["metadata"]["name"], "--grace-period=0", "--force")
    table.patch({"spec": {"suspend": True}})
    table.wait(lambda status: outcomes(table)[-1] == "Failed" and not status["activeJobs"], what="the run has failed")
    (plan,) = plans(table)
    assert plan not in table.commits()
    return plan


def request(table: Table) -> None:
    """Ask for a run."""
    table.kubectl("annotate", "ht", table.name, f"hudi-operator.io/requested-at={time.time()}", "--overwrite")


def plans(table: Table) -> list[str]:
    """The instants of all compactions that were ever planned."""
    files = table.stage.store.files(f"{table.folder}/.hoodie/timeline/")
    return sorted(match[1] for file in files if (match := re.search(r"/(\d{17})\.compaction\.requested$", file)))


def outcomes(table: Table) -> list[str]:
    """How the table's runs ended, oldest first."""
    return [run["outcome"] for run in reversed(table.status().get("history") or ())]
