"""The parts that the demonstrations share."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from localcluster.settings import CURRENT
from toolkit.cluster import ROOT, Cluster, Document

NAMESPACE = "team-a"

REACH = "export KUBECONFIG=$PWD/.dev/kubeconfig" + ("" if CURRENT else " PATH=$(dev/cluster tools):$PATH")
REMOVE = f"kubectl delete namespace {NAMESPACE} storage"
"""Removes the demonstration's tables, and the S3 server with their data, from a foreign cluster."""


class DemoFailed(Exception):
    """The demonstration did not show what it promises; the message says what failed."""


def start_cluster() -> None:
    """Start an empty cluster with the images; downloads run while the cluster is compiled."""
    with in_background("dev/images", "--bases"):
        for command in (("dev/cluster", "up", "--fresh"), ("dev/images",)):
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
                raise DemoFailed(f"`{' '.join(command)}` failed; the lines above say why")


def refuse_remains(cluster: Cluster) -> None:
    """Raise `DemoFailed` when tables of an earlier demonstration remain."""
    if cluster.items("huditables", namespace=NAMESPACE):
        raise DemoFailed(
            f"the namespace {NAMESPACE} holds tables already. If they are of an earlier demonstration, remove them and "
            f"their data with `{REMOVE}`, and run this again."
        )


@contextmanager
def in_background(*command: str) -> Iterator[None]:
    """Start a command early; its failure does no harm, because a later step repeats it."""
    log = ROOT / ".dev" / "logs" / "downloads.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()


def fail_if_stuck(name: str, status: Document) -> None:
    """Raise `DemoFailed` when the runs of a service keep failing."""
    for service, state in (status.get("services") or {}).items():
        if state.get("failures", 0) + state.get("infrastructureFailures", 0) >= 3:
            raise DemoFailed(f"{service} of {name} failed three times: {status.get('message')}")


def where_to_look(table: str) -> str:
    """Return where to find the logs and the state of a table."""
    return (
        "Where to look:\n"
        f"  {REACH}\n"
        f"  kubectl describe ht -n {NAMESPACE} {table}\n"
        "  kubectl logs -n hudi-operator -l app.kubernetes.io/component=operator --prefix\n"
        f"  kubectl logs -n {NAMESPACE} -l hudi-operator.io/role=driver --tail=50\n"
        "  .dev/logs holds the logs of the cluster itself"
    )
