"""Input that must not get into the table: what the run says, and that the table is as it was before."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import crossed, sampled

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location, Outcome, TaskResult
from hudi_jobs.ingestion.rows import PLACE
from hudi_operator.control.snapshots.reading import NO_QUESTIONS, read_snapshot
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader

pytestmark = pytest.mark.spark

GOOD = "id,carrier,delay\n1,AA,5\n2,UA,7\n"
DDL = "id INT, carrier STRING, delay INT"
TYPED = {"files": {"schemaDdl": DDL}}
JSON = {"files": {"format": "json", "options": {}}}


def with_table(lake: Any, **changes: Any) -> None:
    """Give the lake a table with two rows, so that a refused run has something to spoil."""
    lake.put("0-good.csv", GOOD)
    result = lake.ingest(**{**TYPED, **changes})
    assert result.outcome is Outcome.SUCCEEDED, result


def refused(lake: Any, reason: FailureReason, *parts: str, **changes: Any) -> TaskResult:
    """Run, expect this refusal, and expect that nothing has been written."""
    before = everything(lake.folder / "table")
    result: TaskResult = lake.ingest(**changes)
    assert (result.outcome, result.reason) == (Outcome.FAILED, reason), result
    for part in parts:
        assert part in result.message
    assert everything(lake.folder / "table") == before
    return result


def everything(folder: Path) -> list[Path]:
    """What is there for readers; leases are taken before anything is known of the input."""
    return sorted(path for path in folder.rglob("*") if OPERATOR_FOLDER not in path.relative_to(folder).parts)


def test_a_source_that_does_not_exist(lake: Any) -> None:
    missing = f"{lake.source}/nowhere"
    refused(lake, FailureReason.SOURCE_NOT_FOUND, missing, "does not exist", files={"path": missing})
    lake.put("nowhere/a.csv", GOOD)
    assert lake.ingest(files={"path": missing}).outcome is Outcome.SUCCEEDED


@crossed(
    ("file_format", ["parquet", "avro", "orc"]),
    ("damage", ["half", "empty", "text"]),
)
def test_a_damaged_file_is_named(lake: Any, file_format: str, damage: str) -> None:
    lake.spark.range(5000).coalesce(1).write.format(file_format).save(f"{lake.folder}/whole")
    whole = next((lake.folder / "whole").glob("part-*")).read_bytes()
    content = {"half": whole[: len(whole) // 2], "empty": b"", "text": b"hello " * 50}[damage]
    lake.put("good", whole)
    lake.put("broken", content)
    source = {"format": file_format, "options": {}}
    refused(lake, FailureReason.SOURCE_UNREADABLE, f"{lake.source}/broken", files=source)

    (lake.landing / "broken").unlink()
    assert lake.ingest(files=source).rows_read == 5000


BAD_ROWS = {"too few columns": "3,DL", "too many": "3,DL,1,9", "not a number": "x,DL,1", "a quote": '3,"DL,1'}


def test_a_bad_csv_row_fails_the_run(lake: Any) -> None:
    with_table(lake)
    for number, row in enumerate(BAD_ROWS.values()):
        lake.put("bad.csv", f"id,carrier,delay\n4,AA,1\n{row}\n", at=60 + number)
        refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows", "csv", "bad.csv", **TYPED)
    lake.put("bad.csv", "id,carrier,delay\n4,AA,1\n3,DL,1\n", at=70)
    assert lake.ingest(**TYPED).rows_read == 2
    assert lake.rows("id") == [(1,), (2,), (3,), (4,)]


def test_a_bad_csv_row_is_seen_without_a_declared_schema_and_behind_a_transform(lake: Any) -> None:
    lake.put("bad.csv", "id,carrier,delay\n4,AA,1\n3,DL\n")
    for sql in (None, "SELECT id FROM source", "SELECT id FROM source WHERE false", "SELECT id FROM source LIMIT 1"):
        refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows", transformSql=sql)


def test_a_bad_json_row_is_seen_even_when_no_one_asks_for_its_field(lake: Any) -> None:
    lake.put("bad.json", b'{"id": 1, "n": 1}\n{"id": 2, "n": "many"}\n{"id": 3, "n": "\xff"}\n')
    declared = {"files": {**JSON["files"], "schemaDdl": "id INT, n INT"}, "transformSql": "SELECT id FROM source"}
    refused(lake, FailureReason.BAD_RECORDS, "2 of 3 rows", "bad.json", **declared)
    folder = f"{lake.root}/quarantine"
    result = lake.ingest(**declared, badRecords="Quarantine", quarantinePath=folder, run="run-a")
    assert (result.rows_read, result.rows_quarantined) == (3, 2), result
    assert lake.rows() == [(1,)]
    kept = [
        json.loads(line)
        for file in (lake.folder / "quarantine").glob("run-a/flights/unreadable/part-*")
        for line in file.open()
    ]
    assert {row.get("column"): (row["record"], row["binary"]) for row in kept} == {
        "n": ('{"id": 2, "n": "many"}', "base64:"),
        None: ("base64:eyJpZCI6IDMsICJuIjogIv8ifQ==", "base64:"),
    }
    assert all(row["source_file"].endswith("/in/bad.json") and "reason" in row for row in kept)


def test_many_bad_files_are_counted_and_three_are_named(lake: Any) -> None:
    for number in range(5):
        lake.put(f"{number}.csv", "id,carrier,delay\n" + "1\n" * (number + 1))
    result = refused(lake, FailureReason.BAD_RECORDS, "15 of 15 rows", "5 in", "and more", **TYPED)
    assert result.message.count(".csv") == 3


@pytest.mark.parametrize("table_type", sampled("CopyOnWrite", "MergeOnRead"))
def test_quarantined_rows_are_kept_beside_the_table(lake: Any, table_type: str) -> None:
    lake.table = {"type": table_type}
    lake.put("a.csv", "id,carrier,delay\n1,AA,5\n2\n,UA,7\nx,UA,7\n")
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine/"}

    result = lake.ingest(**TYPED, **policy, run="run-a")

    assert (result.outcome, result.rows_read, result.rows_quarantined) == (Outcome.SUCCEEDED, 4, 3), result
    seen = read_snapshot(TimelineReader(LocalFileSystem()), Location.parse(lake.base_path), NO_QUESTIONS)
    assert [(mark.run, mark.rows_quarantined) for mark in seen.marks] == [("run-a", 3)]
    assert lake.rows() == [(1, "AA", 5)]
    folder = lake.folder / "quarantine/run-a/flights"
    unreadable = [json.loads(line) for file in folder.glob("unreadable/part-*") for line in file.open()]
    keyless = [json.loads(line) for file in folder.glob("no-record-key/part-*") for line in file.open()]
    assert sorted(row["record"] for row in unreadable) == ["2", "x,UA,7"]
    assert all(row["source_file"].endswith("/in/a.csv") for row in unreadable)
    assert [json.loads(row["record"]) for row in keyless] == [{"carrier": "UA", "delay": 7}]
    assert "id 2" in result.message, "by the name of the column: one key is missing, one is no number"
    assert lake.ingest(**TYPED, **policy).outcome is Outcome.NOTHING_TO_DO


@crossed(
    ("created", [True, False]),
    (
        "source, content",
        [
            (TYPED["files"], "id,carrier,delay\nx\ny\n"),
            ({**JSON["files"], "schemaDdl": DDL}, "{\nnothing\n"),
            (JSON["files"], "{\n}{\n"),
        ],
    ),
)
def test_a_file_of_bad_rows_only_still_moves_the_checkpoint(
    lake: Any, source: dict[str, Any], content: str, created: bool
) -> None:
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    if created:
        with_table(lake)
    lake.put("bad", content, at=60)
    source = {**source, "pathGlob": "bad"}
    if not created and "schemaDdl" not in source:
        refused(lake, FailureReason.BAD_RECORDS, "Declare a schema", files=source, **policy)
        return
    result = lake.ingest(files=source, **policy)
    assert (result.outcome, result.rows_quarantined) == (Outcome.SUCCEEDED, 2), result
    assert lake.rows() == ([(1, "AA", 5), (2, "UA", 7)] if created else [])
    assert lake.ingest(files=source, **policy).outcome is Outcome.NOTHING_TO_DO


@crossed(
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
    ("form", ["csv", "json", "parquet", "avro", "orc"]),
    ("operation", ["Upsert", "BulkInsert"]),
)
def test_each_row_that_cannot_be_written_names_its_file_column_and_cause(
    lake: Any, form: str, table_type: str, operation: str
) -> None:
    lake.table = {"type": table_type, "recordKey": ["a", "b"], "partitionBy": ["p"], "orderingFields": ["at", "n"]}
    rows = "('1', 'x', 'p', 1, 1), (NULL, 'x', 'p', 1, 1), ('2', NULL, 'p', 1, 1), ('', '', 'p', 1, 1)"
    more = "('__null__', 'y', 'p', 1, 1), ('3', 'x', '/a', 1, 1), ('4', 'x', 'p', 1, NULL)"
    source = lake.spark.sql(f"SELECT a, b, p, at, n FROM VALUES {rows}, {more} t(a, b, p, at, n)").coalesce(1)
    options = {"header": "true"} if form == "csv" else {}
    for folder in ("in/first", "in/odd name é+%20"):
        source.write.format(form).options(**options).save(f"{lake.folder}/{folder}")
    ddl = "a STRING, b STRING, p STRING, at INT, n INT" if form in {"csv", "json"} else None
    files = {"format": form, "options": options, **({"schemaDdl": ddl} if ddl else {})}
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    result = lake.ingest(files=files, operation=operation, **policy, run="run-a")
    assert (result.outcome, result.rows_quarantined) == (Outcome.SUCCEEDED, 12), result
    assert "Bad rows by column: a 6, b 2, n 2, p 2." in result.message
    found = [json.loads(line) for file in lake.folder.glob("quarantine/**/part-*") for line in file.open()]
    causes = sorted((one["column"], one["reason"]) for one in found)
    assert causes == sorted(
        2
        * [
            ("a", "no record key"),
            ("a", "no record key"),
            ("b", "no record key"),
            ("a", "a record key that others may have"),
            ("p", "no partition inside the table"),
            ("n", "no ordering value"),
        ]
    )
    assert sum("/in/first/" in one["source_file"] for one in found) == 6
    assert all(one["source_file"].startswith("file:/") for one in found)
    assert set(lake.rows("a", "b", "p", "at", "n")) == {("1", "x", "p", 1, 1)}


@pytest.mark.parametrize("form", sampled("avro", "parquet", "csv", few=1))
def test_files_of_several_schemas_are_told_apart_in_the_quarantine(lake: Any, form: str) -> None:
    """Spark reads each schema apart and unites the rows, and some of its functions of files refuse such plans."""
    options = {"header": "true"} if form == "csv" else {}
    selected = ["id, v", "id, v, 1 AS w", "id, v, CAST(NULL AS INT) AS w"]
    for number, columns in enumerate(selected):
        rows = lake.spark.sql(f"SELECT {columns} FROM VALUES ('{number}', 'x'), (NULL, 'y') t(id, v)")
        rows.coalesce(1).write.format(form).options(**options).save(f"{lake.folder}/in/f{number}")
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    result = lake.ingest(files={"format": form, "options": options}, **policy)
    assert (result.outcome, result.rows_quarantined) == (Outcome.SUCCEEDED, len(selected)), result
    found = [json.loads(line) for file in lake.folder.glob("quarantine/**/part-*") for line in file.open()]
    assert sorted(one["source_file"].split("/in/")[1][:2] for one in found) == ["f0", "f1", "f2"]


def test_rows_of_a_transform_name_column_and_cause_alone(lake: Any) -> None:
    lake.put("a.csv", GOOD)
    sql = "SELECT NULLIF(id, '1') AS id, carrier FROM source"
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    assert lake.ingest(transformSql=sql, **policy, run="run-a").rows_quarantined == 1
    (file,) = lake.folder.glob("quarantine/run-a/flights/no-record-key/part-*")
    assert json.loads(file.read_text()) == {"column": "id", "reason": "no record key", "record": '{"carrier":"AA"}'}


def test_column_with_the_name_of_the_mark_is_written_like_any_other(lake: Any) -> None:
    lake.put("a.csv", f"id,{PLACE}\n1,gate\n")
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    assert lake.ingest(**policy).outcome is Outcome.SUCCEEDED
    assert lake.rows("id", PLACE) == [("1", "gate")]


def test_quarantine_needs_a_path(lake: Any) -> None:
    lake.put("a.csv", GOOD)
    refused(lake, FailureReason.INVALID_REQUEST, "quarantine path", badRecords="Quarantine")


@pytest.mark.parametrize(("keys", "part"), [(["id"], "null"), (["id"], "empty"), (["id", "carrier"], "null")])
def test_a_row_without_its_whole_record_key_fails_the_run(lake: Any, keys: list[str], part: str) -> None:
    lake.table = {"recordKey": keys}
    lake.put("a.csv", GOOD)
    empty = "''" if part == "empty" else "CAST(NULL AS STRING)"
    sql = f"SELECT CASE WHEN id = '1' THEN {empty} ELSE id END AS id, carrier FROM source"
    refused(lake, FailureReason.RECORD_KEY_NULL, "1 of 2 rows", transformSql=sql)


def test_texts_by_which_rows_would_replace_each_other_are_refused_or_quarantined(lake: Any) -> None:
    """Hudi joins the columns of keys and folders without an escape: the bad row and a good one would be the same."""
    lake.table = {"recordKey": ["k1", "k2"], "partitionBy": ["p1", "p2"]}
    good = [("a", "b,k2:c", "p", "p"), ("a", "", "p", "p"), ("", "a", "p", "p"), ("a", "a", "x/y", "y=z/a")]
    merging, reserved = ("a,k2:b", "c", "p", "p"), [("a", "__empty__", "p", "p"), ("__null__", "a", "p", "p")]
    nothing, misplaced = ("", "", "p", "p"), ("a", "a", "x/p2=y", "z")
    for nth, row in enumerate([*good, merging, *reserved, nothing, misplaced]):
        lake.put(f"{nth}.json", json.dumps(dict(zip(("k1", "k2", "p1", "p2"), row, strict=True))))
    whole = "SELECT * FROM source WHERE k1 || k2 <> ''"
    refused(lake, FailureReason.RECORD_KEY_NULL, "1 of 9 rows", **JSON)
    refused(lake, FailureReason.BAD_RECORDS, "2 of 9 rows", "record key column k1", transformSql=whole, **JSON)
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    result = lake.ingest(**JSON, **policy, run="run-a")
    assert (result.outcome, result.rows_read, result.rows_quarantined) == (Outcome.SUCCEEDED, 9, 5), result
    assert sorted(lake.rows("k1", "k2", "p1", "p2")) == sorted(good)
    folders = lake.folder / "quarantine/run-a/flights"
    kept = {
        folder.name: sorted(
            tuple(json.loads(row["record"]).values()) for row in lake.spark.read.json(str(folder)).collect()
        )
        for folder in folders.iterdir()
    }
    assert kept == {
        "no-record-key": [nothing],
        "ambiguous-record-key": sorted([merging, *reserved]),
        "no-partition": [misplaced],
    }


@pytest.mark.parametrize("table_type", sampled("MergeOnRead", "CopyOnWrite"))
def test_a_row_without_an_ordering_value_is_refused_or_quarantined(lake: Any, table_type: str) -> None:
    """Hudi would write it, and could then change nothing beside it, nor read a MergeOnRead table."""
    lake.table = {"type": table_type, "orderingFields": ["delay", "id"]}
    lake.put("a.csv", "id,carrier,delay\n1,AA,5\n2,UA,\n")
    refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows have no value in an ordering column", **TYPED)
    policy = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/quarantine"}
    result = lake.ingest(**TYPED, **policy, run="run-a")
    assert (result.outcome, result.rows_read, result.rows_quarantined) == (Outcome.SUCCEEDED, 2, 1), result
    (file,) = lake.folder.glob("quarantine/run-a/flights/no-ordering-value/part-*")
    told = json.loads(file.read_text())
    assert told.pop("source_file").endswith("/in/a.csv")
    assert told == {"column": "delay", "reason": "no ordering value", "record": '{"id":2,"carrier":"UA"}'}
    lake.put("b.csv", "id,carrier,delay\n1,BB,6\n2,UA,3\n")
    assert lake.ingest(**TYPED, **policy).outcome is Outcome.SUCCEEDED
    assert lake.rows() == [(1, "BB", 6), (2, "UA", 3)]


def test_deleted_row_needs_no_ordering_value(lake: Any) -> None:
    lake.table = {"orderingFields": ["delay"]}
    lake.put("a.csv", "id,carrier,delay\n1,AA,5\n2,UA,6\n")
    assert lake.ingest(**TYPED).outcome is Outcome.SUCCEEDED
    lake.put("b.csv", "id,carrier,delay\n2,,\n")
    assert lake.ingest(**TYPED, operation="Delete").outcome is Outcome.SUCCEEDED
    assert lake.rows() == [(1, "AA", 5)]


@pytest.mark.parametrize(
    ("table", "column"),
    [({"recordKey": ["number"]}, "number"), ({"partitionBy": ["month"]}, "month"), ({"orderingFields": ["at"]}, "at")],
)
def test_an_absent_column_of_the_definition_is_named(lake: Any, table: dict[str, Any], column: str) -> None:
    lake.table = table
    lake.put("a.csv", GOOD)
    refused(lake, FailureReason.COLUMN_MISSING, f"column {column} ", "carrier, delay, id")


@crossed(
    (
        "ddl, select, reason, part",
        [
            ("n INT", "CAST(n AS STRING) AS n", FailureReason.SCHEMA_INCOMPATIBLE, "n is int in the table and string"),
            (
                "n DOUBLE",
                "CAST(n AS STRING) AS n",
                FailureReason.SCHEMA_INCOMPATIBLE,
                "n is double in the table and string",
            ),
            (
                "n BIGINT",
                "timestamp_millis(n) AS n",
                FailureReason.SCHEMA_INCOMPATIBLE,
                "n is bigint in the table and timestamp",
            ),
            (
                "n INT",
                "named_struct('a', n) AS n",
                FailureReason.SCHEMA_INCOMPATIBLE,
                "n is int in the table and struct",
            ),
            ("n INT", "n AS m", FailureReason.COLUMN_MISSING, "column n "),
        ],
    ),
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
)
def test_a_column_that_changed_its_type_is_refused(
    lake: Any, *, table_type: str, ddl: str, select: str, reason: FailureReason, part: str
) -> None:
    lake.table = {"type": table_type}
    files = {"schemaDdl": f"id INT, {ddl}"}
    lake.put("a.csv", "id,n\n1,5\n")
    assert lake.ingest(files=files).outcome is Outcome.SUCCEEDED
    lake.put("b.csv", "id,n\n2,6\n", at=60)
    refused(lake, reason, part, files=files, transformSql=f"SELECT id, {select} FROM source")
    assert lake.ingest(files=files).outcome is Outcome.SUCCEEDED
    assert [row[0] for row in lake.rows("id")] == [1, 2]


def test_a_new_column_needs_the_policy_for_it(lake: Any) -> None:
    with_table(lake)
    lake.put("b.csv", "id,carrier,delay,gate\n3,DL,1,B7\n", at=60)
    files = {"files": {"schemaDdl": f"{DDL}, gate STRING"}}
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "column gate ", **files, schemaEvolution="None")
    assert lake.ingest(**files, schemaEvolution="AddColumns").outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "gate") == [(1, None), (2, None), (3, "B7")]


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("SELECT nothing FROM source", "nothing"),
        ("SELECT make_interval(1) AS id FROM source", "interval"),
        ("SELEKT * FROM source", "SELEKT"),
        ("DROP TABLE source", "SELECT query"),
        ("INSERT INTO source SELECT * FROM source", "SELECT query"),
        ("SET spark.app.name=x", "SELECT query"),
        ("FROM source INSERT INTO a SELECT * INSERT INTO b SELECT *", "SELECT query"),
        ("SELECT TRANSFORM(id) USING 'cat' AS (id) FROM source", "SELECT query"),
        (
            "WITH t AS (SELECT TRANSFORM(id) USING 'sh -c \"id; env\"' AS (id STRING) FROM source) SELECT * FROM t",
            "a script",
        ),
        ("INSERT OVERWRITE DIRECTORY 's3a://other/table' USING parquet SELECT * FROM source", "INSERT OVERWRITE"),
        ("SELECT read_blob(id) AS id FROM source", "read_blob"),
        ("CALL show_commits(table => 'x')", "SELECT query"),
        ("SELECT reflect('java.lang.System', 'getenv', 'PATH') AS id FROM source", "reflect"),
        ("SELECT java_method('java.lang.System', 'getenv', 'PATH') AS id FROM source", "java_method"),
        ("SELECT * FROM csv.`/etc/passwd`", "csv"),
        ("SELECT * FROM hudi_query('/tmp/x', 'latest_state')", "hudi_query"),
        ("SELECT '${env:PATH}' AS x FROM source WHERE nothing", "nothing"),
    ],
)
def test_a_transform_that_is_not_a_query_over_the_source(lake: Any, sql: str, part: str) -> None:
    lake.put("a.csv", GOOD)
    refused(lake, FailureReason.TRANSFORM_INVALID, part, transformSql=sql)


def test_a_transform_cannot_read_the_environment(lake: Any) -> None:
    lake.put("a.csv", "id\n1\n")
    assert lake.ingest(transformSql="SELECT id, '${env:PATH}' AS path FROM source").outcome is Outcome.SUCCEEDED
    assert lake.rows("path") == [("${env:PATH}",)]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"name": "other"}, "tableName: the spec declares other, but the table has flights"),
        ({"type": "MergeOnRead"}, "type: the spec declares MergeOnRead, but the table has CopyOnWrite"),
        ({"recordKey": ["id", "carrier"]}, "recordKey: the spec declares id,carrier, but the table has id"),
        ({"partitionBy": ["carrier"]}, "partitionBy: the spec declares carrier, but the table has (none)"),
    ],
)
def test_a_table_of_another_identity_is_not_written(lake: Any, change: dict[str, Any], part: str) -> None:
    with_table(lake)
    lake.put("b.csv", GOOD, at=60)
    lake.table = change
    refused(lake, FailureReason.TABLE_MISMATCH, part, **TYPED)


def test_a_delete_from_a_table_that_does_not_exist(lake: Any) -> None:
    lake.put("a.csv", GOOD)
    refused(lake, FailureReason.TABLE_MISMATCH, "no table", **TYPED, operation="Delete")
