"""A table with declared columns: what it is created with, how it evolves, and which rows and columns are refused."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.ingestion.results import ingested, refused
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome

pytestmark = pytest.mark.spark

JSON = {"files": {"format": "json", "options": {}}}
PARQUET = {"files": {"format": "parquet", "options": {}}}
COLUMNS: list[dict[str, Any]] = [
    {"name": "id", "type": "bigint", "nullable": False, "comment": "the flight"},
    {"name": "price", "type": "decimal(6,2)"},
    {"name": "legs", "type": "array<struct<origin:string,miles:int>>"},
]


def declare(lake: Any, columns: list[dict[str, Any]] = COLUMNS, **fields: Any) -> None:
    lake.table = {**lake.table, "declared": {"columns": columns, **fields}}


def column(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **fields}


def lines(*rows: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, rows))


def types(lake: Any) -> dict[str, str]:
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    return {one.name: one.dataType.simpleString() for one in frame.schema if not one.name.startswith("_hoodie_")}


@pytest.mark.parametrize("table_type", sampled("CopyOnWrite", "MergeOnRead"))
def test_the_first_run_creates_the_declared_columns_and_later_runs_add_and_widen(lake: Any, table_type: str) -> None:
    lake.table = {"type": table_type}
    declare(lake)
    lake.put("a.json", lines({"id": 1, "legs": [{"origin": "TXL"}]}, {"id": 2, "price": 1.5}))
    ingested(lake, **JSON)
    assert types(lake) == {one["name"]: one["type"] for one in COLUMNS}
    assert lake.rows() == [(1, None, [("TXL", None)]), (2, Decimal("1.50"), None)]

    wider = [
        COLUMNS[0],
        column("price", "decimal(8,2)"),
        column("legs", "array<struct<origin:string,miles:int,gate:string>>"),
        column("seen", "timestamp"),
    ]
    declare(lake, wider)
    lake.put("b.json", lines({"id": 2, "price": 123456.78, "legs": [{"origin": "BER", "gate": "A1"}]}), at=1)
    ingested(lake, **JSON)
    assert types(lake) == {one["name"]: one["type"] for one in wider}
    assert lake.rows("id", "price", "legs") == [
        (1, None, [("TXL", None, None)]),
        (2, Decimal("123456.78"), [("BER", None, "A1")]),
    ]


def test_a_change_that_loses_values_is_refused_and_names_the_column(lake: Any) -> None:
    declare(lake)
    lake.put("a.json", lines({"id": 1, "price": 1234.5}))
    ingested(lake, **JSON)
    lake.put("b.json", lines({"id": 2}), at=1)

    declare(lake, [COLUMNS[0], column("price", "decimal(5,2)"), COLUMNS[2]])
    refused(lake, FailureReason.TABLE_MISMATCH, "schema.columns[price]", "cannot become narrower", **JSON)
    declare(lake, COLUMNS[:2])
    refused(lake, FailureReason.TABLE_MISMATCH, "schema.columns[legs]", "no run drops or renames a column", **JSON)
    declare(lake, [*COLUMNS, column("gate", "string")], evolution="None")
    refused(lake, FailureReason.TABLE_MISMATCH, "schema.columns[gate]", "AddColumns", **JSON)
    declare(lake, [*COLUMNS, column("gate", "string", nullable=False)])
    refused(lake, FailureReason.TABLE_MISMATCH, "schema.columns[gate]", "nullable true", **JSON)
    assert types(lake)["price"] == "decimal(6,2)"


def quarantined(lake: Any, folder: str) -> list[dict[str, Any]]:
    files = Path(lake.folder, "bad").rglob(f"{folder}/*.json")
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted(found, key=lambda one: str(one["record"]))


def test_values_that_do_not_fit_are_bad_rows_with_file_column_and_cause(lake: Any) -> None:
    declare(lake)
    rows: list[dict[str, Any]] = [{"id": 1, "price": 10.5}, {"id": 2, "price": 12345.6}, {"id": "3"}]
    lake.put("a.json", lines(*rows, {"id": 4, "price": 0.123}))
    where = ("3 of 4 rows", "a.json", "column 'id' holds a value that is no BIGINT")
    refused(lake, FailureReason.BAD_RECORDS, *where, **JSON)

    policy = {"bad_records": "Quarantine", "quarantine_path": f"{lake.root}/bad"}
    result = ingested(lake, **JSON, **policy)
    assert result.rows_quarantined == 3
    assert lake.rows("id", "price") == [(1, Decimal("10.50"))]
    assert [one["column"] for one in quarantined(lake, "unreadable")] == ["id", "price", "price"]


def test_values_of_typed_files_that_do_not_fit_are_bad_rows_with_their_own_values(lake: Any) -> None:
    columns = [column("id", "int"), column("price", "decimal(6,2)"), column("gate", "string", nullable=False)]
    declare(lake, columns)
    rows = "(1, 1.50, 'A'), (5000000000, 2.00, 'B'), (3, 3.125, 'C'), (4, 4.00, NULL), (NULL, 5.00, 'E')"
    source = lake.spark.sql(
        f"SELECT CAST(a AS BIGINT) id, CAST(b AS DECIMAL(9,3)) price, c gate FROM VALUES {rows} t(a, b, c)"
    )
    source.coalesce(1).write.parquet(f"{lake.folder}/in/a")
    refused(lake, FailureReason.BAD_RECORDS, "3 of 5 rows do not fit their columns", "gate 1", "id 1", **PARQUET)

    policy = {"bad_records": "Quarantine", "quarantine_path": f"{lake.root}/bad"}
    result = ingested(lake, **PARQUET, **policy)
    assert result.rows_quarantined == 4
    assert lake.rows() == [(1, Decimal("1.50"), "A")]
    assert types(lake) == {"id": "int", "price": "decimal(6,2)", "gate": "string"}
    found = quarantined(lake, "unfit")
    assert [(one["column"], json.loads(one["record"])["id"]) for one in found] == [
        ("price", 3),
        ("gate", 4),
        ("id", 5000000000),
    ]
    assert [one["reason"] for one in quarantined(lake, "no-record-key")] == ["no record key"]
    assert all("/in/a/part-" in one["source_file"] for one in found)


def test_a_type_that_cannot_hold_the_values_is_refused_as_a_whole(lake: Any) -> None:
    declare(lake, [column("id", "bigint"), column("day", "date")])
    source = lake.spark.sql("SELECT 1L id, '2026-03-01' day")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/a")
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "day is string in the input", "declares date", **PARQUET)
    ingested(lake, **PARQUET, transform_sql="SELECT id, CAST(day AS DATE) AS day FROM source")


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_an_undeclared_column_is_refused_by_name_or_ignored_on_request(lake: Any, form: str) -> None:
    declare(lake, [column("id", "bigint"), column("gate", "string")])
    if form == "parquet":
        lake.spark.sql("SELECT 1L id, 'x' odd").coalesce(1).write.parquet(f"{lake.folder}/in/a")
    else:
        lake.put("a", "id,odd\n1,x\n" if form == "csv" else lines({"id": 1, "odd": "x"}))
    changes = {"files": {"format": form, "options": {"header": "true"} if form == "csv" else {}}}
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "'odd'", "schema.undeclared", **changes)

    declare(lake, [column("id", "bigint"), column("gate", "string")], undeclared="Ignore")
    result = ingested(lake, **changes)
    assert lake.rows() == [(1, None)]
    assert form == "json" or "odd" in result.message


def test_fields_of_structs_are_named_like_columns_when_they_are_absent_or_ignored(lake: Any) -> None:
    declare(lake, [column("id", "bigint"), column("stop", "struct<gate:string,miles:int>")], undeclared="Ignore")
    lake.spark.sql("SELECT 1L id, named_struct('gate', 'A', 'odd', 2) stop").write.parquet(f"{lake.folder}/in/a")
    result = ingested(lake, **PARQUET)
    assert "Null for lack of a column in the input: 'stop.miles'" in result.message
    assert "Ignored columns that schema.columns does not declare: 'stop.odd'" in result.message
    assert lake.rows() == [(1, ("A", None))]


def test_a_field_in_other_letters_is_refused_and_not_ignored(lake: Any) -> None:
    declare(lake, [column("id", "bigint"), column("stop", "struct<gate:string>")], undeclared="Ignore")
    lake.spark.sql("SELECT 1L id, named_struct('Gate', 'A') stop").write.parquet(f"{lake.folder}/in/a")
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "'stop.Gate'", "upper or lower case", **PARQUET)


def test_an_absent_column_needs_to_be_nullable(lake: Any) -> None:
    declare(lake, [column("id", "bigint"), column("gate", "string", nullable=False)])
    lake.spark.sql("SELECT 1L id").coalesce(1).write.parquet(f"{lake.folder}/in/a")
    refused(lake, FailureReason.COLUMN_MISSING, "'gate'", "nullable false", **PARQUET)

    declare(lake, [column("id", "bigint"), column("gate", "string")])
    result = ingested(lake, **PARQUET)
    assert "Null for lack of a column in the input: 'gate'" in result.message
    assert lake.rows() == [(1, None)]


@pytest.mark.parametrize("form", ["csv", *sampled("parquet", "orc", "avro")])
def test_a_column_that_only_some_files_have_is_named_with_a_file_that_lacks_it(lake: Any, form: str) -> None:
    declare(lake, [column("id", "bigint"), column("gate", "string"), column("dt", "string")])
    for name, sql in (("a", "SELECT 1L id, 'A' gate, 'x' dt"), ("b", "SELECT 2L id, 'x' dt")):
        folder = f"{lake.folder}/{name}"
        lake.spark.sql(sql).coalesce(1).write.format(form).option("header", "true").save(folder)
        (part,) = Path(folder).glob("part-*")
        part.rename(lake.landing / f"{name}.{form}")
    options = {"header": "true"} if form == "csv" else {}
    result = ingested(lake, files={"format": form, "options": options})
    assert f"Columns that files lack are null in their rows: gate ({lake.source}/b.{form})" in result.message
    assert lake.rows("id", "gate") == [(1, "A"), (2, None)]


@pytest.mark.parametrize("form", sampled("parquet", "csv"))
def test_an_empty_text_is_a_bad_row_where_its_partition_column_needs_a_value(lake: Any, form: str) -> None:
    """Hudi puts the row into the partition of null, and readers find null."""
    lake.table = {"partitionBy": ["gate"]}
    declare(lake, [column("id", "bigint"), column("gate", "string", nullable=False), column("note", "string")])
    if form == "parquet":
        source = lake.spark.sql("SELECT * FROM VALUES (1L, '', ''), (2L, 'A', '') t(id, gate, note)")
        source.coalesce(1).write.parquet(f"{lake.folder}/in/a")
    else:
        lake.put("a", 'id,gate,note\n1,"",""\n2,A,""\n')
    changes: dict[str, Any] = {"files": {"format": form, "options": {"header": "true"} if form == "csv" else {}}}
    refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows", "gate 1", **changes)

    ingested(lake, **changes, bad_records="Quarantine", quarantine_path=f"{lake.root}/bad")
    assert lake.rows("id", "gate", "note") == [(2, "A", "")]
    (found,) = quarantined(lake, "unfit")
    assert found["column"] == "gate"
    assert "empty" in found["reason"]


@pytest.mark.parametrize("operation", sampled("Insert", "BulkInsert", "InsertOverwrite"))
def test_every_operation_writes_the_declared_types(lake: Any, operation: str) -> None:
    declare(lake)
    legs = "array(named_struct('miles', 7)) legs"
    source = lake.spark.sql(f"SELECT CAST(1 AS SMALLINT) id, CAST(1.5 AS DECIMAL(4,1)) price, {legs}")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/a")
    ingested(lake, **PARQUET, operation=operation)
    assert types(lake) == {one["name"]: one["type"] for one in COLUMNS}
    assert lake.rows() == [(1, Decimal("1.50"), [(None, 7)])]


def test_a_delete_needs_the_columns_of_the_key_alone_and_later_runs_go_on(lake: Any) -> None:
    declare(lake, [*COLUMNS, column("gate", "string", nullable=False)])
    lake.put("a.json", lines({"id": 1, "gate": "A"}, {"id": 2, "gate": "B"}))
    ingested(lake, **JSON)
    source = lake.spark.sql("SELECT 1L id")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/b")
    ingested(lake, files={**PARQUET["files"], "path_glob": "*.parquet"}, operation="Delete")
    lake.put("c.json", lines({"id": 3, "gate": "C"}), at=9)
    ingested(lake, files={**JSON["files"], "path_glob": "c.json"})
    assert lake.rows("id", "gate") == [(2, "B"), (3, "C")]


def test_comments_are_in_the_schema_of_the_commit(lake: Any) -> None:
    declare(lake)
    lake.put("a.json", lines({"id": 1}))
    assert lake.ingest(**JSON).outcome is Outcome.SUCCEEDED
    schema = lake.spark.newSession().read.format("hudi").load(lake.base_path).schema
    assert schema["id"].metadata.get("comment") == "the flight"
