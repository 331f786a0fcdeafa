"""The ZooKeeper server of tests and demonstrations, in the cluster."""

from string import Template

from toolkit.cluster import ROOT, Cluster, Document, chart_values

ADDRESS = "zookeeper.zookeeper.svc:2181"
"""The server's address."""

_NAME = "zookeeper"
_MANIFEST = ROOT / "dev" / "manifests" / "zookeeper.yaml"


class ZooKeeper:
    """A server in its own namespace, from the Spark image."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        """Start the server if missing, and wait until it answers."""
        self.create()
        self.wait()

    def create(self) -> None:
        """Create the server if missing, without waiting."""
        image = chart_values()["sparkImage"]
        manifest = Template(_MANIFEST.read_text())
        self._cluster.apply(manifest.substitute(SPARK_IMAGE=f"{image['repository']}:{image['tag']}"))

    def wait(self) -> None:
        """Wait until the server answers."""
        self._cluster.kubectl("rollout", "status", "-n", _NAME, f"deployment/{_NAME}", "--timeout=100s")

    def pod(self) -> Document:
        """The server's pod."""
        return self._cluster.items("pods", namespace=_NAME)[0]

    def remove(self) -> None:
        """Remove the server with its data, and wait until it is gone."""
        self._cluster.kubectl("delete", "namespace", _NAME, "--ignore-not-found")
