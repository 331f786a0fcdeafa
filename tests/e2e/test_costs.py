"""What runs cost, also those that the kernel killed for memory, and the sums of a namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.processes import DRIVER, DriverProcess, require_node
from tests.e2e.stage import WITHOUT_SERVICES, Document, Stage, Table
from tests.e2e.test_ingestion import SLOW_SQL, counts_of
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract.usage import REPORTS_EVERY_SECONDS
from toolkit.cluster import OPERATOR_NAMESPACE, ROOT, CommandFailed, run

pytestmark = pytest.mark.e2e

EXHAUST_MEMORY = """
import os, pathlib, time
pathlib.Path("/proc/1/oom_score_adj").write_text("1000")
while os.fork():
    time.sleep(0.002)
held = b"x" * 2**23
time.sleep(60)
"""
"""Fills the memory of a container by small processes, until the kernel kills its main process, the worst of all."""

POD = {"cpu": "200m", "memory": "1536Mi"}

SUMS = ("cpu_milliseconds", "estimated_cpu_milliseconds", "bytes_read", "bytes_written")


def test_run_killed_for_memory_is_estimated_and_the_sums_of_its_namespace_are_those_of_its_runs(stage: Stage) -> None:
    require_node()
    tenant = stage.tenant("costs")
    sound = tenant.filled("sound", **WITHOUT_SERVICES)
    Table(stage, tenant.name, "greedy").deliver(range(10))
    greedy = tenant.table("greedy", **WITHOUT_SERVICES)
    killed = kill_for_memory(greedy)
    status = greedy.wait_ready(runs=1)

    assert greedy.ids() == dict.fromkeys(range(10), 1)
    first, second = runs_of(greedy)
    assert (first["job"], first["outcome"], first["reason"]) == (killed, "Failed", "OutOfMemory")
    state = ended_container(greedy, killed)
    assert (state["reason"], state["exitCode"]) == ("OOMKilled", 137)
    seconds = int((moment(state["finishedAt"]) - moment(state["startedAt"])).total_seconds())
    assert seconds > 0
    assert cost_of(first) == {"cpuMilliseconds": 0, "estimatedCpuMilliseconds": 200 * seconds}
    assert "estimated)" in status["cost"]
    for measured in (second, *runs_of(sound)):
        assert measured["cost"]["cpuMilliseconds"] > 0
        assert measured["cost"]["estimatedCpuMilliseconds"] == 0

    runs = [*runs_of(sound), first, second]
    expected = {"runs": len(runs)} | {name: sum(run["cost"][camel(name)] for run in runs) for name in SUMS}
    expected["cpu_milliseconds"] += expected["estimated_cpu_milliseconds"]
    (of_the_namespace,) = spent(tenant.name, by="namespace")
    assert of_the_namespace == {"name": tenant.name, **expected}
    of_tables = spent(tenant.name, by="table")
    assert {one["name"] for one in of_tables} == {f"{tenant.name}/sound", f"{tenant.name}/greedy"}
    assert {name: sum(one[name] for one in of_tables) for name in expected} == expected
    assert counted(stage, tenant.name) == pytest.approx(
        {
            "true": expected["estimated_cpu_milliseconds"] / 1000,
            "false": (expected["cpu_milliseconds"] - expected["estimated_cpu_milliseconds"]) / 1000,
        }
    )


@IN_FULL  # a run with executors takes minutes
def test_executor_killed_for_memory_counts_once_and_only_its_last_seconds_are_estimated(stage: Stage) -> None:
    require_node()
    tenant = stage.tenant("costs-in-cluster")
    stage.make_service_accounts(tenant.name)
    Table(stage, tenant.name, "spread").deliver(range(10))
    execution = {"mode": "Cluster", "driver": POD, "executor": {"instances": 1, **POD}}
    table = tenant.table("spread", execution=execution, ingestion={"transform": {"sql": SLOW_SQL}}, **WITHOUT_SERVICES)
    driver, first = counts_of(table, "driver", *DRIVER), counts_of(table, "executor", "java")
    stage.eventually(lambda: first.cpu_seconds > 20, what="the executor is at work", explain=table.explain)
    (executor,) = executors_of(table)
    exhaust_memory(table, executor, container="executor")
    first.join(timeout=60)
    second = counts_of(table, "executor", "java")
    table.wait(lambda status: status.get("history"), what="the long run has ended", seconds=900)
    for each in (driver, second):
        each.join(timeout=60)

    (run,) = runs_of(table)
    assert run["outcome"] == "Succeeded"
    assert run["cost"]["estimatedCpuMilliseconds"] == 200 * REPORTS_EVERY_SECONDS
    seconds = sum(one.cpu_seconds for one in (driver, first, second))
    assert run["cost"]["cpuMilliseconds"] / 1000 == pytest.approx(seconds, rel=0.05)


def kill_for_memory(table: Table) -> str:
    """Have the kernel kill the table's driver for its memory before it commits, and return its Job."""
    driver = DriverProcess(table.stage, table)
    driver.freeze()
    pod = table.running_pod()
    started = moment(pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])
    # The kubelet tells whole seconds, and a run of none costs nothing.
    table.stage.eventually(lambda: (datetime.now(UTC) - started).total_seconds() >= 2, what="the run takes two seconds")
    exhaust_memory(table, pod, container="driver")
    table.wait(lambda status: status.get("history"), what="the end of the driver is noticed")
    return str(driver.job)


def exhaust_memory(table: Table, pod: Document, *, container: str) -> None:
    """Fill the memory of a container until the kernel kills its main process."""
    with suppress(CommandFailed):
        table.kubectl("exec", pod["metadata"]["name"], "-c", container, "--", "python3", "-S", "-c", EXHAUST_MEMORY)


def executors_of(table: Table) -> list[Document]:
    """The pods of the table's executors."""
    return [pod for pod in table.pods() if pod["metadata"]["labels"]["hudi-operator.io/role"] == "executor"]


def runs_of(table: Table) -> list[Document]:
    """The ended runs of a table, oldest first."""
    return sorted(table.status()["history"], key=lambda run: run["startedAt"])


def cost_of(run: Document) -> Mapping[str, int]:
    """The processor time of a run."""
    return {name: run["cost"][name] for name in ("cpuMilliseconds", "estimatedCpuMilliseconds")}


def ended_container(table: Table, job: str) -> Document:
    """How the container of the Job's driver ended."""
    (pod,) = (one for one in table.pods() if one["metadata"]["labels"]["batch.kubernetes.io/job-name"] == job)
    return dict(pod["status"]["containerStatuses"][0]["state"]["terminated"])


def spent(namespace: str, *, by: str) -> list[Document]:
    """The sums of the command line."""
    arguments = ("cost", "-n", namespace, "--since", "yesterday", "--by", by, "-o", "json")
    kubeconfig = str(ROOT / ".dev" / "kubeconfig")
    return list(json.loads(run((str(ROOT / ".venv" / "bin" / "kubectl-hudi"), *arguments), kubeconfig=kubeconfig)))


def counted(stage: Stage, namespace: str) -> dict[str, float]:
    """The processor seconds of a namespace in the metrics of the operator that acts, by whether they are estimated."""
    pod = stage.operator_pod()["metadata"]["name"]
    path = f"/api/v1/namespaces/{OPERATOR_NAMESPACE}/pods/{pod}:9090/proxy/metrics"
    families = text_string_to_metric_families(stage.cluster.kubectl("get", "--raw", path))
    found = (one for family in families if family.name == "hudi_operator_run_cpu_seconds" for one in family.samples)
    sums = dict.fromkeys(("true", "false"), 0.0)
    for one in found:
        if one.name.endswith("_total") and one.labels["table_namespace"] == namespace:
            sums[one.labels["estimated"]] += one.value
    return sums


def camel(name: str) -> str:
    """The name of a field as a status has it."""
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def moment(text: str) -> datetime:
    """The moment of a timestamp."""
    return datetime.fromisoformat(text)
