"""A writer of another tool in the cluster: `foreign_writer.py` by a plain spark-submit, in its own pod."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.processes import spark_image
from tests.e2e.stage import Document, Table
from tests.spark_jobs.writers import foreign_writer
from tests.spark_jobs.writers.foreign_writer import Report, reports_in

from toolkit.cluster import OPERATOR_SECRET, S3_IN_CLUSTER

_NAME = "foreign-writer"
_SETTINGS = {
    "spark.hadoop.fs.s3a.endpoint": S3_IN_CLUSTER,
    "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    # Hudi 1.2.0 hangs on S3 servers with Hadoop's defaults for these.
    "spark.hadoop.fs.s3a.connection.maximum": "1000",
    "spark.hadoop.fs.s3a.directory.marker.retention": "keep",
}
# As in the operator's own drivers: on two cores a start takes half as long.
_JAVA_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:SharedArchiveFile=/opt/hudi/classes.jsa "
    "-Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true"
)


class ForeignWriter:
    """The pod of a writer that the operator knows nothing of; the table's lock has the default name."""

    def __init__(self, table: Table, zookeeper: str) -> None:
        self._table = table
        self._end = f"{table.landing}-end"
        script = Path(foreign_writer.__file__)
        metadata = {"name": _NAME, "namespace": table.namespace}
        command = [
            "spark-submit",
            *("--master", "local[1]", "--driver-memory", "1g", "--driver-java-options", _JAVA_OPTIONS),
            *(word for key, value in _SETTINGS.items() for word in ("--conf", f"{key}={value}")),
            f"/writer/{script.name}",
            *(f"s3a://{table.folder}", table.name, f"{table.namespace}.{table.name}", zookeeper, f"s3a://{self._end}"),
        ]
        table.stage.cluster.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {script.name: script.read_text()}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod(command)},
        )

    def reports(self) -> list[Report]:
        """What it has reported so far."""
        return reports_in(self._log())

    def await_batches(self, number: int) -> None:
        """Wait until so many batches are acknowledged."""

        def acknowledged() -> bool:
            assert self._phase() in {"Pending", "Running"}, self.explain()
            return len(self.reports()) >= number

        self._table.stage.eventually(acknowledged, what=f"{number} batches", explain=self.explain)

    def end(self) -> list[Report]:
        """Tell it to end, wait for that, and return all reports."""
        self._table.stage.store.put(self._end, b"")
        self._table.stage.eventually(
            lambda: self._phase() not in {"Pending", "Running"}, what="the writer ends", explain=self.explain
        )
        assert self._phase() == "Succeeded", self.explain()
        return self.reports()

    def explain(self) -> str:
        """What it said last, without the stack traces."""
        return "\n".join(line for line in self._log().splitlines() if not line.startswith("\tat "))[-5000:]

    def _phase(self) -> str:
        pod = self._table.stage.cluster.get("pods", _NAME, namespace=self._table.namespace) or {}
        return str(pod.get("status", {}).get("phase"))

    def _log(self) -> str:
        return self._table.kubectl("logs", _NAME) if self._phase() != "Pending" else ""


def _pod(command: list[str]) -> Document:
    secrets = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": OPERATOR_SECRET, "key": name}}}
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    ]
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 185, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "writer",
                "image": spark_image(),
                "imagePullPolicy": "IfNotPresent",
                "command": command,
                "env": secrets,
                "resources": {"requests": {"cpu": "200m", "memory": "1536Mi"}, "limits": {"memory": "2Gi"}},
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "script", "mountPath": "/writer"}],
            }
        ],
        "volumes": [{"name": "script", "configMap": {"name": _NAME}}],
    }
