"""Bytes that are no UTF-8 in text columns: bad rows, because Hudi would make one key of different bytes."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from tests.spark_jobs.ingestion.results import ingested, refused

from hudi_jobs.contract import FailureReason

pytestmark = pytest.mark.spark

KEYS = [b"M\xfc", b"M\xfd", "M\ufffd".encode()]
"""Two keys that the JVM reads as the third."""


def texts(values: list[bytes]) -> pa.Array:
    """Return a column of texts as writers make it that do not check their bytes."""
    return pa.array(values, pa.binary()).view(pa.string())


def arrow_file(write: Callable[[pa.Table, io.BytesIO], None]) -> bytes:
    buffer = io.BytesIO()
    write(pa.table({"id": texts(KEYS)}), buffer)
    return buffer.getvalue()


def avro_file() -> bytes:
    schema = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "string"}]}
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, [{"id": "Q1"}, {"id": "Q2"}, {"id": KEYS[2].decode()}])
    return buffer.getvalue().replace(b"Q1", KEYS[0]).replace(b"Q2", KEYS[1])


FILES = {"parquet": arrow_file(parquet.write_table), "orc": arrow_file(orc.write_table), "avro": avro_file()}


@pytest.mark.parametrize("form", FILES)
def test_keys_of_different_bytes_never_become_one_row(lake: Any, form: str) -> None:
    lake.put(f"a.{form}", FILES[form])
    changes = {"files": {"format": form, "options": {}}}
    refused(lake, FailureReason.BAD_RECORDS, "2 of 3 rows", "column 'id' holds bytes that are no UTF-8", **changes)

    policy = {"bad_records": "Quarantine", "quarantine_path": f"{lake.root}/bad"}
    assert ingested(lake, **changes, **policy).rows_quarantined == 2
    assert lake.rows() == [("M\ufffd",)]
    lines = [line for file in Path(lake.folder, "bad").rglob("unfit/*.json") for line in file.read_text().splitlines()]
    assert {json.loads(json.loads(line)["record"])["id"] for line in lines} == {"base64:Tfw=", "base64:Tf0="}


CITIES = texts([b"M\xfcnchen", b"Ulm"])
PARTS = {
    "struct": pa.StructArray.from_arrays([CITIES], ["city"]),
    "array": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), CITIES),
    "key": pa.MapArray.from_arrays([0, 1, 2], CITIES, pa.array([1, 2])),
    "value": pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "b"]), CITIES),
}


def test_texts_inside_of_other_types_are_looked_at(lake: Any) -> None:
    for row, (name, part) in enumerate(PARTS.items()):
        # Each file has one bad row, one good row, and one without a value.
        table = pa.table(
            {"id": [3 * row, 3 * row + 1, 3 * row + 2], name: pa.concat_arrays([part, pa.nulls(1, part.type)])}
        )
        parquet.write_table(table, lake.landing / f"{name}.parquet")
    policy = {"bad_records": "Quarantine", "quarantine_path": f"{lake.root}/bad"}
    result = ingested(lake, files={"format": "parquet", "options": {}}, **policy)
    assert "Bad rows by column: array 1, key 1, struct 1, value 1." in result.message
    assert lake.rows("id") == [(1,), (2,), (4,), (5,), (7,), (8,), (10,), (11,)]


def test_bytes_that_a_transform_calls_a_text_are_looked_at(lake: Any) -> None:
    lake.put("a.csv", "id,city\n1,TcO8bmNoZW4=\n2,TfxuY2hlbg==\n")
    sql = "SELECT id, {} AS city FROM source"
    cast = sql.format("CAST(unbase64(city) AS STRING)")
    refused(lake, FailureReason.BAD_RECORDS, "1 of 2 rows", "column 'city'", transform_sql=cast)
    ingested(lake, transform_sql=sql.format("decode(unbase64(city), 'ISO-8859-1')"))
    assert lake.rows("city") == [("MÃ¼nchen",), ("München",)]
