"""Columns, and parts of columns, that hold only nulls get no type until a run sees a value."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.ingestion.results import ingested, refused
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason

pytestmark = pytest.mark.spark

JSON: dict[str, Any] = {"format": "json", "options": {}}
PARQUET: dict[str, Any] = {"format": "parquet", "options": {}}

NOTHING: dict[str, Any] = {
    "n": None,
    "list": [],
    "nulls": [None],
    "deep": [[], [None]],
    "objects": [{}, None],
    "object": {},
    "inner": {"x": None, "y": {"z": []}},
    "part": {"a": 1, "b": None, "c": [{}]},
    "items": [{"sku": "s", "note": None}, None],
    "empty": "",  # Spark takes an empty text for null
    "empties": ["", None],
}
VALUES: dict[str, Any] = {
    "n": 5,
    "list": [1.5],
    "nulls": [True],
    "deep": [[2]],
    "objects": [{"k": "v"}],
    "object": {"k": "v"},
    "inner": {"x": {"q": 1}, "y": {"z": ["t"]}},
    "part": {"a": 2, "b": "text", "c": [{"d": 1}]},
    "items": [{"sku": "s", "note": 7}],
    "empty": "x",
    "empties": ["y"],
}


def found(lake: Any, key: int) -> dict[str, Any]:
    """The values of a row, with structs as Python has them."""
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path).where(f"id = {key}")
    (row,) = frame.collect()
    return {name: value for name, value in row.asDict(recursive=True).items() if not name.startswith("_hoodie")}


def types(lake: Any) -> dict[str, str]:
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    return {one.name: one.dataType.simpleString() for one in frame.schema if not one.name.startswith("_hoodie")}


def test_json_columns_of_nulls_have_no_type_until_a_file_has_a_value(lake: Any) -> None:
    """SPARK-12436 and SPARK-23772: a guessed text meets a number later, and no run goes on."""
    lake.put("0.json", json.dumps({"id": 1, **NOTHING}) + "\n" + json.dumps({"id": 2, "n": None, "empty": None}))
    message = ingested(lake, files=JSON).message
    assert types(lake) == {
        "id": "bigint",
        "part": "struct<a:bigint>",
        "items": "array<struct<sku:string>>",
        "empty": "string",
        "empties": "array<string>",
    }
    assert found(lake, 1) == {
        "id": 1,
        "part": {"a": 1},
        "items": [{"sku": "s"}, None],
        "empty": "",
        "empties": ["", None],
    }
    assert "Left out 10 columns without a value" in message
    lake.put("1.json", json.dumps({"id": 3, **NOTHING}))
    lake.put("2.json", json.dumps({"id": 4, **VALUES}))
    ingested(lake, files=JSON)
    assert found(lake, 4) == {"id": 4, **VALUES}
    assert types(lake)["n"] == "bigint"
    assert types(lake)["inner"] == "struct<x:struct<q:bigint>,y:struct<z:array<string>>>"
    lake.put("3.json", json.dumps({"id": 4, **NOTHING}))
    ingested(lake, files=JSON)
    of_table = {
        "objects": [{"k": None}, None],
        "object": {"k": None},
        "part": {"a": 1, "b": None, "c": [{"d": None}]},
    }
    assert found(lake, 4) == {"id": 4, **NOTHING, **of_table}
    assert found(lake, 1)["n"] is None


def test_values_without_a_type_do_not_become_values_of_another_shape(lake: Any) -> None:
    lake.put("0.json", '{"id": 1, "v": 1, "w": {"x": 1}}')
    ingested(lake, files=JSON)
    for name, value in (("v", []), ("v", {}), ("w", [None])):
        lake.put("1.json", json.dumps({"id": 2, "v": 1, "w": {"x": 1}, name: value}))
        refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, f"column {name}", files=JSON)
    lake.put("1.json", '[{"id": 2, "v": null, "w": {}, "new": []}, {"id": 3, "v": null, "w": null}]')
    multiline = {**JSON, "options": {"multiLine": "true"}}
    ingested(lake, files=multiline, schemaEvolution="None")
    assert found(lake, 2) == {"id": 2, "v": None, "w": {"x": None}}
    assert found(lake, 3) == {"id": 3, "v": None, "w": None}


@pytest.mark.parametrize(
    ("role", "table"),
    [
        ("record key", {"recordKey": ["k"]}),
        ("partition", {"partitionBy": ["k"]}),
        ("ordering", {"orderingFields": ["k"]}),
    ],
)
def test_column_that_a_new_table_needs_is_named_where_no_row_has_a_value(
    lake: Any, role: str, table: dict[str, Any]
) -> None:
    lake.table = table
    lake.put("0.json", '{"id": 1, "k": null}\n')
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, f"{role} column k has no value", "Declare", files=JSON)
    lake.put("1.json", '{"id": 2, "k": 5}\n')
    result = lake.ingest(files=JSON)
    if role == "partition":
        assert sorted(lake.rows("id", "k")) == [(1, None), (2, 5)]
    else:
        assert result.reason in {FailureReason.RECORD_KEY_NULL, FailureReason.BAD_RECORDS}, result


def test_transform_names_columns_of_nulls(lake: Any) -> None:
    lake.put("0.json", json.dumps({"id": 1, **NOTHING}))
    sql = "SELECT id, coalesce(n, 7) AS n, size(list) AS size, CAST(nulls AS ARRAY<INT>) AS nulls, objects FROM source"
    ingested(lake, files=JSON, transformSql=sql)
    assert found(lake, 1) == {"id": 1, "n": 7, "size": 0, "nulls": [None]}


def put(lake: Any, name: str, /, **columns: Any) -> None:
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), **columns}), lake.landing / name)


PARTLY = pa.struct([("a", pa.int64()), ("b", pa.null()), ("c", pa.list_(pa.null()))])
WHOLLY = pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.list_(pa.float64()))])


def test_parts_of_parquet_columns_without_a_value_have_no_type_either(lake: Any) -> None:
    """SPARK-54220: Spark makes an INT of such a part."""
    rows = [{"a": 1, "b": None, "c": [None]}, None]
    columns = {
        "s": pa.array(rows, PARTLY),
        "l": pa.array([rows, []], pa.list_(PARTLY)),
        "m": pa.array([[("k", None)], []], pa.map_(pa.string(), pa.null())),
        "o": pa.array([[("k", rows[0])], None], pa.map_(pa.string(), PARTLY)),
    }
    put(lake, "0.parquet", **columns)
    message = ingested(lake, files=PARQUET).message
    assert types(lake) == {
        "id": "bigint",
        "s": "struct<a:bigint>",
        "l": "array<struct<a:bigint>>",
        "o": "map<string,struct<a:bigint>>",
    }
    assert found(lake, 1) == {"id": 1, "s": {"a": 1}, "l": [{"a": 1}, None], "o": {"k": {"a": 1}}}
    assert "'m'" in message
    assert "'s.b'" in message
    whole = [{"a": 2, "b": "t", "c": [1.5]}, None]
    more = {
        "s": pa.array(whole, WHOLLY),
        "l": pa.array([whole, None], pa.list_(WHOLLY)),
        "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        "o": pa.array([[("k", whole[0])], None], pa.map_(pa.string(), WHOLLY)),
    }
    put(lake, "1.parquet", **more)
    ingested(lake, files=PARQUET)
    assert found(lake, 1) == {"id": 1, "s": whole[0], "l": whole, "m": {"k": 1}, "o": {"k": whole[0]}}
    declared = ", ".join(f"{name} {kind}" for name, kind in types(lake).items())
    for number, source in enumerate(sampled({**PARQUET, "schemaDdl": declared}, PARQUET)):
        put(lake, f"{number + 2}.parquet", **columns)
        ingested(lake, files=source)
        nothing = {"a": 1, "b": None, "c": [None]}
        assert found(lake, 1) == {"id": 1, "s": nothing, "l": [nothing, None], "m": {"k": None}, "o": {"k": nothing}}
        assert found(lake, 2) == {"id": 2, "s": None, "l": [], "m": {}, "o": None}


def test_avro_columns_of_nulls_take_the_type_of_another_file(lake: Any) -> None:
    for number, sql in enumerate(("SELECT 1L AS id, NULL AS x, NULL AS y", "SELECT 2L AS id, 'a' AS x, NULL AS y")):
        folder = lake.folder / f"out-{number}"
        lake.spark.sql(sql).coalesce(1).write.format("avro").save(str(folder))
        (part,) = folder.glob("part-*")
        part.rename(lake.landing / f"{number}.avro")
    assert "'y'" in ingested(lake, files={"format": "avro", "options": {}}).message
    assert lake.rows() == [(1, None), (2, "a")]
