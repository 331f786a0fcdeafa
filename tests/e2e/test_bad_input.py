"""What bad input gets: a condition with a reason, an Event, an untouched table, and recovery by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from tests.e2e.stage import Stage, Table, Tenant, condition_of
from tests.spark_jobs.trials import IN_FULL

pytestmark = pytest.mark.e2e

TEN = range(10)
ONCE = Counter(TEN)
SMALL = {"cpu": "200m", "memory": "1536Mi"}
HUNGRY = "SELECT id, concat(value, repeat('x', 400000000), repeat('y', 400000000)) AS value FROM source"


@dataclass
class Tables:
    """Tables side by side; those whose runs fail again and again are declared when needed."""

    healthy: Table
    imageless: Table
    classless: Table


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    return stage.tenant("bad-input")


@pytest.fixture(scope="module")
def tables(stage: Stage, tenant: Tenant) -> Tables:
    stage.make_class("e2e-imageless", sparkImage="hudi-operator.io/nothing:1", job={"startTimeout": "15s"})
    tables = Tables(
        healthy=tenant.table("healthy"),
        imageless=tenant.table("imageless", tableClassName="e2e-imageless"),
        classless=tenant.table("classless", tableClassName="e2e-forgotten"),
    )
    for table in (tables.healthy, tables.imageless, tables.classless):
        table.deliver(TEN, name="ten.csv")
    return tables


def assert_nothing_written(table: Table) -> None:
    """The table's folder holds no committed instant and no data."""
    assert table.commits() == []
    assert table.ids() == Counter()


def assert_recovered(table: Table) -> None:
    """The table holds the ten rows, once each, and says that it is ready."""
    status = table.wait_ready()
    assert table.ids() == ONCE
    assert not condition_of(status, "Stalled")
    assert not condition_of(status, "Reconciling")
    table.wait_event("Normal", condition_of(status, "Ready")["reason"])


def test_a_class_that_does_not_exist_stalls_its_tables_until_it_does(stage: Stage, tables: Tables) -> None:
    stalled = tables.classless.wait_reason("TableClassNotFound", kind="Stalled")
    assert "e2e-forgotten" in stalled["message"]
    assert "create it" in stalled["message"]
    tables.classless.wait_event("Warning", "TableClassNotFound")
    assert tables.classless.jobs() == []

    stage.make_class("e2e-forgotten")
    assert_recovered(tables.classless)


def test_a_source_that_does_not_exist_is_named_and_found_when_it_comes(tenant: Tenant) -> None:
    table = tenant.table("sourceless")
    ready = table.wait_reason("SourceNotFound")
    assert (ready["status"], table.landing in ready["message"]) == ("False", True)
    table.wait_event("Warning", "SourceNotFound")
    ingestion = table.status()["services"]["ingestion"]
    assert (ingestion["reason"], "lastRun" in ingestion, table.jobs()) == ("SourceNotFound", False, [])
    assert_nothing_written(table)

    table.deliver(TEN)
    assert_recovered(table)


def test_wrong_credentials_are_reported_and_the_right_ones_taken(stage: Stage) -> None:
    stranger = stage.tenant("bad-credentials")
    stage.cluster.apply(stage.cluster.credentials(stranger.name, secret_key="wrong"))
    table = stranger.table("refused")
    table.deliver(TEN)
    ready = table.wait_reason("StorageAccessDenied")
    assert "credentials" in ready["message"]
    table.wait_event("Warning", "StorageAccessDenied")
    assert_nothing_written(table)
    (log,) = table.status()["failedLogs"]
    assert (log["service"], '"outcome": "Failed"' in log["text"]) == ("Ingestion", True)

    stage.cluster.apply(stage.cluster.credentials(table.namespace))
    assert_recovered(table)


def test_an_image_that_cannot_be_pulled_is_named_and_replaced(stage: Stage, tables: Tables) -> None:
    ready = tables.imageless.wait_reason("ImagePullFailed")
    assert "hudi-operator.io/nothing:1" in ready["message"]
    assert "sparkImage" in ready["message"]
    tables.imageless.wait_event("Warning", "ImagePullFailed")

    stage.make_class("e2e-imageless")
    assert_recovered(tables.imageless)


@IN_FULL  # otherwise `tests/spark_jobs/ingestion/test_bad_input.py` has such rows, and other reasons come and go here
def test_a_row_with_too_few_columns_stops_the_run_before_anything_is_written(stage: Stage, tenant: Tenant) -> None:
    table = tenant.table("ragged")
    stage.store.put(f"{table.landing}/ten.csv", b"id,value\n0,v\n1\n2,v\n")
    ready = table.wait_reason("BadRecords")
    assert "ten.csv" in ready["message"]
    table.wait_event("Warning", "BadRecords")
    assert_nothing_written(table)

    table.deliver(TEN, name="ten.csv")
    assert_recovered(table)


def test_a_driver_that_runs_out_of_memory_gets_more_up_to_the_limit_of_its_class(stage: Stage, tenant: Tenant) -> None:
    stage.make_class(
        "e2e-small",
        execution={"mode": "Local", "driver": {"cpu": "200m", "memory": "1000Mi"}},
        limits={"driverMemory": "1400Mi"},
    )
    table = tenant.table("hungry", tableClassName="e2e-small", ingestion={"transform": {"sql": HUNGRY}})
    table.deliver(TEN)
    table.wait(lambda status: _failures(status) >= 2, what="two failed runs")
    runs = table.status()["history"]
    memory = [job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] for job in table.jobs()]
    assert {run["reason"] for run in runs} == {"OutOfMemory"}
    assert memory[:2] == ["1000Mi", "1400Mi"]
    assert set(memory[2:]) <= {"1400Mi"}
    table.wait_event("Warning", "OutOfMemory")
    assert_nothing_written(table)

    modest = {"transform": {"sql": "SELECT * FROM source"}}
    table.patch({"spec": {"ingestion": modest, "execution": {"driver": {"memory": "1400Mi"}}}})
    assert_recovered(table)


def test_executors_that_no_node_holds_are_explained_and_end_the_run_in_time(stage: Stage) -> None:
    tenant = stage.tenant("without-room")
    stage.make_service_accounts(tenant.name)
    stage.make_class("e2e-vast", limits={"executorMemory": "256Gi"}, job={"startTimeout": "45s"})
    vast = {"mode": "Cluster", "driver": SMALL, "executor": {"instances": 2, "cpu": "200m", "memory": "200Gi"}}
    table = tenant.table("vast", tableClassName="e2e-vast", execution=vast)
    table.deliver(TEN)
    ready = table.wait_reason("ExecutorsWaiting")
    assert "Insufficient memory" in ready["message"]
    status = table.wait(lambda status: bool(status.get("history")), what="an ended run")
    assert status["history"][0]["reason"] == "NoExecutors"
    assert [one["service"] for one in status["failedLogs"]] == ["Ingestion"]  # read before the pod was removed
    assert _failures(status) == 0
    assert_nothing_written(table)

    table.patch({"spec": {"execution": {"mode": "Local", "executor": None}}})
    assert_recovered(table)


def test_a_pod_that_a_quota_refuses_is_explained_in_the_words_of_the_api_server(stage: Stage) -> None:
    tenant = stage.tenant("without-quota")
    stage.make_class("e2e-hasty", job={"startTimeout": "40s"})
    stage.cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none", "namespace": tenant.name},
            "spec": {"hard": {"pods": "0"}},
        }
    )
    table = tenant.table("refused", tableClassName="e2e-hasty")
    table.deliver(TEN)
    table.wait(
        lambda status: "exceeded quota: none" in condition_of(status, "Ready").get("message", ""), what="the quota"
    )
    assert_nothing_written(table)

    stage.cluster.kubectl("delete", "resourcequota", "none", f"--namespace={tenant.name}")
    assert_recovered(table)


def _failures(status: dict[str, Any]) -> int:
    return int(((status.get("services") or {}).get("ingestion") or {}).get("failures") or 0)


def test_two_tables_never_own_one_folder_however_it_is_spelt(stage: Stage, tenant: Tenant) -> None:
    stage.make_class("e2e-open", allowedBasePaths=["s3a://lake"])
    other = stage.tenant("rival")
    path = f"lake/{tenant.name}/shared"
    owner = _claimant(tenant, "owner", f"s3a://{path}")
    owner.wait_reason("Succeeded")
    rivals = [
        _claimant(tenant, "other-spelling", f"s3://{path}/"),
        _claimant(other, "other-namespace", f"s3n://{path}"),
        _claimant(tenant, "nested", f"s3a://{path}/inside"),
        _claimant(other, "around", f"s3a://lake/{tenant.name}"),
    ]
    for rival in rivals[:3]:
        stalled = rival.wait_reason("BasePathClaimed", kind="Stalled")
        is_named = f"{owner.namespace}/{owner.name}" in stalled["message"]
        assert is_named is (rival.namespace == owner.namespace), "only those of its namespace may see the other table"
        rival.wait_event("Warning", "BasePathClaimed")
    rivals[3].wait_reason("BasePathClaimed", kind="Stalled")
    assert owner.condition("Ready")["status"] == "True"
    rivals[3].kubectl("delete", "ht", rivals[3].name)

    owner.kubectl("delete", "ht", owner.name)

    def heirs() -> list[Table]:
        return [rival for rival in rivals[:3] if rival.condition("Ready").get("status") == "True"]

    stage.eventually(heirs, what="one of the three takes the folder over", explain=rivals[0].explain)
    assert len(heirs()) == 1
    losers = [rival for rival in rivals[:3] if rival.name != heirs()[0].name]
    assert {loser.condition("Stalled")["reason"] for loser in losers} == {"BasePathClaimed"}


def _claimant(tenant: Tenant, name: str, path: str) -> Table:
    table = Table(tenant.stage, tenant.name, name)
    table.apply({"tableClassName": "e2e-open", "basePath": path, "type": "CopyOnWrite", "recordKey": ["id"]})
    return table


def test_the_troubles_of_others_did_not_touch_the_healthy_table(tables: Tables) -> None:
    status = tables.healthy.wait_ready()

    assert {run["outcome"] for run in status["history"]} == {"Succeeded"}
    assert tables.healthy.ids() == ONCE
