"""Tables with an entry in a Hive Metastore that the pods of Jobs reach: Spark reads them by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.processes import require_node
from tests.e2e.read_table import read_by_name
from tests.e2e.stage import Document, Stage, Table, Tenant, condition_of

from localcluster.settings import NODE_ADDRESS
from toolkit.streams.metastore import HiveMetastore

pytestmark = [pytest.mark.e2e, pytest.mark.streams]

CLASS = "e2e-catalog"
DATABASE = "default"
"""Every metastore has this database."""


@pytest.fixture(scope="module")
def metastore(stage: Stage) -> Iterator[HiveMetastore]:
    """A metastore on the node, where pods find it."""
    require_node()
    with HiveMetastore(host=NODE_ADDRESS, store=stage.cluster.s3) as server:
        yield server


@pytest.fixture(scope="module")
def tenant(stage: Stage, metastore: HiveMetastore) -> Tenant:
    hive = {"metastoreUris": [metastore.uri], "allowedDatabases": [DATABASE]}
    stage.make_class(CLASS, catalog={"hive": hive})
    return stage.tenant("catalog")


def in_catalog(tenant: Tenant, name: str, *, entry: str, rows: range, **spec: Any) -> Table:
    """Declare a table with an entry, and deliver its rows."""
    table = Table(tenant.stage, tenant.name, name)
    table.deliver(rows)
    catalog = {"hive": {"database": DATABASE, "table": entry}}
    return tenant.table(name, tableClassName=CLASS, catalog=catalog, **spec)


def wait_shown(table: Table, entry: str) -> None:
    """Wait until the catalog shows the newest commit of a table."""

    def shown(status: Document) -> bool:
        found = status.get("catalog") or {}
        return bool(found.keys() == {"entry", "instant"} and found["entry"] == f"{DATABASE}.{entry}")

    table.wait(shown, what=f"the catalog shows {entry}")


def test_spark_reads_tables_by_name_and_an_entry_goes_to_the_next_table_that_names_it(
    stage: Stage, tenant: Tenant, metastore: HiveMetastore
) -> None:
    trips = in_catalog(tenant, "trips", entry="trips", rows=range(10, 20), type="MergeOnRead")
    flights = in_catalog(tenant, "flights", entry="flights", rows=range(10), deletionPolicy="Delete")
    wait_shown(flights, "flights")
    second = in_catalog(tenant, "second", entry="flights", rows=range(20, 30))

    status = second.wait_ready(runs=1)
    assert second.findings() == ["CatalogEntryTaken"]
    assert condition_of(status, "Ready")["status"] == "True"
    assert "catalog" not in status

    flights.kubectl("delete", "ht", "flights", "--wait=true", "--timeout=300s")
    wait_shown(second, "flights")
    wait_shown(trips, "trips")

    entries = [f"{DATABASE}.{name}" for name in ("flights", "trips", "trips_ro")]
    found = read_by_name(entries, stage.cluster.s3, metastore.uri, "id", "value")
    rows = {
        entry: [{"id": one, "value": f"v{one}"} for one in ids]
        for entry, ids in zip(entries, (range(20, 30), range(10, 20), range(10, 20)), strict=True)
    }
    assert dict(zip(entries, found, strict=True)) == rows
