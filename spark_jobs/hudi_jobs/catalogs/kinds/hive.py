"""A Hive Metastore, by Hudi's own `HiveSyncTool` in mode `hms` and the metastore's client in Spark's jars.

`HiveSyncTool` recreates an entry that points to another folder, whoever made it. So the owner of each entry is checked
first: the property `hudi-operator.table-uid` marks the entries of a resource.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

from pyspark.sql import SparkSession

from hudi_jobs.catalogs.definition import Properties, SyncFailed
from hudi_jobs.catalogs.kinds.hive_partitions import PartitionForm
from hudi_jobs.contract import (
    FailureReason,
    HiveCatalog,
    HivePartitionStyle,
    Location,
    SyncTrouble,
    TableDefinition,
)
from hudi_jobs.contract.wording import listed, shortened
from hudi_jobs.spark.failures import Cause, causes_of, classify
from hudi_jobs.spark.jvm import JavaObject, classes, elements, hadoop_configuration
from hudi_jobs.table import HudiTable

MARK = "hudi-operator.table-uid"
"""The property of an entry that names the uid of its HudiTable."""

_SYNC, _META = "hoodie.datasource.hive_sync", "hoodie.meta"
_EXTRACTORS = {
    HivePartitionStyle.COLUMNS: "MultiPartKeysValueExtractor",
    HivePartitionStyle.WHOLE: "SinglePartPartitionValueExtractor",
    HivePartitionStyle.DAY: "SlashEncodedDayPartitionValueExtractor",
}
_UNPARTITIONED = "NonPartitionedExtractor"
_CLIENT = {
    # Hive waits ten minutes for each answer, and tries three times.
    "hive.metastore.client.socket.timeout": "20s",
    "hive.metastore.connect.retries": "1",
    "hive.metastore.failure.retries": "0",
    "hive.metastore.client.connect.retry.delay": "1s",
}
_TRANSPORT = "org.apache.thrift.transport.TTransportException"
"""The class of what the metastore's client raises when a call fails or lasts too long, and names in its messages."""
_ANOTHER_ENTRY = "remove spec.catalog and then declare another entry"
"""The database and the name in a spec cannot be changed in one step."""

_LONGEST_COMMENT = 256
"""A metastore does not answer a longer comment, which a table of another tool may have; then none is shown."""

_OTHERWISE = FailureReason.CATALOG_REFUSED
_LONGEST_SHOWN = 200
_MOST_NAMED = 3
_KEEP_DATA = False
_IGNORE_MISSING = True


class HiveEntries:
    """The entries of one table: its name, and for MergeOnRead also `_ro` and `_rt`."""

    def __init__(self, spark: SparkSession, catalog: HiveCatalog, table: TableDefinition, uid: str) -> None:
        self._spark = spark
        self._catalog = catalog
        self._table = table
        self._uid = uid

    def sync(self, table: HudiTable, partitions: Sequence[str], *, dropped: bool) -> None:
        """Run Hudi's sync, if no entry belongs to somebody else."""
        with self._explained():
            with self._client() as client:
                if not self._database_exists(client):
                    raise SyncFailed(
                        SyncTrouble.REFUSED,
                        f"The Hive Metastore has no database {self._catalog.database}; create it, or {_ANOTHER_ENTRY}.",
                    )
                for name in self._names:
                    self._require_usable(client, name, table)
                self._require_true_values(table, partitions)
                are_there = all(client.tableExists(self._catalog.database, name) for name in self._names)
            self._run_sync(table, dropped=dropped)
            if not are_there and any(_comments(table)):
                # Hudi 1.2.0 writes comments only into an entry that exists.
                self._run_sync(table, dropped=False)

    def _require_true_values(self, table: HudiTable, partitions: Sequence[str]) -> None:
        """Raise `SyncFailed` for a partition that the entry would show with another value."""
        style = self._catalog.partition_style
        form = PartitionForm.of(table.partition_columns, table.schema(), table.properties, style)
        if (refusal := form.refusal(partitions)) is not None:
            raise SyncFailed(SyncTrouble.REFUSED, f"The entry {self._catalog.entry} stays as it is. {refusal}")

    def _run_sync(self, table: HudiTable, *, dropped: bool) -> None:
        sync = classes(self._spark).org.apache.hudi.hive.HiveSyncTool
        sync(self._properties(table, dropped=dropped), self._configuration()).syncHoodieTable()

    def drop(self) -> tuple[str, ...]:
        """Drop the entries with the mark of this resource; the data stays where it is."""
        gone: list[str] = []
        with self._explained(), self._client() as client:
            for name in self._names:
                if client.tableExists(self._catalog.database, name) and self._is_ours(client, name):
                    client.dropTable(self._catalog.database, name, _KEEP_DATA, _IGNORE_MISSING)
                    gone.append(f"{self._catalog.database}.{name}")
        return tuple(gone)

    def _is_ours(self, client: JavaObject, name: str) -> bool:
        return _mark_of(client.getTable(self._catalog.database, name)) == self._uid

    @property
    def _names(self) -> tuple[str, ...]:
        return self._catalog.names(self._table.type)

    def _require_usable(self, client: JavaObject, name: str, table: HudiTable) -> None:
        """Raise `SyncFailed` for an entry of somebody else, and for an entry with other partition columns."""
        if not client.tableExists(self._catalog.database, name):
            return
        entry, found = f"{self._catalog.database}.{name}", client.getTable(self._catalog.database, name)
        self._require_ours(entry, found)
        # Hudi's sync leaves the partition columns of an entry as they are, and the partitions of earlier columns.
        shown = [str(each.getName()) for each in elements(found.getPartitionKeys())]
        if shown != [each.lower() for each in table.partition_columns]:
            raise SyncFailed(
                SyncTrouble.REFUSED,
                f"The entry {entry} of the Hive Metastore is partitioned by {_columns(shown)}, and the table by "
                f"{_columns(table.partition_columns)}. Drop the entry; the next sync makes it anew.",
            )

    def _require_ours(self, entry: str, found: JavaObject) -> None:
        """Raise `SyncFailed` for an entry without our mark, or of another folder."""
        mark, place = _mark_of(found), found.getSd().getLocation()
        if place is None or not _is_same(str(place), self._table.base_path):
            where = "no folder, as a view does" if place is None else shortened(str(place), _LONGEST_SHOWN)
            raise SyncFailed(
                SyncTrouble.TAKEN,
                f"The entry {entry} of the Hive Metastore points to {where}, and not to this table, so it was left "
                f"alone. Drop the entry, or {_ANOTHER_ENTRY}.",
            )
        if mark == self._uid or self._catalog.take_over:
            return
        whose = (
            f"belongs to another HudiTable, of uid {shortened(mark, _LONGEST_SHOWN)}"
            if mark
            else "was made by another tool"
        )
        raise SyncFailed(
            SyncTrouble.TAKEN,
            f"The entry {entry} of the Hive Metastore {whose}, so it was left alone. Drop the entry, set "
            f"spec.catalog.hive.takeOver if nobody else keeps it up to date, or {_ANOTHER_ENTRY}.",
        )

    def _database_exists(self, client: JavaObject) -> bool:
        found = client.getDatabases(self._catalog.database)
        return int(found.size()) > 0

    def _properties(self, table: HudiTable, *, dropped: bool) -> Properties:
        columns, style = table.partition_columns, self._catalog.partition_style
        settings = {
            "hoodie.datasource.meta.sync.base.path": self._table.base_path,
            f"{_SYNC}.mode": "hms",
            f"{_SYNC}.metastore.uris": ",".join(self._catalog.uris),
            f"{_SYNC}.database": self._catalog.database,
            f"{_SYNC}.table": self._catalog.table,
            f"{_SYNC}.auto_create_database": "false",
            f"{_SYNC}.partition_fields": ",".join(columns),
            f"{_SYNC}.partition_extractor_class": (
                f"org.apache.hudi.hive.{_EXTRACTORS[style] if columns else _UNPARTITIONED}"
            ),
            # A metastore took over ten seconds for Hudi's 1,000 at once. What a call has added stays.
            f"{_SYNC}.batch_num": "100",
            f"{_SYNC}.support_timestamp": "true",
            f"{_SYNC}.sync_comment": "true"
            if max(map(len, _comments(table)), default=0) <= _LONGEST_COMMENT
            else "false",
            f"{_SYNC}.table_properties": f"{MARK}={self._uid}",
            f"{_META}_sync.spark.version": str(self._spark.version),
            # An incremental sync alone drops partitions that commits have dropped and no clean has removed. That sync
            # never looks at partitions that are gone since, or that somebody dropped from the catalog.
            f"{_META}.sync.incremental": "true" if dropped else "false",
        }
        properties = classes(self._spark).java.util.Properties()
        for key, value in settings.items():
            properties.setProperty(key, value)
        return properties

    def _configuration(self) -> JavaObject:
        configuration = classes(self._spark).org.apache.hadoop.conf.Configuration(hadoop_configuration(self._spark))
        for key, value in ({"hive.metastore.uris": ",".join(self._catalog.uris)} | _CLIENT).items():
            configuration.set(key, value)
        return configuration

    @contextmanager
    def _client(self) -> Iterator[JavaObject]:
        jvm = classes(self._spark)
        configuration = jvm.org.apache.hadoop.hive.conf.HiveConf()
        configuration.addResource(self._configuration())
        client = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(configuration)
        try:
            yield client
        finally:
            client.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the exceptions of the block into `SyncFailed`."""
        try:
            yield
        except SyncFailed:
            raise
        except Exception as error:
            causes = causes_of(error)
            where = listed(self._catalog.uris, _MOST_NAMED)
            if is_away(causes):
                raise SyncFailed(
                    SyncTrouble.UNAVAILABLE,
                    f"The Hive Metastore at {where} does not answer; check that it runs and that the pods of jobs can "
                    "reach it.",
                ) from error
            _, cause = classify(causes, otherwise=_OTHERWISE)
            raise SyncFailed(
                SyncTrouble.REFUSED,
                f"The entry {self._catalog.entry} could not be written to the Hive Metastore at {where}: "
                f"{shortened(cause.first_line, _LONGEST_SHOWN)}",
            ) from error


def is_away(causes: Iterable[Cause]) -> bool:
    """Tell whether the metastore did not answer. A store that did not answer the sync or the metastore is no sign."""
    return any(_TRANSPORT in f"{each.kind} {each.message}" for each in causes)


def _mark_of(found: JavaObject) -> str | None:
    mark = found.getParameters().get(MARK)
    return None if mark is None else str(mark)


def _columns(names: Sequence[str]) -> str:
    return shortened(", ".join(names), _LONGEST_SHOWN) or "nothing"


def _comments(table: HudiTable) -> list[str]:
    """Return the comments of a table's columns; a column without a comment has none in the list."""
    schema = table.schema()
    found = [one.metadata.get("comment") for one in schema.fields] if schema is not None else []
    return [str(each) for each in found if each]


def _is_same(one: str, other: str) -> bool:
    """Tell whether two locations are the same folder; the metastore may have encoded its own."""
    places = [Location.parse_or_none(text) for text in (one, unquote(one), other)]
    return places[2] is not None and places[2].canonical in {each.canonical for each in places[:2] if each is not None}
