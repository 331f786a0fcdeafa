"""Columns of every type that is written come back as they were, to Spark and to hudi-rs, whatever wrote the files.

`Lake` and the row writer of Spark write lists in two ways, and Hudi reads base files with two readers, so each column
passes an upsert, an update, a clustering or compaction, and an update of the rewritten files.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hudi import HudiTableBuilder
from tests.spark_jobs.conftest import NOON
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs.contract import FailureReason, Outcome, Service
from hudi_jobs.table_services.compaction import EVERY_LOG_FILE

pytestmark = pytest.mark.spark

IN_LOGS = "times"
"""What hudi-rs 0.5 cannot read from a log file: a timestamp inside of another type ("reconcile: column 'times'")."""

OLD_LISTS = "parquet.avro.write-old-list-structure"

VALUES = {
    "null_in_array": "array('a', NULL)",  # apache/hudi#2265
    "one_field": "array(named_struct('sku', 'a'))",  # apache/hudi#5701, apache/hudi#19782
    "one_field_or_null": "array(named_struct('sku', 'a'), NULL)",
    "inner_struct": "array(named_struct('s', named_struct('a', 1, 'b', 2)))",  # "Avro field 'a' not found"
    "named_array": "array(named_struct('array', array(named_struct('array', 1))))",  # apache/hudi#7145
    "named_element": "array(named_struct('list', array(named_struct('element', 1, 'list', 2)), 'element', 1))",
    "two_fields_or_null": "array(named_struct('sku', 'a', 'n', 1), NULL)",
    "arrays": "array(array(1, NULL), NULL, array())",
    "no_element": "CAST(array() AS ARRAY<STRUCT<sku: STRING>>)",
    "no_array": "CAST(NULL AS ARRAY<STRUCT<sku: STRING>>)",
    "in_map": "map('k', array(named_struct('sku', 'a'), NULL))",
    "in_struct": "named_struct('x', array(named_struct('sku', 'a')))",  # apache/hudi#5985
    "maps": "array(map('a', 1, 'b', NULL), NULL)",
    "times": "array(TIMESTAMP'2026-03-01 12:00:00.123456', NULL)",
    "days": "array(DATE'1500-01-01', NULL)",
    "amounts": "array(CAST(1.5 AS DECIMAL(20, 2)), NULL)",
    "bytes": "array(X'FF00', NULL)",
    "small": "array(CAST(-3 AS SMALLINT), NULL)",
    "flags": "array(true, NULL)",
    "number": "CAST(-3 AS SMALLINT)",
    "digest": "X'FF00'",
}

IN_BULK = {
    **VALUES,
    "tiny": "CAST(-3 AS TINYINT)",
    "tinies": "array(CAST(-3 AS TINYINT), NULL)",
    "in_a_map": "map('k', CAST(-3 AS SMALLINT))",
    "in_a_struct": "named_struct('a', CAST(-3 AS SMALLINT), 'b', CAST(NULL AS TINYINT))",
    "floats": "array(CAST(0.1 AS FLOAT), CAST('NaN' AS FLOAT), NULL)",
    "of_int32": "array(CAST(-1.5 AS DECIMAL(5, 2)), NULL)",
    "of_int64": "named_struct('a', CAST(-1.5 AS DECIMAL(15, 2)), 'b', CAST(-1.5 AS DECIMAL(38, 2)))",
    "three_arrays": "array(array(array('a', NULL), NULL), NULL, array())",
    "three_kinds": "array(named_struct('a', array(named_struct('b', map('k', array(named_struct('c', X'FF')))))))",
    "one_field_twice": "named_struct('a', named_struct('b', 1))",
    "nothing": "named_struct('a', CAST(NULL AS STRING), 'b', CAST(NULL AS ARRAY<INT>))",
    "no_entry": "CAST(map() AS MAP<STRING, ARRAY<INT>>)",
    "named_by_parquet": "named_struct('key_value', map('key', 1), 'list', array(1), 'element', 'x')",
}
"""Columns for the row writer of a bulk insert, which writes Spark's rows and knows fewer types."""

_ALWAYS = ("null_in_array", "one_field", "arrays", "small")
BULK = {name: sql for name, sql in IN_BULK.items() if ALL or name not in VALUES or name in _ALWAYS}
COMPACTED = VALUES if ALL else dict(list(VALUES.items())[::2])


def put(lake: Any, name: str, sql: str, *, at: float) -> None:
    """Write the rows of a query as one Parquet file of the source."""
    made = Path(lake.folder, "made")
    session = lake.spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    session.sql(sql).coalesce(1).write.mode("overwrite").parquet(str(made))
    shutil.copy(next(made.glob("*.parquet")), lake.landing / name)
    os.utime(lake.landing / name, (NOON + at, NOON + at))


def rows(ids: Sequence[int], v: int, *, without: str = "", columns: Mapping[str, str] = VALUES) -> str:
    """The query of rows with these keys and a column of each type but one."""
    made = ", ".join(f"{value} AS {name}" for name, value in columns.items() if name != without)
    return f"SELECT CAST(id AS STRING) AS id, {made}, {v} AS v FROM VALUES {_listed(ids)} AS t(id)"


def _listed(ids: Sequence[int]) -> str:
    return ", ".join(f"({number})" for number in ids)


def natively(lake: Any, *names: str) -> list[tuple[Any, ...]]:
    """What hudi-rs reads."""
    table = pa.Table.from_batches(HudiTableBuilder.from_base_uri(lake.base_path).build().read())
    return sorted((tuple(row[name] for name in names) for row in table.to_pylist()), key=str)


def require_read_back(lake: Any, *files: str) -> None:
    """Compare what both readers find with rows of source files, which pyarrow reads."""
    table = pa.concat_tables([pq.read_table(lake.landing / name) for name in files])
    expected = [tuple(row.values()) for row in table.to_pylist()]
    assert sorted(map(_without_zone, natively(lake, *table.column_names))) == sorted(map(_without_zone, expected))
    made = lake.spark.read.parquet(*(str(lake.landing / name) for name in files)).collect()
    found = lake.spark.newSession().read.format("hudi").load(lake.base_path).select(*made[0].asDict()).collect()
    assert sorted(map(str, found)) == sorted(map(str, made))


def _without_zone(row: tuple[Any, ...]) -> str:
    """Show a row with times as they are in UTC: Spark's Parquet files do not name the zone."""
    return str(row).replace(", tzinfo=zoneinfo.ZoneInfo(key='UTC')", "")


@contextmanager
def old_lists(lake: Any) -> Iterator[None]:
    """Have Hudi's Avro writer write lists as all releases did until now."""
    conf = lake.spark._jsc.hadoopConfiguration()
    before = conf.get(OLD_LISTS)
    conf.set(OLD_LISTS, "true")
    yield
    conf.unset(OLD_LISTS) if before is None else conf.set(OLD_LISTS, before)


def test_arrays_of_every_kind_come_back_after_updates_and_a_clustering(lake: Any) -> None:
    lake.ingestion = {"files": {"format": "parquet", "options": {}}}
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}}
    put(lake, "a.parquet", rows(range(2), 1), at=1)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(lake, "a.parquet")
    put(lake, "b.parquet", rows(range(2), 2), at=2)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    put(lake, "c.parquet", rows(range(2, 4), 1), at=3)
    assert lake.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    assert lake.serve(Service.CLUSTERING).outcome is Outcome.SUCCEEDED
    require_read_back(lake, "b.parquet", "c.parquet")
    put(lake, "d.parquet", rows(range(4), 3), at=4)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(lake, "d.parquet")


def test_arrays_of_every_kind_come_back_after_updates_and_a_compaction(lake: Any) -> None:
    lake.ingestion = {"files": {"format": "parquet", "options": {}}}
    lake.table = {"type": "MergeOnRead"}
    for number in range(1, 3):
        put(lake, f"{number}.parquet", rows(range(2), number, without=IN_LOGS, columns=COMPACTED), at=number)
        assert lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(lake, "2.parquet")
    assert lake.serve(Service.COMPACTION, options=EVERY_LOG_FILE).outcome is Outcome.SUCCEEDED
    require_read_back(lake, "2.parquet")
    put(lake, "3.parquet", rows(range(2, 4), 3, without=IN_LOGS, columns=COMPACTED), at=3)  # into the small file
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(lake, "2.parquet", "3.parquet")


@pytest.mark.parametrize("kind", sampled("CopyOnWrite", "MergeOnRead"))
def test_arrays_of_every_kind_come_back_after_bulk_inserts_and_an_update(lake: Any, kind: str) -> None:
    without = IN_LOGS if kind == "MergeOnRead" else ""
    lake.ingestion = {"files": {"format": "parquet", "options": {}}}
    lake.table = {"type": kind}
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}}
    put(lake, "a.parquet", rows(range(2), 1, without=without, columns=BULK), at=1)
    assert lake.ingest(operation="BulkInsert").outcome is Outcome.SUCCEEDED
    require_read_back(lake, "a.parquet")
    put(lake, "b.parquet", rows(range(2), 2, without=without, columns=BULK), at=2)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    put(lake, "c.parquet", rows(range(2, 4), 1, without=without, columns=BULK), at=3)
    assert lake.ingest(operation="BulkInsert").outcome is Outcome.SUCCEEDED
    require_read_back(lake, "b.parquet", "c.parquet")


ONE_FIELD = """
SELECT '{0}' AS id, named_struct('items', array(named_struct('sku', 'a'))) AS basket, {1} AS v, 'p{2}' AS part
"""


@pytest.fixture
def old_lake(lake: Any) -> Any:
    """A table whose one file holds an array of structs with one field as an old list."""
    lake.table = {"partitionBy": ["part"]}
    lake.ingestion = {"files": {"format": "parquet", "options": {}}}
    put(lake, "old.parquet", ONE_FIELD.format(1, 1, 1), at=1)
    with old_lists(lake):
        assert lake.ingest().outcome is Outcome.SUCCEEDED
    return lake


def test_an_old_list_that_hudi_cannot_read_is_named_before_the_write_until_it_was_clustered(old_lake: Any) -> None:
    before = old_lake.instants()
    put(old_lake, "new.parquet", ONE_FIELD.format(1, 2, 1), at=2)
    result = old_lake.ingest()
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.SCHEMA_INCOMPATIBLE), result
    assert "basket.items" in result.message
    assert "Cluster the table" in result.message
    assert old_lake.instants() == before
    assert old_lake.serve(Service.CLUSTERING).outcome is Outcome.SUCCEEDED
    assert old_lake.serve(Service.CLUSTERING).outcome is Outcome.NOTHING_TO_DO
    assert old_lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(old_lake, "new.parquet")


def test_an_old_list_in_another_partition_stops_no_write(old_lake: Any) -> None:
    put(old_lake, "new.parquet", ONE_FIELD.format(2, 2, 2), at=2)
    assert old_lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(old_lake, "old.parquet", "new.parquet")


def test_old_lists_of_other_elements_are_updated_and_may_hold_nulls_from_then_on(lake: Any) -> None:
    lake.ingestion = {"files": {"format": "parquet", "options": {}}}
    put(lake, "a.parquet", "SELECT '1' AS id, array('a') AS t, array(named_struct('a', 1, 'b', 2)) AS s", at=1)
    with old_lists(lake):
        assert lake.ingest().outcome is Outcome.SUCCEEDED
    query = "SELECT '1' AS id, array('a', NULL) AS t, array(named_struct('a', 1, 'b', 2), NULL) AS s"
    put(lake, "b.parquet", query, at=2)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    require_read_back(lake, "b.parquet")
