"""What runs cost, over several tables and namespaces: sums that count each run once."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.control.job_documents import stamp
from tests.control.memory_cluster import Killed
from tests.control.test_reconciler import LANDING, Cluster, Snapshots, class_document, living_table
from tests.planning.world import IMAGE
from tests.whole_status import whole

from hudi_jobs.contract import (
    DriverUsage,
    FailureReason,
    JobOutcome,
    Outcome,
    RunUsage,
    Service,
    TaskResult,
    encode_outcome,
    task_id,
)
from hudi_operator.control.settings import Settings
from hudi_operator.control.tables import Reconciler
from hudi_operator.jobs.names import SERVICE_LABEL, TABLE_LABEL
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.kube.keys import table_key
from hudi_operator.runtime.controller import Trigger
from hudi_operator.telemetry.metrics import metrics

Document = dict[str, Any]
NOON = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)
DAY = "2026-03-10"


class Tables:
    """Tables of two namespaces, their operator, and a clock that moves a minute with each look."""

    def __init__(self, *names: str, **class_changes: Any) -> None:
        self.cluster: Cluster = living_table()
        document = self.cluster.tables.pop("flights")
        self.cluster.classes["standard"] = class_document(**class_changes)
        self.cluster.outcome = None
        self.cluster.clock = lambda: self.now
        self.now = NOON
        for one in names:
            namespace, name = one.split("/")
            table = copy.deepcopy(document)
            table["metadata"] |= {"namespace": namespace, "name": name, "uid": f"uid-of-{name}"}
            table["metadata"]["creationTimestamp"] = stamp(NOON - timedelta(hours=1))
            table["spec"] |= {
                "basePath": f"s3a://lake/{namespace}/{name}",
                "ingestion": {**LANDING, "schedule": {"every": "5m"}},
            }
            self.cluster.tables[name] = table
        self.start()

    def start(self) -> None:
        """Start the operator anew: it knows what the cluster holds, and nothing else."""
        settings = Settings(spark_image=IMAGE)
        self.reconciler = Reconciler(kube=self.cluster, snapshots=Snapshots(self.cluster), settings=settings)

    async def reconcile(self, name: str) -> None:
        self.now += timedelta(minutes=1)
        namespace = self.cluster.tables[name]["metadata"]["namespace"]
        await self.reconciler.reconcile(table_key(namespace, name), Trigger.EVENT)

    async def run(self, name: str, *, usage: RunUsage | None, seconds: int = 60) -> None:
        """Let a table's next run start, work and end: with a report, or killed for memory without any."""
        self.now += timedelta(hours=1)  # the backoff of the run before is over
        await self.reconcile(name)
        self.cluster.kubelet()
        self.end(name, usage=usage, seconds=seconds)
        await self.reconcile(name)

    def end(self, name: str, *, usage: RunUsage | None, seconds: int) -> None:
        (job,) = (one for one in self.cluster.jobs.values() if _runs(one, name))
        (pod,) = (one for one in self.cluster.pods.values() if _uid(one) == job["metadata"]["uid"])
        labels, namespace = job["metadata"]["labels"], self.cluster.tables[name]["metadata"]["namespace"]
        task = task_id(f"{namespace}/{labels[TABLE_LABEL]}", labels[SERVICE_LABEL])
        result = TaskResult(id=task, outcome=Outcome.FAILED, reason=FailureReason.HUDI_ERROR, message="It failed.")
        told = encode_outcome(JobOutcome(results=(result,), usage=usage)) if usage is not None else ""
        times = {"startedAt": stamp(self.now), "finishedAt": stamp(self.now + timedelta(seconds=seconds))}
        self.now += timedelta(seconds=seconds)
        state = {"exitCode": 1, "reason": "Error" if usage else "OOMKilled", "message": told, **times}
        pod["status"] = {
            "phase": "Failed",
            "containerStatuses": [{"name": "driver", "state": {"terminated": state}}],
        }
        job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}

    def status(self, name: str) -> Document:
        return whole(self.cluster.tables[name])

    def costs(self, name: str, service: Service = Service.INGESTION) -> list[str]:
        found: list[str] = self.status(name)["services"][service.lower()].get("costs", [])
        return found


def _runs(job: Document, name: str) -> bool:
    return job["metadata"]["labels"][TABLE_LABEL] == name and not job.get("status", {}).get("conditions")


def _uid(pod: Document) -> str:
    return str(pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"])


def used(cpu_seconds: float) -> RunUsage:
    return RunUsage(driver=DriverUsage(cpu_seconds=cpu_seconds), bytes_read=100, bytes_written=10)


async def test_run_killed_for_memory_counts_as_estimated_beside_measured_runs() -> None:
    tables = Tables("team-a/orders")
    await tables.run("orders", usage=used(20.5))
    await tables.run("orders", usage=None, seconds=90)
    assert tables.costs("orders") == [f"{DAY} 2 20500 90000 100 10"]
    assert tables.status("orders")["cost"] == "0.03 CPU hours on 2026-03-10, 0.03 since 2026-03-04 (0.03 estimated)"
    assert tables.status("orders")["services"]["ingestion"]["lastRun"]["reason"] == "OutOfMemory"


def counted(namespace: str) -> tuple[float, float]:
    """The measured and the estimated seconds of a namespace, by the metrics."""
    found = {"false": 0.0, "true": 0.0}
    for family in metrics.registry.collect():
        for one in family.samples:
            if one.name == "hudi_operator_run_cpu_seconds_total" and one.labels["table_namespace"] == namespace:
                found[one.labels["estimated"]] += one.value
    return found["false"], found["true"]


def remembered(tables: Tables, *names: str) -> tuple[float, float]:
    """The measured and the estimated seconds of tables, by their memories."""
    lines = [line.split(" ") for name in names for line in tables.costs(name)]
    return sum(int(line[2]) for line in lines) / 1000, sum(int(line[3]) for line in lines) / 1000


async def test_sums_of_a_namespace_equal_the_sums_of_its_runs_with_a_killed_one_as_estimated() -> None:
    tables = Tables("costs-a/orders", "costs-a/items", "costs-b/other")
    runs = {"orders": (used(20.5), None, used(3.25)), "items": (None, used(100.0)), "other": (used(1.0),)}
    for place in range(3):
        for name, usages in runs.items():
            if place < len(usages):
                await tables.run(name, usage=usages[place], seconds=30)
    assert remembered(tables, "orders", "items") == (123.75, 60)
    assert remembered(tables, "other") == (1, 0)
    assert counted("costs-a") == (123.75, 60)
    assert counted("costs-b") == (1, 0)


async def test_run_counts_once_whatever_write_its_operator_died_at_and_whichever_reply_was_lost() -> None:
    clean = Tables("team-a/orders")
    await clean.run("orders", usage=used(7.0))
    expected = clean.costs("orders")
    assert expected == [f"{DAY} 1 7000 0 100 10"]
    for takes_effect in (False, True, None):
        tables = Tables("team-a/orders")
        await tables.reconcile("orders")
        tables.cluster.kubelet()
        await tables.reconcile("orders")
        tables.end("orders", usage=used(7.0), seconds=60)
        if takes_effect is None:
            tables.cluster.lose = lambda _number: True
        else:
            tables.cluster.kill_at = (tables.cluster.writes + 1, takes_effect)
        try:
            await tables.reconcile("orders")
        except (Killed, KubernetesError):
            tables.start()
        tables.cluster.lose = lambda _number: False
        for _ in range(3):
            await tables.reconcile("orders")
        assert tables.costs("orders") == expected, takes_effect


async def test_sums_of_a_table_outlive_its_operator() -> None:
    tables = Tables("team-a/orders")
    await tables.run("orders", usage=used(7.0))
    tables.start()
    await tables.run("orders", usage=used(2.0))
    assert tables.costs("orders") == [f"{DAY} 2 9000 0 200 20"]
