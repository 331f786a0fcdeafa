"""Operations in the cluster: a table goes back, beside a driver and after approval, and not where it cannot.

Another one is served, mended, taken to another version, and forgets a record, and so does the table that reads it.
"""

from __future__ import annotations

import json
from collections import Counter
from io import BytesIO

import pyarrow.parquet as pq
import pytest
from tests.e2e.operation import Operation
from tests.e2e.savepoint import Savepoint
from tests.e2e.stage import METADATA_TABLE, Document, Stage, Table, Tenant, live_of
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import OperationKind

pytestmark = pytest.mark.e2e

CLASS = "e2e-operations"
MANUAL = "e2e-operations-by-approval"
WHOLE = "e2e-operations-of-all-kinds"
ALLOWED = ["Restore", "Rollback"]
LONG = range(47110000, 47110010)
KEY = 47110007


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    stage.make_class(CLASS, job={"drainTimeout": "1m"}, operations={"allowed": ALLOWED})
    stage.make_class(MANUAL, operations={"allowed": ALLOWED, "approval": "Manual"})
    reports = "s3a://landing/{namespace}/reports"
    stage.make_class(
        WHOLE,
        allowedSourcePaths=["s3a://landing/{namespace}", "s3a://lake/{namespace}"],
        operations={"allowed": [one.value for one in OperationKind], "reportPath": reports},
    )
    return stage.tenant("operations")


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
    assert table.findings() == []
    assert ("Warning", "Restored") not in table.events()
    table.patch({"spec": {"suspend": True}})


@pytest.fixture(scope="module")
def manual(tenant: Tenant) -> Table:
    """A table whose operations wait for approval, of two commits with ten rows each."""
    return tenant.filled("by-approval", batches=2, tableClassName=MANUAL, cleaning={"mode": "Disabled"})


@IN_FULL  # otherwise `tests/faults/test_operations.py` has operations that wait for approval, without pods
def test_a_suspended_table_is_rolled_back_after_approval(manual: Table) -> None:
    before = manual.ids()
    manual.patch({"spec": {"suspend": True}})
    first, latest = manual.commits()
    preview, operation = Operation(manual, "preview"), Operation(manual, "approved")
    preview.apply(rollback={"instant": latest}, dryRun=True)
    assert preview.wait("Succeeded")["report"]["target"] == first
    assert manual.commits() == [first, latest], "nothing was written"

    operation.apply(rollback={"instant": latest})
    operation.wait("AwaitingApproval")
    assert manual.ids() == before
    operation.approve()
    assert operation.wait("Succeeded")["report"]["verified"] is True
    assert manual.ids() == Counter(range(10))
    manual.patch({"spec": {"suspend": False}})
    assert manual.ingest_now()["outcome"] == "Succeeded"
    assert manual.ids() == before, "what was rolled back is read again"


@IN_FULL  # otherwise `tests/spark_jobs/operations` has such restores, without pods
def test_without_reading_again_ingestion_goes_on_where_it_was(manual: Table) -> None:
    operation = Operation(manual, "forward")
    operation.apply(restore={"instant": manual.commits()[0], "reingest": False}, approved=True)
    report = operation.wait("Succeeded")["report"]
    assert (report["rowsBefore"], report["rowsExpected"], report["rowsAfter"]) == (20, 10, 10)
    manual.deliver(range(20, 30))
    assert manual.ingest_now()["outcome"] == "Succeeded"
    assert manual.ids() == Counter((*range(10), *range(20, 30)))
    manual.wait_ready()


@IN_FULL  # otherwise `tests/spark_jobs/operations/test_refused.py` has such operations, without pods
def test_impossible_operation_is_refused_and_changes_nothing(manual: Table) -> None:
    before, commits = manual.ids(), manual.commits()
    first, latest = commits[0], commits[-1]
    savepoint = Savepoint(manual, "newest")
    savepoint.apply(latest=True, keepForever=True)
    assert savepoint.wait("Ready", "True")["instant"] == latest
    nowhere, refused = Operation(manual, "nowhere"), Operation(manual, "refused")
    nowhere.apply(restore={"instant": "20200101000000000"})
    assert nowhere.reason(nowhere.wait("Failed")) == "InstantNotFound"
    refused.apply(restore={"instant": first}, approved=True)
    status = refused.wait("Failed")
    assert (refused.reason(status), status["begun"]) == ("OperationRefused", False)
    assert latest in status["message"]
    assert manual.commits() == commits
    assert manual.ids() == before
    manual.wait_ready()


@pytest.fixture(scope="module")
def whole(tenant: Tenant) -> Table:
    """A table of two commits, the later with keys that are long enough to be looked for in bytes."""
    table = tenant.filled("whole", tableClassName=WHOLE, metadataTable=METADATA_TABLE, cleaning={"mode": "Disabled"})
    table.deliver(LONG)
    assert table.ingest_now()["outcome"] == "Succeeded"
    return table


def base_files(table: Table) -> list[str]:
    """The base files of a table, of every version."""
    files = table.stage.store.files(table.folder)
    return [file for file in files if file.endswith(".parquet") and "/.hoodie/" not in file]


def holding(table: Table, key: int) -> list[str]:
    """The files below a table that hold a key, somewhere in their bytes or in a column of a Parquet file."""

    def holds(file: str) -> bool:
        try:
            content = table.stage.store.get(f"lake/{file}")
        except FileNotFoundError:
            return False  # the mark of an empty folder
        found = str(key).encode() in content
        return found or (file.endswith(".parquet") and str(key) in str(pq.read_table(BytesIO(content)).to_pydict()))

    return [file for file in table.stage.store.files(f"{table.folder}/") if holds(file)]


@IN_FULL
def test_a_table_is_served_mended_and_taken_to_another_version(whole: Table) -> None:
    assert len(base_files(whole)) == 2
    clean = {"service": "Cleaning", "cleaning": {"policy": "KeepLatestFileVersions", "retainFileVersions": 1}}
    Operation(whole, "clean").apply(runService=clean)
    Operation(whole, "clean").wait("Succeeded")
    assert len(base_files(whole)) == 1

    Operation(whole, "mend").apply(repair={"rebuildMetadataTable": {}})
    assert Operation(whole, "mend").wait("Succeeded")["report"]["verified"] is True

    Operation(whole, "downgrade").apply(downgrade={"tableVersion": 8})
    report = Operation(whole, "downgrade").wait("Succeeded")["report"]
    assert (report["versionBefore"], report["versionAfter"], report["verified"]) == (9, 8, True)
    whole.wait(lambda status: status["table"]["version"] == 8, what="the status shows the version")


@IN_FULL  # otherwise `tests/faults/test_forget.py` has such an erasure, without pods
def test_a_record_is_forgotten_by_a_table_and_those_that_read_it_and_all_go_on(tenant: Tenant, whole: Table) -> None:
    reader = reader_of(whole, tenant)
    before = Counter((*range(10), *LONG))
    for table in (whole, reader):
        assert table.ids() == before
        assert holding(table, KEY)

    # The savepoint from before a downgrade keeps the record.
    erase = {"keys": [{"id": str(KEY)}], "releaseSavepoints": True, "cascade": True}
    operation = Operation(whole, "forget")
    operation.apply(erase=erase)
    [further] = operation.wait("Succeeded", runs=2)["cascade"]
    assert (further["table"], further["ready"]) == (reader.name, True)
    left = before - Counter([KEY])
    for one in (operation, Operation(reader, further["operation"])):
        report = one.status()["report"]
        assert (report["rowsBefore"], report["rowsAfter"], report["verified"]) == (20, 19, True)
        proof = json.loads(tenant.stage.store.get(report["erased"]["reportFile"].removeprefix("s3a://")))
        assert proof["operation"] == f"{tenant.name}/{one.name}"
        assert holding(one.table, KEY) == []
        assert one.table.ids() == left
        assert len(base_files(one.table)) == 1

    whole.deliver(range(30, 40))
    for table in (whole, reader):
        assert table.ingest_now()["outcome"] == "Succeeded"
        assert table.ids() == left + Counter(range(30, 40))
        assert table.findings() == []


def reader_of(whole: Table, tenant: Tenant) -> Table:
    """A table that has read another one."""
    following = {"source": {"hudi": {"path": f"s3a://{whole.folder}"}}, "operation": "Upsert"}
    reader = tenant.table("reader", tableClassName=WHOLE, ingestion=following, cleaning={"mode": "Disabled"})
    reader.wait_ready(runs=1)
    return reader
