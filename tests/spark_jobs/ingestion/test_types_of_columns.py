"""Columns of files by their types: what Spark cannot read, what has no value, and names that Hudi cannot store."""

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.ingestion import results
from tests.spark_jobs.ingestion.results import ingested
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome
from hudi_jobs.ingestion.sources.files.footers import BrokenParquet, columns_of, footer_of

pytestmark = pytest.mark.spark

PARQUET: dict[str, Any] = {"format": "parquet", "options": {}}
JSON: dict[str, Any] = {"format": "json", "options": {}}


def put(lake: Any, name: str, /, **columns: Any) -> None:
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), **columns}), lake.landing / name)


def refused(lake: Any, reason: FailureReason, *parts: str, **changes: Any) -> None:
    """Run, expect this refusal and no commit, and remove the files."""
    results.refused(lake, reason, *parts, **changes)
    for path in lake.landing.iterdir():
        path.unlink()


def values(lake: Any, *columns: str) -> set[tuple[str, ...]]:
    """The table's values as texts, of which null can be one."""
    frame = lake.spark.read.format("hudi").load(lake.base_path).select(*columns)
    return {tuple(map(str, row)) for row in frame.collect()}


UNREADABLE: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("TIMESTAMP(NANOS)", pa.array([1, 2], pa.timestamp("ns")), ("timestamp_micros",)),  # SPARK-44988
    ("TIMESTAMP(NANOS)", pa.array([1, 2], pa.timestamp("ns", "UTC")), ("BIGINT",)),  # SPARK-40819
    ("TIME(MICROS)", pa.array([1, 2], pa.time64("us")), ("text",)),
    ("TIME(MILLIS)", pa.array([1, 2], pa.time32("ms")), ()),
    ("TIME(NANOS)", pa.array([1, 2], pa.time64("ns")), ()),
    ("DECIMAL(39,2)", pa.array([Decimal(1), None], pa.decimal256(39, 2)), ("38 digits",)),
    ("FLOAT16", pa.array([1, 2], pa.float16()), ("FLOAT",)),
    ("TIME(MICROS)", pa.array([{"at": dt.time(1)}] * 2, pa.struct([("at", pa.time64("us"))])), ("x.at",)),
    ("TIMESTAMP(NANOS)", pa.array([[1], [2]], pa.list_(pa.timestamp("ns"))), ("x.list",)),
)


def test_type_that_spark_cannot_read_is_named_with_the_file_the_column_and_what_to_do(lake: Any) -> None:
    for kind, values, parts in UNREADABLE:
        put(lake, "good.parquet")
        put(lake, "a b.parquet", x=values)
        refused(lake, FailureReason.SOURCE_UNREADABLE, "a b.parquet", "column x", kind, *parts, files=PARQUET)
    put(lake, "a.parquet", X=pa.array([1, 2]), x=pa.array([1, 2]))
    refused(lake, FailureReason.SOURCE_UNREADABLE, "a.parquet", "X and x", "case", files=PARQUET)
    put(lake, "a.parquet", s=pa.array([{"a": 1, "A": 2}] * 2))
    refused(lake, FailureReason.SOURCE_UNREADABLE, "a.parquet", "case", files=PARQUET)
    put(lake, "a.parquet", x=pa.array(["a", "b"]))
    declared = {**PARQUET, "schemaDdl": "id BIGINT, x INT"}
    refused(lake, FailureReason.SOURCE_UNREADABLE, "a.parquet", "column x", "BINARY", "int", files=declared)


def test_times_of_another_calendar_are_named_with_the_option_that_tells_it(lake: Any) -> None:
    """SPARK-31404: the message said that the file may be half-written."""
    values = pa.table({"id": [1], "t": pa.array([-14_831_769_600_000_000], pa.timestamp("us", "UTC"))})
    for is_int96, option in ((False, "datetimeRebaseMode"), (True, "int96RebaseMode")):
        pq.write_table(values, lake.landing / "a.parquet", use_deprecated_int96_timestamps=is_int96)
        refused(lake, FailureReason.SOURCE_UNREADABLE, f"option {option} ", "calendar", files=PARQUET)
    pq.write_table(values, lake.landing / "a.parquet", use_deprecated_int96_timestamps=True)
    ingested(lake, files={**PARQUET, "options": {"int96RebaseMode": "CORRECTED"}})
    frame = lake.spark.read.format("hudi").load(lake.base_path)
    assert [row[0] for row in frame.selectExpr("CAST(t AS STRING)").collect()] == ["1500-01-01 00:00:00"]


def test_nanoseconds_are_read_as_the_declared_number_and_columns_that_are_not_declared_do_not_matter(lake: Any) -> None:
    put(lake, "a.parquet", x=pa.array([1, 2], pa.timestamp("ns")), time=pa.array([1, 2], pa.time64("us")))
    ingested(lake, files={**PARQUET, "schemaDdl": "id BIGINT, x BIGINT"})
    assert lake.rows() == [(1, 1), (2, 2)]


@pytest.mark.parametrize("file_format", sampled("parquet", "orc", "avro"))
def test_declared_column_that_a_file_lacks_is_named_with_the_expected_and_the_found_ones(
    lake: Any, file_format: str
) -> None:
    for number, sql in enumerate(("SELECT 1L AS id, 2 AS v", "SELECT 3L AS ID, 'x' AS w")):
        folder = lake.folder / f"out-{number}"
        lake.spark.sql(sql).coalesce(1).write.format(file_format).save(str(folder))
        (part,) = folder.glob("part-*")
        part.rename(lake.landing / f"{number}.{file_format}")
    source = {"format": file_format, "options": {}}
    parts = f"1.{file_format}", "lacks a column: v", "Expected: id, v", "Found: ID, w"
    declared = {**source, "schemaDdl": "id BIGINT, v INT"}
    assert lake.ingest(files={**declared, "pathGlob": "0*"}).outcome is Outcome.SUCCEEDED
    refused(lake, FailureReason.COLUMN_MISSING, *parts, files={**declared, "pathGlob": "1*"})


def test_column_without_a_value_has_no_type_until_a_file_gives_it_one(lake: Any) -> None:
    """SPARK-54220: Spark makes an INT of it."""
    nothing = pa.array([None, None], pa.null())
    put(lake, "0.parquet", x=nothing, tags=pa.array([[None], []], pa.list_(pa.null())), v=pa.array([1, 2]))
    result = ingested(lake, files=PARQUET)
    assert lake.rows() == [(1, 1), (2, 2)]
    assert "Left out 2 columns without a value" in result.message
    put(lake, "1.parquet", x=pa.array(["a", "b"]), v=nothing)
    put(lake, "2.parquet", x=nothing, v=pa.array([3, 4]))
    ingested(lake, files=PARQUET, operation="Insert")
    assert values(lake, "v", "x") == {
        ("1", "None"),
        ("2", "None"),
        ("None", "a"),
        ("None", "b"),
        ("3", "None"),
        ("4", "None"),
    }
    put(lake, "3.parquet", x=nothing, v=pa.array([5, 6]))
    ingested(lake, files={**PARQUET, "schemaDdl": "id BIGINT, v BIGINT, x STRING"}, operation="InsertOverwrite")
    assert values(lake, "v", "x") == {("5", "None"), ("6", "None")}


def test_null_of_a_transform_takes_the_type_of_the_table_or_is_left_out(lake: Any) -> None:
    lake.put("0.json", '{"id": 1, "v": 2.5}\n')
    ingested(lake, files=JSON)
    lake.put("1.json", '{"id": 2}\n')
    sql = "SELECT id, NULL AS v, NULL AS w, array() AS empty FROM source"
    assert "'w', 'empty'" in ingested(lake, files=JSON, transformSql=sql).message
    assert lake.rows("id", "v") == [(1, 2.5), (2, None)]


def test_name_that_hudi_cannot_store_is_refused_before_the_write_with_what_to_do(lake: Any) -> None:
    """apache/hudi#6800, #10553, #12135 (digits) and #3460 ($): the write fails with the name alone."""
    for name in sampled("a-b", "1Min", "a\n", "a b", "a.b", "$column1", "a\u00b2", "\U0001d538", "a:b", few=3):
        lake.put("a.json", json.dumps({"id": 1, name: 2}))
        refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, repr(name), "transform", files=JSON)
    lake.put("a.json", '{"id": 1, "usage": {"items": [{"5Min": 1}]}}\n')
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "'usage'.'items'.'5Min'", files=JSON)
    lake.put("a.csv", "id,order date\n1,2026-01-01\n")
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "'order date'")
    lake.put("a.csv", "id,order date,größe,_x1\n1,2026-01-01,2,3\n")
    ingested(lake, transformSql="SELECT id, `order date` AS order_date, `größe`, _x1 FROM source")
    assert lake.rows() == [("1", "2026-01-01", "2", "3")]


def test_text_that_nobody_has_declared_orders_no_rows(lake: Any) -> None:
    """apache/hudi#2075 and #2345: of the versions 9 and 10 the ninth stayed."""
    lake.table = {"orderingFields": ["version"]}
    csv, declared = "id,version\n1,9\n1,10\n", {"schemaDdl": "id STRING, version STRING"}
    reason, parts = FailureReason.SCHEMA_INCOMPATIBLE, ("version", "'9' is after '10'", "Declare")
    for content, source, sql in (
        (csv, {}, None),
        (csv, {}, "SELECT id, version FROM source"),
        ('{"id": 1, "version": "9"}\n', JSON, None),
        ('{"id": 1, "version": 9}\n{"id": 1, "version": "10"}\n', JSON, None),
    ):
        lake.put("a", content)
        refused(lake, reason, *parts, files=source, transformSql=sql)
    lake.put("a", csv)
    ingested(lake, transformSql="SELECT id, CAST(version AS INT) AS version FROM source")
    assert lake.rows() == [("1", 10)]
    lake.table = {"orderingFields": ["version"], "name": "texts", "basePath": f"{lake.root}/texts"}
    assert lake.ingest(files=declared).outcome is Outcome.SUCCEEDED


def test_footers_are_read_whole_or_refused() -> None:
    """Cut off at any place, or with any byte changed, a footer is read or is broken, and nothing else."""
    sink = pa.BufferOutputStream()
    columns = {f"c{number}": values for number, (_, values, _) in enumerate(UNREADABLE)}
    pq.write_table(pa.table(columns), sink)
    content = sink.getvalue().to_pybytes()

    def reader(data: bytes) -> Callable[[int, int], bytes]:
        return lambda offset, count: data[offset : offset + count]

    footer = footer_of(reader(content), len(content))
    assert [one.annotation for one in columns_of(footer)] == [kind for kind, _, _ in UNREADABLE]
    for cut in range(0, len(footer), 7):
        for broken in (footer[:cut], footer[:cut] + b"\xff" + footer[cut + 1 :]):
            try:
                columns_of(broken)
            except BrokenParquet:
                continue
    for broken in (b"", b"PAR1", content[:-1], content[:-4] + b"PARE", content[:-8] + b"\xff\xff\xff\x7fPAR1"):
        with pytest.raises(BrokenParquet):
            footer_of(reader(broken), len(broken))
