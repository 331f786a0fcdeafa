"""Declared columns of a source beside the types of its files: the same values, or a refusal that names the column."""

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from tests.spark_jobs.ingestion.results import ingested, refused
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason

pytestmark = pytest.mark.spark

CENTS = pa.array([Decimal("1.239")], pa.decimal128(10, 3))
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def content_of(form: str, column: Any, avro_type: Any = None) -> bytes:
    buffer = io.BytesIO()
    if form == "avro":
        fields = [{"name": "id", "type": "long"}, {"name": "x", "type": avro_type}]
        fastavro.writer(buffer, {"type": "record", "name": "row", "fields": fields}, [{"id": 1, "x": column}])
    else:
        table = pa.table({"id": pa.array([1], pa.int64()), "x": column})
        (orc if form == "orc" else parquet).write_table(table, buffer)
    return buffer.getvalue()


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 3}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
CHANGED = [
    ("orc", "INT", pa.array([2**40], pa.int64()), None),
    ("avro", "DECIMAL(20,2)", Decimal("1.239"), DECIMAL),
    ("parquet", "SMALLINT", pa.array([70_000], pa.int32()), None),
    ("orc", "DECIMAL(20,2)", CENTS, None),
    ("orc", "DOUBLE", pa.array([2**53 + 1], pa.int64()), None),
    ("orc", "FLOAT", pa.array([1.1], pa.float64()), None),
    ("orc", "BOOLEAN", pa.array([2], pa.int64()), None),
    ("orc", "TIMESTAMP", pa.array([2**40], pa.int64()), None),
    ("orc", "STRUCT<a: INT>", pa.array([{"a": 2**40}], pa.struct([("a", pa.int64())])), None),
    ("avro", "DATE", NOON, MICROS),
    ("avro", "TIMESTAMP", 2**40, "long"),
    ("parquet", "INT", pa.array([2**32 - 1], pa.uint32()), None),
    ("parquet", "BIGINT", pa.array([2**64 - 1], pa.uint64()), None),
    ("parquet", "DECIMAL(20,2)", CENTS, None),
    ("parquet", "ARRAY<SMALLINT>", pa.array([[70_000]], pa.list_(pa.int32())), None),
    ("parquet", "MAP<STRING, TINYINT>", pa.array([[("k", 300)]], pa.map_(pa.string(), pa.int32())), None),
]
"""Columns that Spark reads with another value, or with none, and says nothing."""


@pytest.mark.parametrize(("form", "declared", "column", "avro_type"), sampled(*CHANGED, few=3))
def test_a_declared_type_that_would_change_values_of_a_file_is_refused(
    lake: Any, form: str, declared: str, column: Any, avro_type: Any
) -> None:
    lake.put(f"a.{form}", content_of(form, column, avro_type))
    files = {"format": form, "options": {}, "schemaDdl": f"id BIGINT, x {declared}"}
    refused(lake, FailureReason.SOURCE_UNREADABLE, "The column x", f"a.{form}", "without changing values", files=files)


KEPT = [
    ("orc", "BIGINT", pa.array([7], pa.int32()), 7),
    ("parquet", "BIGINT", pa.array([2**32 - 1], pa.uint32()), 2**32 - 1),
    ("orc", "DECIMAL(20,3)", CENTS, Decimal("1.239")),
    ("parquet", "SMALLINT", pa.array([7], pa.int16()), 7),
]


@pytest.mark.parametrize(("form", "declared", "column", "value"), sampled(*KEPT))
def test_a_declared_type_that_holds_the_values_of_a_file_is_read(
    lake: Any, form: str, declared: str, column: Any, value: Any
) -> None:
    lake.put(f"a.{form}", content_of(form, column))
    ingested(lake, files={"format": form, "options": {}, "schemaDdl": f"id BIGINT, x {declared}"})
    assert lake.rows("x") == [(value,)]


def test_columns_of_orc_without_names_are_compared_by_position(lake: Any) -> None:
    table = pa.table({"_col0": pa.array([1], pa.int64()), "_col1": pa.array([2**40], pa.int64())})
    orc.write_table(table, lake.landing / "a.orc")
    files = {"format": "orc", "options": {}}
    refused(lake, FailureReason.SOURCE_UNREADABLE, "The column x", files={**files, "schemaDdl": "id BIGINT, x INT"})
    ingested(lake, files={**files, "schemaDdl": "id BIGINT, x BIGINT"})
    assert lake.rows("x") == [(2**40,)]


NARROW_AND_WIDE = [
    ("parquet", pa.int32(), pa.int64(), "INT", "BIGINT"),
    ("orc", pa.int32(), pa.int64(), "INT", "BIGINT"),
    ("orc", pa.float32(), pa.float64(), "FLOAT", "DOUBLE"),
    ("parquet", pa.string(), pa.int64(), "STRING", "BIGINT"),
    ("avro", "string", "long", "STRING", "BIGINT"),
]


@pytest.mark.parametrize(("form", "first", "second", "known", "has"), sampled(*NARROW_AND_WIDE, few=2))
def test_column_of_two_types_in_two_files_is_refused_with_the_column_both_types_and_both_files(  # noqa: PLR0917
    lake: Any, form: str, first: Any, second: Any, known: str, has: str
) -> None:
    for name, kind in (("a", first), ("b", second)):
        value = "1" if kind in {pa.string(), "string"} else 1
        lake.put(f"{name}.{form}", content_of(form, value if form == "avro" else pa.array([value], kind), kind))
    told = f"The column x is {has.lower()} in the file {lake.source}/b.{form} and {known.lower()} in the file", "/a."
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, *told, files={"format": form, "options": {}})


def test_remedies_for_a_narrow_and_a_wide_number_in_two_files_help(lake: Any) -> None:
    def put(form: str) -> dict[str, Any]:
        for nth, kind in enumerate((pa.int32(), pa.int64(), pa.int32())):
            table = pa.table({"id": pa.array([nth], pa.int64()), "x": pa.array([nth], kind)})
            path = lake.put(f"{nth}.{form}", b"", at=nth)
            (orc if form == "orc" else parquet).write_table(table, path)
        return {"format": form, "options": {}, "pathGlob": f"*.{form}"}

    files = put("parquet")
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "maxFilesPerRun to 1", files=files)
    for _ in range(3):
        ingested(lake, files=files, max_files=1)
    assert lake.rows() == [(0, 0), (1, 1), (2, 2)]
    files = put("orc")
    refused(lake, FailureReason.SCHEMA_INCOMPATIBLE, "Declare the columns", "x as bigint", files=files)
    ingested(lake, files={**files, "schemaDdl": "id BIGINT, x BIGINT"})
