"""The ZooKeeper of tests and demonstrations, in the cluster."""

from string import Template

from toolkit.cluster import ROOT, Cluster, Document, chart_values

ADDRESS = "zookeeper.zookeeper.svc:2181"
"""Where it answers."""

_NAME = "zookeeper"
_MANIFEST = ROOT / "dev" / "manifests" / "zookeeper.yaml"


class ZooKeeper:
    """One server, from the Spark image, in its own namespace."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        """Start it unless it runs, and wait until it answers."""
        self.create()
        self.wait()

    def create(self) -> None:
        """Have it started unless it runs."""
        image = chart_values()["sparkImage"]
        manifest = Template(_MANIFEST.read_text())
        self._cluster.apply(manifest.substitute(SPARK_IMAGE=f"{image['repository']}:{image['tag']}"))

    def wait(self) -> None:
        """Wait until it answers."""
        self._cluster.kubectl("rollout", "status", "-n", _NAME, f"deployment/{_NAME}", "--timeout=100s")

    def pod(self) -> Document:
        """Its pod."""
        return self._cluster.items("pods", namespace=_NAME)[0]

    def remove(self) -> None:
        """Remove it with what it holds, and wait until it is gone."""
        self._cluster.kubectl("delete", "namespace", _NAME, "--ignore-not-found")
