"""Operations in the cluster: a table goes back, beside a driver and after approval, and not where it cannot.

It is also served, mended, taken to another version, and forgets a record.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from tests.e2e.stage import METADATA_TABLE, Document, Stage, Table, Tenant, live_of

from hudi_jobs.contract import OperationKind

pytestmark = pytest.mark.e2e

CLASS = "e2e-operations"
MANUAL = "e2e-operations-by-approval"
WHOLE = "e2e-operations-of-all-kinds"
ALLOWED = ["Restore", "Rollback"]


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    stage.make_class(CLASS, job={"drainTimeout": "1m"}, operations={"allowed": ALLOWED})
    stage.make_class(MANUAL, operations={"allowed": ALLOWED, "approval": "Manual"})
    reports = "s3a://landing/{namespace}/reports"
    stage.make_class(WHOLE, operations={"allowed": [one.value for one in OperationKind], "reportPath": reports})
    return stage.tenant("operations")


@dataclass
class Operation:
    """One HudiOperation of a table."""

    table: Table
    name: str

    def apply(self, **spec: object) -> None:
        self.table.stage.cluster.apply(
            {
                "apiVersion": "hudi-operator.io/v1alpha1",
                "kind": "HudiOperation",
                "metadata": {"name": self.name, "namespace": self.table.namespace},
                "spec": {"tableRef": {"name": self.table.name}, **spec},
            }
        )

    def status(self) -> Document:
        found = self.table.stage.cluster.get("hudioperations", self.name, namespace=self.table.namespace)
        return (found or {}).get("status") or {}

    def wait(self, phase: str) -> Document:
        def look() -> Document | None:
            found = self.status()
            return found if found.get("phase") == phase else None

        def explain() -> str:
            return f"{self.status()}\n{self.table.explain()}"

        found: Document = self.table.stage.eventually(look, what=f"{self.name}: {phase}", explain=explain)
        return found

    def approve(self) -> None:
        self.table.kubectl("patch", "hop", self.name, "--type=merge", '--patch={"spec":{"approved":true}}')


def ingested(tenant: Tenant, name: str, *, batches: int, **spec: Any) -> Table:
    """A table with so many commits of ten rows each."""
    declared: dict[str, Any] = {"tableClassName": CLASS, "cleaning": {"mode": "Disabled"}, **spec}
    table = tenant.table(name, **declared)
    for batch in range(batches):
        table.deliver(range(batch * 10, batch * 10 + 10))
        table.ingest_now()  # finds nothing to do where the first run of the table has read the file by then
        assert len(table.commits()) == batch + 1
    return table


def wait_for(table: Table, *, rows: int) -> None:
    """Wait until the table holds so many rows, each once."""

    def complete(_status: Document) -> bool:
        return table.ids() == Counter(range(rows))

    table.wait(complete, what=f"{rows} rows, each once")


def test_a_table_goes_back_and_its_driver_reads_what_was_removed_again(tenant: Tenant) -> None:
    continuous = {"minInterval": "2s", "serviceInterval": "1m", "progressDeadline": "5m"}
    table = tenant.table(
        "continuous",
        tableClassName=CLASS,
        cleaning={"mode": "Disabled"},
        ingestion={"mode": "Continuous", "continuous": continuous, "schedule": None},
    )
    for batch in range(3):
        table.deliver(range(batch * 10, batch * 10 + 10))
        wait_for(table, rows=batch * 10 + 10)
    commits = table.commits()

    operation = Operation(table, "back")
    operation.apply(restore={"instant": commits[0]})
    status = operation.wait("Succeeded")
    report = status["report"]
    assert (report["target"], report["removedCount"], report["verified"]) == (commits[0], len(commits) - 1, True)
    assert report["rowsBefore"] == 30
    assert report["rowsAfter"] == report["rowsExpected"]

    wait_for(table, rows=30)
    table.deliver(range(30, 40))
    wait_for(table, rows=40)
    table.wait(live_of, what="a driver goes on after it")
    assert table.condition("Maintenance") == {}
    assert table.condition("ForeignWriter") == {}
    assert ("Warning", "Restored") not in table.events()
    table.patch({"spec": {"suspend": True}})


def test_without_reading_again_ingestion_goes_on_where_it_was(tenant: Tenant) -> None:
    table = ingested(tenant, "forward", batches=3)
    operation = Operation(table, "forward")
    operation.apply(restore={"instant": table.commits()[1], "reingest": False})
    report = operation.wait("Succeeded")["report"]
    assert (report["rowsBefore"], report["rowsExpected"], report["rowsAfter"]) == (30, 20, 20)
    table.deliver(range(30, 40))
    assert table.ingest_now()["outcome"] == "Succeeded"
    assert table.ids() == Counter((*range(20), *range(30, 40)))
    table.wait_ready()


def test_a_suspended_table_is_rolled_back_after_approval(tenant: Tenant) -> None:
    table = ingested(tenant, "approved", batches=2, tableClassName=MANUAL)
    table.patch({"spec": {"suspend": True}})
    first, latest = table.commits()
    preview, operation = Operation(table, "preview"), Operation(table, "approved")
    preview.apply(rollback={"instant": latest}, dryRun=True)
    assert preview.wait("Succeeded")["report"]["target"] == first
    assert table.commits() == [first, latest], "nothing was written"

    operation.apply(rollback={"instant": latest})
    operation.wait("AwaitingApproval")
    assert table.ids() == Counter(range(20))
    operation.approve()
    assert operation.wait("Succeeded")["report"]["verified"] is True
    assert table.ids() == Counter(range(10))
    table.patch({"spec": {"suspend": False}})
    assert table.ingest_now()["outcome"] == "Succeeded"
    assert table.ids() == Counter(range(20)), "what was rolled back is read again"


def test_what_cannot_be_done_is_refused_and_changes_nothing(tenant: Tenant) -> None:
    table = ingested(tenant, "refused", batches=2)
    table.stage.cluster.apply(
        {
            "apiVersion": "hudi-operator.io/v1alpha1",
            "kind": "HudiSavepoint",
            "metadata": {"name": "newest", "namespace": table.namespace},
            "spec": {"tableRef": {"name": table.name}, "latest": True, "keepForever": True},
        }
    )
    first, latest = table.commits()
    table.wait(
        lambda status: [
            one for one in status.get("savepoints") or () if one.get("instant") == latest and "since" in one
        ],
        what="a savepoint on the newest commit",
    )
    nowhere, refused = Operation(table, "nowhere"), Operation(table, "refused")
    nowhere.apply(restore={"instant": "20200101000000000"})
    assert nowhere.wait("Failed")["reason"] == "InstantNotFound"
    refused.apply(restore={"instant": first})
    status = refused.wait("Failed")
    assert (status["reason"], status["begun"]) == ("OperationRefused", False)
    assert latest in status["message"]
    assert table.commits() == [first, latest]
    assert table.ingest_now()["outcome"] in {"Succeeded", "NothingToDo"}
    assert table.ids() == Counter(range(20))


def test_a_table_is_served_mended_taken_to_another_version_and_forgets_a_record(tenant: Tenant) -> None:
    table = ingested(tenant, "whole", batches=3, tableClassName=WHOLE, metadataTable=METADATA_TABLE)

    def base_files() -> list[str]:
        files = table.stage.store.files(table.folder)
        return [file for file in files if file.endswith(".parquet") and "/.hoodie/" not in file]

    assert len(base_files()) == 3
    clean = {"service": "Cleaning", "cleaning": {"policy": "KeepLatestCommits", "retainCommits": 1}}
    Operation(table, "clean").apply(runService=clean)
    Operation(table, "clean").wait("Succeeded")
    assert len(base_files()) == 2

    Operation(table, "mend").apply(repair={"rebuildMetadataTable": {}})
    assert Operation(table, "mend").wait("Succeeded")["report"]["verified"] is True

    Operation(table, "downgrade").apply(downgrade={"tableVersion": 8})
    report = Operation(table, "downgrade").wait("Succeeded")["report"]
    assert (report["versionBefore"], report["versionAfter"], report["verified"]) == (9, 8, True)
    table.wait(lambda status: status["timeline"]["tableVersion"] == 8, what="the status shows the version")

    record = {"keys": [{"id": "7"}]}
    Operation(table, "forget").apply(erase=record)
    refused = Operation(table, "forget").wait("Failed")
    assert refused["reason"] == "OperationRefused", "the savepoint from before the downgrade keeps the record"
    Operation(table, "forget-everywhere").apply(erase=record | {"releaseSavepoints": True})
    report = Operation(table, "forget-everywhere").wait("Succeeded")["report"]
    assert (report["rowsBefore"], report["rowsAfter"], report["verified"]) == (30, 29, True)
    proof = json.loads(table.stage.store.get(report["erased"]["reportFile"].removeprefix("s3a://")))
    assert proof["operation"] == f"{table.namespace}/forget-everywhere"
    assert len(base_files()) == 1

    table.deliver(range(30, 40))
    assert table.ingest_now()["outcome"] == "Succeeded"
    assert table.ids() == Counter({*range(40)} - {7})
    assert table.condition("ForeignWriter") == {}
