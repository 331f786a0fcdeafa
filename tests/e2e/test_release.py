"""The files of a release alone bring the operator into a cluster, and out of it, by the words of the pages."""

from __future__ import annotations

import json
import tarfile
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.e2e.from_release import HOST, Shell, running_registry, write_release
from tests.whole_status import whole

from hudi_operator import __version__
from hudi_operator.api.crd.kinds import KINDS
from localcluster.settings import CURRENT
from localcluster.toolchain import ensure_packages
from toolkit.cluster import S3_IN_CLUSTER, Cluster
from toolkit.store import Store

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(CURRENT, reason="the registry of the test is trusted by the local cluster alone"),
]

ROWS = b"order_id,country,amount,changed_at\n1,FR,20.00,2026-03-10T12:00:00Z\n2,DE,35.50,2026-03-10T12:01:00Z\n"
NEXT = "99.0.0"
DEFINITIONS = [f"{kind.plural}.hudi-operator.io" for kind in KINDS]
TENANTS = ("team-a", "team-b", "team-c")


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture(scope="module")
def shell(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    ensure_packages({"skopeo": "skopeo", "curl": "curl"})
    folder = tmp_path_factory.mktemp("release")
    write_release(folder / "dist")
    access = cluster.s3
    values = {
        "registry.example.com/team": HOST,
        "https://s3.example.com": S3_IN_CLUSTER,
        "AWS_ACCESS_KEY_ID=...": f"AWS_ACCESS_KEY_ID={access.access_key}",
        "AWS_SECRET_ACCESS_KEY=...": f"AWS_SECRET_ACCESS_KEY={access.secret_key}",
        "/usr/local/bin/": str(folder / "home" / "bin") + "/",
    }
    with running_registry(folder) as certificate:
        yield Shell(folder / "dist", certificate, cluster, values)
        cluster.kubectl("delete", "namespace", *TENANTS, "--ignore-not-found", "--timeout=120s")


def test_install_page_installs_the_operator_and_the_command_line(shell: Shell) -> None:
    said = shell.page("start/install.md")
    assert "usage: kubectl hudi " in said
    assert all(name in said for name in DEFINITIONS)


def test_first_table_is_ready_within_ten_minutes(shell: Shell, cluster: Cluster) -> None:
    Store(cluster.s3).put("landing/team-a/orders/1.csv", ROWS)
    shell.save("start/first-table.md", "kind: HudiTableClass", "class.yaml")
    shell.save("start/first-table.md", "kind: HudiTable", "orders.yaml")
    began = time.monotonic()

    shell.page("start/first-table.md")

    assert time.monotonic() - began < 600
    assert table(cluster)["timeline"]["instants"]
    assert Store(cluster.s3).files("lake/team-a/orders/")


def test_tenants_page_makes_namespace_secret_quota_and_bindings(shell: Shell, cluster: Cluster) -> None:
    shell.save("guides/tenants.md", "tenants:", "tenants.yaml")

    shell.page("guides/tenants.md")

    for name in ("serviceaccount/hudi-driver", "secret/object-store", "quota/hudi-tenant", "rolebinding/hudi-editors"):
        cluster.kubectl("get", name, "-n", "team-b")
    cluster.kubectl("get", "rolebinding/hudi-viewers", "-n", "team-c")


def test_upgrade_page_brings_every_definition_and_the_next_image(shell: Shell, cluster: Cluster) -> None:
    publish_next_release(shell)
    shell.values[f"--version {__version__}"] = f"--version {NEXT}"
    try:
        shell.page("operations/upgrade.md", "Upgrade")
    finally:
        del shell.values[f"--version {__version__}"]
    marked = [read(cluster, "crd", name)["metadata"].get("annotations", {}).get("release") for name in DEFINITIONS]
    assert marked == [NEXT] * len(KINDS)
    assert image(cluster) == f"{HOST}/hudi-operator:{NEXT}"


def test_roll_back_brings_the_image_of_before_and_keeps_the_table_ready(shell: Shell, cluster: Cluster) -> None:
    shell.page("operations/upgrade.md", "Roll back")

    assert image(cluster) == f"{HOST}/hudi-operator:{__version__}"
    cluster.kubectl("wait", "--for=condition=Ready", "ht/orders", "-n", "team-a", "--timeout=120s")
    assert {run["outcome"] for run in table(cluster)["history"]} <= {"Succeeded", "NothingToDo"}


def test_uninstall_page_leaves_the_rows_and_nothing_that_hangs(shell: Shell, cluster: Cluster) -> None:
    shell.page("operations/uninstall.md")

    kinds = "crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding"
    ours = ("-l", "app.kubernetes.io/part-of=hudi-operator", "-o", "name")
    assert cluster.kubectl("get", kinds, *ours) == ""
    assert (
        cluster.kubectl("get", "deployment,role,rolebinding,serviceaccount,quota,secret,networkpolicy", "-A", *ours)
        == ""
    )
    assert "hudi" not in cluster.kubectl("get", "crd", "-o", "name")
    assert cluster.get("namespaces", "hudi-operator") is None
    assert cluster.get("namespaces", "team-b") is not None
    assert Store(cluster.s3).files("lake/team-a/orders/")


def publish_next_release(shell: Shell) -> None:
    """Push what is the same under a later version, with definitions that show it."""
    chart = shell.folder.parent / "next"
    with tarfile.open(shell.folder / f"hudi-operator-{__version__}.tgz") as package:
        package.extractall(chart, filter="data")
    for path in (chart / "hudi-operator" / "crds").iterdir():
        document = yaml.safe_load(path.read_text())
        document["metadata"]["annotations"] = {"release": NEXT}
        path.write_text(f"---\n{yaml.safe_dump(document)}")
    shell.run(
        f"helm package {chart}/hudi-operator --destination {chart} --version {NEXT} --app-version {NEXT}\n"
        f"helm push {chart}/hudi-operator-{NEXT}.tgz oci://$REGISTRY/charts\n"
        + "\n".join(
            f"skopeo copy docker://$REGISTRY/{name}:{__version__} docker://$REGISTRY/{name}:{NEXT}"
            for name in ("hudi-operator", "hudi-operator-spark")
        )
    )


def table(cluster: Cluster) -> dict[str, Any]:
    return whole(read(cluster, "ht", "orders", "-n", "team-a"))


def image(cluster: Cluster) -> str:
    deployment = read(cluster, "deployment", "hudi-operator", "-n", "hudi-operator")
    return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def read(cluster: Cluster, *what: str) -> dict[str, Any]:
    return dict(json.loads(cluster.kubectl("get", *what, "-o", "json")))
