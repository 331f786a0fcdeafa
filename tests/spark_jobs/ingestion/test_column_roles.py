"""Keys, partitions and ordering fields of each type: what is allowed comes back exactly, the rest is refused before it
is written. `test_column_roles_without_a_jvm.py` has the rules; here Hudi shows that they hold."""

from typing import Any

import pytest
from tests.spark_jobs.ingestion.test_columns_read_back import natively, put, require_read_back
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome

pytestmark = pytest.mark.spark

PARQUET = {"files": {"format": "parquet", "options": {}}}
HOURS = "id STRING, hour TIMESTAMP, v INT"


def test_a_timestamp_partition_is_refused_before_the_table_is_made(lake: Any) -> None:
    lake.table = {"partitionBy": ["hour"]}
    lake.put("a.json", '{"id":"1","hour":"2026-03-01 12:00:00","v":1}\n')
    for operation in ("Upsert", "BulkInsert"):
        result = lake.ingest(operation=operation, files={"format": "json", "options": {}, "schemaDdl": HOURS})
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.SCHEMA_INCOMPATIBLE), result
        assert "The partition column hour is timestamp" in result.message
        assert "date_format(hour, 'yyyy-MM-dd-HH')" in result.message
        assert not (lake.folder / "table/.hoodie").exists()


def test_a_table_that_has_a_timestamp_partition_goes_on_and_its_runs_say_what_readers_get(lake: Any) -> None:
    lake.table = {"partitionBy": ["hour"]}
    options = {**lake.request().tasks[0].hudi_options, "hoodie.datasource.write.operation": "upsert"}
    first = lake.spark.sql("SELECT '1' AS id, TIMESTAMP'2026-03-01 12:00:00' AS hour, 1 AS v")
    first.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    lake.put("a.json", '{"id":"1","hour":"2026-03-01 12:00:00","v":2}\n')
    result = lake.ingest(files={"format": "json", "options": {}, "schemaDdl": HOURS})
    assert result.outcome is Outcome.SUCCEEDED, result
    assert "The partition column hour is timestamp" in result.message
    assert lake.rows("id", "v") == [("1", 2)]


def test_advised_replacement_of_a_timestamp_partition_is_read_by_all(lake: Any) -> None:
    lake.table = {"partitionBy": ["hour_text", "day"]}
    lake.put("a.json", '{"id":"1","hour":"2026-03-01 12:30:00","v":1}\n{"id":"2","v":2}\n')  # apache/hudi#11900
    query = "SELECT *, date_format(hour, 'yyyy-MM-dd-HH') AS hour_text, CAST(hour AS DATE) AS day FROM source"
    source = {"format": "json", "options": {}, "schemaDdl": HOURS}
    assert lake.ingest(files=source, transformSql=query).outcome is Outcome.SUCCEEDED
    found = lake.spark.read.format("hudi").load(lake.base_path)
    assert [row.id for row in found.where("hour_text = '2026-03-01-12' AND day = DATE'2026-03-01'").collect()] == ["1"]
    assert [row.id for row in found.where("day IS NULL").collect()] == ["2"]
    assert [row[1] for row in natively(lake, "id", "hour_text")] == ["2026-03-01-12", None]


PARTITIONS = {
    "day": ("DATE'1969-12-31'", "DATE'2026-03-01'"),
    "flag": ("false", "true"),
    "small": ("CAST(-2 AS TINYINT)", "CAST(1 AS TINYINT)"),
    "number": ("-9223372036854775807", "9007199254740993"),
    "ratio": ("1.0E-7D", "CAST('NaN' AS DOUBLE)"),
    "share": ("CAST(0.1 AS FLOAT)", "CAST(1E20 AS FLOAT)"),
    "amount": ("CAST(-0.01 AS DECIMAL(10, 2))", "CAST(1.50 AS DECIMAL(10, 2))"),
    "tiny": ("CAST(0.0000001 AS DECIMAL(20, 10))", "CAST(0 AS DECIMAL(20, 10))"),
    "code": ("'007'", "'1.50'"),
}


def test_partitions_of_every_allowed_type_come_back_and_are_found(lake: Any) -> None:
    lake.table = {"partitionBy": list(PARTITIONS)}
    lake.ingestion = PARQUET
    first, second = (", ".join(f"{two[n]} AS {name}" for name, two in PARTITIONS.items()) for n in range(2))
    nothing = ", ".join(f"NULL AS {name}" for name in PARTITIONS)
    query = f"SELECT '1' AS id, {first}, 1 AS v UNION ALL SELECT '2', {second}, 1 UNION ALL SELECT '3', {nothing}, 1"
    put(lake, "a.parquet", query, at=1)
    put(lake, "b.parquet", f"SELECT '1' AS id, {first}, 2 AS v UNION ALL SELECT '2', {second}, 2", at=2)
    assert lake.ingest(maxFiles=1).outcome is Outcome.SUCCEEDED
    require_read_back(lake, "a.parquet")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    found = lake.spark.read.format("hudi").load(lake.base_path)
    conditions = [f"count(CASE WHEN {name} <=> {two[1]} THEN 1 END)" for name, two in PARTITIONS.items()]
    assert set(found.selectExpr(*conditions).first()) == {1}
    for name, two in PARTITIONS.items():
        assert [tuple(row) for row in found.where(f"{name} <=> {two[1]}").select("id", "v").collect()] == [("2", 2)]


KEYS = {
    "day": ("DATE'1969-12-31'", "DATE'1970-01-01'"),
    "flag": ("false", "true"),
    "ratio": ("-0.0D", "0.0D"),
    "whole": ("9007199254740992D", "9007199254740994D"),
    "share": ("CAST('NaN' AS FLOAT)", "CAST(0.1 AS FLOAT)"),
    "at": ("TIMESTAMP'2026-03-01 12:00:00.123456'", "TIMESTAMP'2026-03-01 12:00:00.123457'"),
    "local": ("TIMESTAMP_NTZ'2026-03-01 12:00:00.123456'", "TIMESTAMP_NTZ'2026-03-01 12:00:00.123457'"),
    "digest": ("X'FF00'", "X'FE00'"),
    "amount": (
        "CAST('12345678901234567890123456789012345678' AS DECIMAL(38, 0))",
        "CAST('12345678901234567890123456789012345679' AS DECIMAL(38, 0))",
    ),
    "tiny": ("CAST(0.0000000001 AS DECIMAL(20, 10))", "CAST(0 AS DECIMAL(20, 10))"),
    "pair": ("named_struct('a', 'x, y', 'b', NULL)", "named_struct('a', 'x', 'b', 'y')"),
}


@pytest.mark.parametrize("kind", sampled("CopyOnWrite", "MergeOnRead"))
def test_keys_of_every_allowed_type_are_exact(lake: Any, kind: str) -> None:
    """Each key differs from the first one in one column, by as little as its type can tell apart."""
    lake.table = {"recordKey": list(KEYS), "type": kind}
    lake.ingestion = PARQUET
    for v in (1, 2):
        keys = [{name: two[0] for name, two in KEYS.items()} | {name: KEYS[name][1]} for name in KEYS]
        keys.append({name: two[0] for name, two in KEYS.items()})
        selects = (", ".join(f"{value} AS {name}" for name, value in key.items()) for key in keys)
        query = " UNION ALL ".join(f"SELECT {one}, {n} AS nth, {v} AS v" for n, one in enumerate(selects))
        put(lake, f"{v}.parquet", query, at=v)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.rows("nth", "v") == [(n, 2) for n in range(len(KEYS) + 1)]


@pytest.mark.parametrize(
    ("column", "operation"), [("c ARRAY<STRING>", "Upsert"), ("c TIMESTAMP", "BulkInsert"), ("c BINARY", "BulkInsert")]
)
def test_a_key_whose_text_is_not_exact_is_refused_before_the_table_is_made(
    lake: Any, column: str, operation: str
) -> None:
    lake.table = {"recordKey": ["c"]}
    lake.put("a.json", '{"v":1}\n')
    source = {"format": "json", "options": {}, "schemaDdl": f"{column}, v INT"}
    result = lake.ingest(files=source, operation=operation)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.SCHEMA_INCOMPATIBLE), result
    assert "The record key column c is " in result.message
    assert not (lake.folder / "table/.hoodie").exists()


@pytest.mark.parametrize("column", ["day DATE", "day DECIMAL(10,2)"])
def test_an_ordering_field_that_hudi_cannot_compare_is_refused_before_the_table_is_made(lake: Any, column: str) -> None:
    lake.table = {"orderingFields": ["day"]}
    lake.put("a.json", '{"id":"1","day":null}\n')
    result = lake.ingest(files={"format": "json", "options": {}, "schemaDdl": f"id STRING, {column}"})
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.SCHEMA_INCOMPATIBLE), result
    assert "The ordering column day is " in result.message
    assert not (lake.folder / "table/.hoodie").exists()


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("array(map(1, 'a')) AS c", "c.element"),
        ("map(1, 'a') AS c", "c"),
        ("INTERVAL '1' DAY AS c", "c"),
    ],
)
def test_a_column_that_cannot_be_written_is_named_before_the_write(lake: Any, expression: str, column: str) -> None:
    lake.put("a.csv", "id\n1\n")
    result = lake.ingest(transformSql=f"SELECT *, {expression} FROM source")
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.SCHEMA_INCOMPATIBLE), result
    assert f"The column {column} is " in result.message
    assert not (lake.folder / "table/.hoodie").exists()


def test_a_column_that_a_later_batch_brings_is_looked_at_too(lake: Any) -> None:
    lake.put("a.csv", "id\n1\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    lake.put("b.csv", "id\n2\n", at=1)
    result = lake.ingest(transformSql="SELECT *, map(1, 'a') AS c FROM source")
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.SCHEMA_INCOMPATIBLE), result
    assert "The column c is map<int,string>" in result.message
