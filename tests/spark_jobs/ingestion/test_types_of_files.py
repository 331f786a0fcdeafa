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
