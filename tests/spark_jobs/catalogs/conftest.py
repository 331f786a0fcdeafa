"""A real Hive Metastore behind a proxy that counts connections, and a table in it for each test."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.catalogs.counting_proxy import CountingProxy
from tests.spark_jobs.conftest import Lake
from tests.tasks import task_of

from hudi_jobs.contract import (
    CatalogRecord,
    HiveCatalog,
    JobRequest,
    Service,
    TableOwner,
    TaskResult,
    decode_catalog,
)
from hudi_jobs.spark.jvm import classes, elements
from toolkit.streams.metastore import HiveMetastore

DATABASE = "lake"


@dataclass(frozen=True)
class Entry:
    """An entry as the metastore holds it."""

    location: str
    properties: dict[str, str]
    columns: dict[str, str]
    comments: dict[str, str]
    partition_columns: dict[str, str]
    partitions: dict[str, str]
    reads: str


class MetastoreClient:
    """Reads and changes a metastore, as another tool would."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._jvm = classes(spark)
        configuration = self._jvm.org.apache.hadoop.hive.conf.HiveConf()
        configuration.set("hive.metastore.uris", uri)
        self._client = self._jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(configuration)

    def close(self) -> None:
        self._client.close()

    def make_database(self, name: str) -> None:
        if not int(self._client.getDatabases(name).size()):
            folder = None
            self._client.createDatabase(self._jvm.org.apache.hadoop.hive.metastore.api.Database(name, "", folder, None))

    def drop_database(self, name: str) -> None:
        """Drop a database with all its entries; the data stays."""
        self._client.dropDatabase(name, False, True, True)

    def names(self) -> list[str]:
        return sorted(str(name) for name in elements(self._client.getAllTables(DATABASE)))

    def entry(self, name: str, *, database: str = DATABASE) -> Entry:
        table = self._client.getTable(database, name)
        found = elements(self._client.listPartitions(database, name, -1))
        return Entry(
            location=str(table.getSd().getLocation()),
            properties={str(key): str(value) for key, value in dict(table.getParameters()).items()},
            columns={str(one.getName()): str(one.getType()) for one in elements(table.getSd().getCols())},
            comments={str(one.getName()): str(one.getComment() or "") for one in elements(table.getSd().getCols())},
            partition_columns={str(one.getName()): str(one.getType()) for one in elements(table.getPartitionKeys())},
            partitions={"/".join(map(str, elements(one.getValues()))): str(one.getSd().getLocation()) for one in found},
            reads=str(table.getSd().getInputFormat()).rpartition(".")[2],
        )

    def drop(self, name: str) -> None:
        self._client.dropTable(DATABASE, name, False, True)

    def rename(self, name: str, to: str) -> None:
        """Rename an entry, as `ALTER TABLE RENAME` does."""
        table = self._client.getTable(DATABASE, name).deepCopy()
        table.setTableName(to)
        self._client.alter_table(DATABASE, name, table)

    def copy(self, name: str, to: str, *, location: str | None = None, mark: str | None = None) -> None:
        """Make an entry of somebody else after an existing entry."""
        table = self._client.getTable(DATABASE, name).deepCopy()
        table.setTableName(to)
        table.getParameters().remove("hudi-operator.table-uid")
        if mark is not None:
            table.putToParameters("hudi-operator.table-uid", mark)
        if location is not None:
            table.getSd().setLocation(location)
        self._client.createTable(table)


@dataclass
class CatalogTrial:
    """A table with a catalog: ingests rows, and looks at what the metastore says."""

    lake: Lake
    proxy: CountingProxy
    metastore: MetastoreClient
    table: str
    settings: dict[str, Any] = field(default_factory=dict)
    uid: str = "uid-of-flights"
    operator: str = "operator-1"

    @property
    def catalog(self) -> HiveCatalog:
        return HiveCatalog.model_validate(
            {"uris": [self.proxy.uri], "database": DATABASE, "table": self.table} | self.settings
        )

    @property
    def owner(self) -> TableOwner:
        return TableOwner(operator=self.operator, table_uid=self.uid, table="team/flights")

    def ingest(self, *rows: dict[str, Any]) -> TaskResult:
        """Ingest rows as a commit with the catalog in the request."""
        self.lake.put(f"{self.lake.runs}.json", "\n".join(map(json.dumps, rows)), at=self.lake.runs)
        request = self.lake.request(files={"format": "json", "options": {}})
        (task,) = request.tasks
        return self.lake.drive(request.copy_with(tasks=(task.copy_with(catalog=self.catalog, owner=self.owner),)))

    def serve(self, service: Service = Service.CATALOG) -> TaskResult:
        """Run a service with the catalog in the request."""
        options = self.lake.hudi_options(service)
        task = task_of(
            service,
            id="flights",
            table=self.lake.declared(options),
            hudi_options=options,
            owner=self.owner,
            catalog=self.catalog,
            lease_seconds=5.0,
        )
        return self.lake.drive(JobRequest(run=f"{service.lower()}-{self.lake.runs}", tasks=(task,)))

    def record(self) -> CatalogRecord:
        """The record in the folder of the table."""
        found = decode_catalog((self.lake.folder / "table/.hudi-operator/catalog.json").read_bytes())
        assert found is not None
        return found


@pytest.fixture(scope="session")
def started_metastore() -> Iterator[HiveMetastore]:
    """The metastore of all tests of this folder."""
    with HiveMetastore() as server:
        yield server


@pytest.fixture
def hive(started_metastore: HiveMetastore) -> HiveMetastore:
    """A metastore that runs."""
    started_metastore.start()
    return started_metastore


@pytest.fixture
def metastore(spark: SparkSession, hive: HiveMetastore) -> Iterator[MetastoreClient]:
    """A client of the metastore, which has the database of the tests."""
    client = MetastoreClient(spark, hive.uri)
    client.make_database(DATABASE)
    yield client
    client.close()


@pytest.fixture
def trial(
    lake: Lake, hive: HiveMetastore, metastore: MetastoreClient, request: pytest.FixtureRequest
) -> Iterator[CatalogTrial]:
    """A table partitioned by day, with an entry of the test's own name."""
    lake.table = {"partitionBy": ["day"]}
    name = "".join(each if each.isalnum() else "_" for each in request.node.name.lower())[:80]
    with CountingProxy(hive.port) as proxy:
        yield CatalogTrial(lake, proxy, metastore, name)
