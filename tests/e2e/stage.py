"""What the end-to-end tests do to the cluster, in the words of a table's owner: declare, deliver, wait, look."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.whole_status import whole

from toolkit.cluster import OPERATOR_NAMESPACE, OPERATOR_SECRET, ROOT, S3_IN_CLUSTER, Cluster, CommandFailed
from toolkit.store import Store

Document = dict[str, Any]

METADATA_TABLE: Document = {"enabled": True}
"""A table has one by default; it doubles the work of a commit, so only some tests do."""

WITHOUT_SERVICES: Document = {"cleaning": {"mode": "Disabled"}, "archival": {"mode": "Disabled"}}
"""A cleaning would roll back what a killed driver has left, which the next ingestion is to do here."""

PATIENCE = 300.0
"""Seconds after which a test gives up: far more than anything takes, because the machine may be busy."""

LEADER = "hudi-operator-leader"
"""The Lease that names the operator's pod that acts."""

OBJECT_STORE = {
    "endpoint": S3_IN_CLUSTER,
    "region": "us-east-1",
    "pathStyleAccess": True,
    "credentialsSecretName": OPERATOR_SECRET,
}

_BASE_FILE = re.compile(r"(?P<group>[^/]+)_[^/_]+_(?P<instant>\d{17})\.parquet$")
_COMPLETED = re.compile(r"/(?P<instant>\d{17})_\d{17}\.(?:commit|deltacommit|replacecommit)$")


def class_spec(**changes: Any) -> Document:
    """A class whose runs are small and whose failed runs are tried again soon."""
    return {
        "allowedBasePaths": ["s3a://lake/{namespace}"],
        "allowedSourcePaths": ["s3a://landing/{namespace}"],
        "allowedQuarantinePaths": ["s3a://landing/{namespace}/rejected"],
        "objectStore": OBJECT_STORE,
        "execution": {"mode": "Local", "driver": {"cpu": "200m", "memory": "1536Mi"}},
        "retry": {"initialDelay": "3s", "maxDelay": "10s"},
        "jobQuota": {"runningJobs": 4},
    } | changes


@dataclass
class Stage:
    """The cluster with the operator in it."""

    cluster: Cluster
    store: Store

    def __post_init__(self) -> None:
        self.past_logs: list[str] = []
        self.class_name = f"e2e-{uuid.uuid4().hex[:5]}"
        self._namespaces: list[str] = []
        self._classes: list[str] = []

    def tenant(self, purpose: str) -> Tenant:
        """Make a namespace that enforces the restricted Pod Security Standard."""
        name = f"e2e-{purpose}-{uuid.uuid4().hex[:5]}"
        self.cluster.make_tenant(name)
        self._namespaces.append(name)
        return Tenant(self, name)

    def make_class(self, name: str, **changes: Any) -> str:
        """Make a class, or change it to this."""
        spec = class_spec(**changes)
        self.cluster.apply(
            {
                "apiVersion": "hudi-operator.io/v1beta1",
                "kind": "HudiTableClass",
                "metadata": {"name": name},
                "spec": {key: value for key, value in spec.items() if value is not None},
            }
        )
        self._classes.append(name)
        return name

    def make_service_accounts(self, namespace: str) -> None:
        """Make the service accounts of mode Cluster as the chart makes them for its tenants."""
        templates = self.cluster.helm(
            "template",
            "hudi-operator",
            str(ROOT / "charts" / "hudi-operator"),
            "--kube-version=1.34",
            "--show-only",
            "templates/tenants.yaml",
            "--set",
            f"tenants={{{namespace}}}",
        )
        self.cluster.apply(templates)

    def clear(self) -> None:
        """Remove everything that the tests made."""
        kubectl = self.cluster.kubectl
        for name in self._namespaces:
            kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")
        for name in self._classes:
            kubectl("delete", "htc", name, "--ignore-not-found")

    def operator_pods(self) -> list[Document]:
        """The operator's pods that are ready: the one that acts, and those that stand by."""
        return [pod for pod in self.cluster.items("pods", namespace=OPERATOR_NAMESPACE) if _is_ready(pod)]

    def operator_pod(self) -> Document:
        """The operator's pod that acts, once there is one."""

        def leader() -> Document | None:
            leases = self.cluster.items("leases", namespace=OPERATOR_NAMESPACE)
            holders = [one["spec"].get("holderIdentity", "") for one in leases if one["metadata"]["name"] == LEADER]
            names = {holder.partition("_")[0] for holder in holders}
            return next((pod for pod in self.operator_pods() if pod["metadata"]["name"] in names), None)

        found: Document = self.eventually(leader, what="an operator that leads")
        return found

    def operator_log(self) -> str:
        """The log of the operator's pod that acts."""
        return self.cluster.kubectl("logs", "-n", OPERATOR_NAMESPACE, self.operator_pod()["metadata"]["name"])

    def kill_operator(self) -> None:
        """End the operator's process at once, keeping its log."""
        name = self.operator_pod()["metadata"]["name"]
        self.past_logs.append(self.cluster.kubectl("logs", "-n", OPERATOR_NAMESPACE, name))
        self.cluster.kubectl(
            "delete", "pod", "-n", OPERATOR_NAMESPACE, name, "--grace-period=0", "--force", "--wait=false"
        )

    def eventually(
        self,
        look: Callable[[], Any],
        *,
        what: str,
        seconds: float = PATIENCE,
        pause: float = 1.0,
        explain: Callable[[], str] = str,
    ) -> Any:
        """Return the first true answer; when there is none in time, fail and show what explains it."""
        deadline = time.monotonic() + seconds
        while not (found := look()):
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not within {seconds:.0f} s.\n{explain()}")
            time.sleep(pause)
        return found


@dataclass
class Tenant:
    """A namespace with the store's credentials."""

    stage: Stage
    name: str

    def table(self, name: str, *, source: Document | None = None, **spec: Any) -> Table:
        """Declare a table that ingests CSV files with a header once an hour and on request; `spec` wins."""
        table = Table(self.stage, self.name, name)
        files = {
            "path": f"s3a://{table.landing}",
            "format": "csv",
            "options": {"header": "true"},
            "columns": "id INT, value STRING",
        } | (source or {})
        ingestion = {
            "source": {"files": files},
            "operation": "Insert",
            "schedule": {"every": "1h"},
        } | (spec.pop("ingestion", None) or {})
        ingestion = {key: value for key, value in ingestion.items() if value is not None}
        declared = {
            "tableClassName": self.stage.class_name,
            "basePath": f"s3a://{table.folder}",
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "metadataTable": {"enabled": False},
            "ingestion": ingestion,
        } | spec
        table.apply({key: value for key, value in declared.items() if value is not None})
        return table

    def filled(self, name: str, *, batches: int = 1, **spec: Any) -> Table:
        """Declare a table, and fill it by so many runs with ten rows each."""
        # The file is there before the table, which so needs no second run for it.
        Table(self.stage, self.name, name).deliver(range(10))
        table = self.table(name, **spec)
        table.wait_ready(runs=1)
        for batch in range(1, batches):
            table.deliver(range(batch * 10, batch * 10 + 10))
            assert table.ingest_now()["outcome"] == "Succeeded"
        assert len(table.commits()) == batches
        return table


@dataclass
class Table:
    """One HudiTable, its folder and its source."""

    stage: Stage
    namespace: str
    name: str

    @property
    def folder(self) -> str:
        return f"lake/{self.namespace}/{self.name}"

    @property
    def landing(self) -> str:
        return f"landing/{self.namespace}/{self.name}"

    def apply(self, spec: Document) -> None:
        """Apply a spec."""
        self._apply("HudiTable", self.name, spec)

    def apply_another(self, kind: str, name: str, **spec: object) -> None:
        """Apply a resource of another kind that is about the table."""
        self._apply(kind, name, {"tableRef": {"name": self.name}, **spec})

    def _apply(self, kind: str, name: str, spec: Document) -> None:
        self.stage.cluster.apply(
            {
                "apiVersion": "hudi-operator.io/v1beta1",
                "kind": kind,
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": spec,
            }
        )

    def patch(self, changes: Document) -> None:
        """Change some fields."""
        self.kubectl("patch", "ht", self.name, "--type", "merge", "-p", json.dumps(changes))

    def kubectl(self, verb: str, *arguments: str) -> str:
        """Run kubectl in the table's namespace."""
        return self.stage.cluster.kubectl(verb, "-n", self.namespace, *arguments)

    def deliver(self, ids: range, *, name: str | None = None, value: str = "v") -> None:
        """Put a CSV file with these ids into the source."""
        rows = "".join(f"{number},{value}{number}\n" for number in ids)
        self.stage.store.put(f"{self.landing}/{name or f'{ids.start}-{ids.stop}.csv'}", f"id,value\n{rows}".encode())

    def document(self) -> Document:
        """The resource; empty where it does not exist."""
        return self.stage.cluster.get("huditables", self.name, namespace=self.namespace) or {}

    def status(self) -> Document:
        """The status as it is now, with the operator's own memory."""
        return whole(self.document())

    def ingestion(self) -> Document:
        """What status says of ingestion."""
        return (self.status().get("services") or {}).get("ingestion") or {}

    def condition(self, kind: str) -> Document:
        """One condition; empty where it is absent."""
        return condition_of(self.status(), kind)

    def findings(self) -> list[str]:
        """The codes of all findings."""
        return [one["code"] for one in self.status().get("findings", [])]

    def wait(self, until: Callable[[Document], Any], *, what: str, seconds: float = PATIENCE) -> Document:
        """Wait until the status is like this, and return it."""

        def look() -> Document | None:
            status = self.status()
            return status if status and until(status) else None

        found: Document = self.stage.eventually(
            look,
            what=f"{self.namespace}/{self.name}: {what}",
            seconds=seconds,
            explain=self.explain,
        )
        return found

    def wait_ready(self, *, runs: int | None = None) -> Document:
        """Wait until the table is ready and nothing runs; with `runs`, until so many of its Jobs have succeeded."""

        def settled(status: Document) -> bool:
            ready = condition_of(status, "Ready").get("status") == "True" and not status.get("activeJobs")
            done = [run for run in status.get("history") or () if run["outcome"] == "Succeeded"]
            return ready and bool(done if runs is None else len(done) >= runs)

        return self.wait(settled, what="ready with nothing running")

    def wait_reason(self, reason: str, *, kind: str = "Ready") -> Document:
        """Wait until a condition has this reason, and return the condition."""
        status = self.wait(lambda status: condition_of(status, kind).get("reason") == reason, what=f"{kind} {reason}")
        return condition_of(status, kind)

    def ingest_now(self) -> Document:
        """Ask for a run, wait for its end, and return it."""
        request = uuid.uuid4().hex
        self.kubectl("annotate", "ht", self.name, f"hudi-operator.io/requested-at={request}", "--overwrite")
        status = self.wait(
            lambda status: status.get("lastHandledReconcileAt") == request and not status.get("activeJobs"),
            what="the requested run has ended",
        )
        return dict(status["services"]["ingestion"]["lastRun"])

    def jobs(self) -> list[Document]:
        """The table's Jobs, oldest first."""
        found = self.stage.cluster.items(
            "jobs", namespace=self.namespace, selector=f"hudi-operator.io/table={self.name}"
        )
        return sorted(found, key=lambda job: (job["metadata"]["creationTimestamp"], job["metadata"]["name"]))

    def pods(self) -> list[Document]:
        """The pods of the table's Jobs."""
        return self.stage.cluster.items(
            "pods", namespace=self.namespace, selector=f"hudi-operator.io/table={self.name}"
        )

    def running_pod(self) -> Document:
        """The driver's pod, once its container runs."""

        def running() -> Document | None:
            return next((pod for pod in self.pods() if _container_runs(pod) and not _executes(pod)), None)

        found: Document = self.stage.eventually(running, what=f"{self.name}: a driver runs", explain=self.explain)
        return found

    def events(self) -> list[tuple[str, str]]:
        """The Events about the table, as type and reason."""
        text = self.kubectl("get", "events", "--field-selector", f"involvedObject.name={self.name}", "-o", "json")
        return [(event["type"], event["reason"]) for event in json.loads(text)["items"]]

    def wait_event(self, kind: str, reason: str) -> None:
        """Wait for an Event; the operator posts it after the status that it tells of."""
        what = f"{self.name}: an Event {kind} {reason}"
        self.stage.eventually(lambda: (kind, reason) in self.events(), what=what, explain=self.explain)

    def commits(self) -> list[str]:
        """The completed instants, read from the store."""
        files = self.stage.store.files(f"{self.folder}/.hoodie/timeline/")
        return sorted(match["instant"] for file in files if (match := _COMPLETED.search(file)))

    def ids(self) -> Counter[int]:
        """How often each id stands in a CopyOnWrite table."""
        return self.values("id")

    def values(self, column: str) -> Counter[Any]:
        """How often each value stands in a CopyOnWrite table: its newest committed base files, read without Hudi."""
        completed = set(self.commits())
        newest: dict[str, tuple[str, str]] = {}
        for file in self.stage.store.files(self.folder):
            match = None if "/.hoodie/" in file else _BASE_FILE.search(file)
            if match and match["instant"] in completed:
                newest[match["group"]] = max(newest.get(match["group"], ("", "")), (match["instant"], file))
        found: Counter[Any] = Counter()
        for _, file in newest.values():
            content = self.stage.store.get(f"lake/{file}")
            found.update(pq.read_table(BytesIO(content), columns=[column])[column].to_pylist())
        return found

    def explain(self) -> str:
        """What a person would look at when the table does not get where it should."""
        parts = [
            json.dumps({key: value for key, value in self.status().items() if key != "timeline"}, indent=1),
            "\n".join(" ".join(event) for event in self.events()),
            *(self._ends_of(pod) for pod in self.pods()[-2:]),
            "\n".join(line for line in self.stage.operator_log().splitlines() if self.name in line)[-3000:],
        ]
        return "\n---\n".join(parts)

    def _ends_of(self, pod: Document) -> str:
        name = pod["metadata"]["name"]
        try:
            return f"{name} {pod['status'].get('phase')}:\n" + self.kubectl("logs", name, "--tail=15")
        except CommandFailed as error:
            return f"{name}: {error}"


def condition_of(status: Document, kind: str) -> Document:
    """One condition of a status; empty where it is absent."""
    return next((one for one in status.get("conditions") or () if one["type"] == kind), {})


def live_of(status: Document) -> Document:
    """What the continuous driver that runs has done; empty where none does."""
    return next((job["live"] for job in status.get("activeJobs") or () if job.get("live")), {})


def _is_ready(pod: Document) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ())


def _executes(pod: Document) -> bool:
    return bool(pod["metadata"]["labels"].get("hudi-operator.io/role") == "executor")


def _container_runs(pod: Document) -> bool:
    return any("running" in one.get("state", {}) for one in pod["status"].get("containerStatuses") or ())
