"""What a Parquet file says of its columns besides their names and types means nothing."""

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_jobs.contract import FailureReason, FileSource, Outcome
from hudi_jobs.ingestion.row_checks import apply_transform
from hudi_jobs.ingestion.sources.files.read import read_files
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import schema_json

pytestmark = pytest.mark.spark

CANARY = "canary-77e0"
FOOTER = "org.apache.spark.sql.parquet.row.metadata"


def described(name: str, kind: Any, **metadata: str) -> dict[str, Any]:
    """A field as Spark's footer describes it."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


REFERENCE = struct(
    described("external_path", "string"),
    described("offset", "long"),
    described("length", "long"),
    described("managed", "boolean"),
)
BLOB = struct(described("type", "string"), described("data", "binary"), described("reference", REFERENCE))


def put(lake: Any, name: str, rows: list[dict[str, Any]], schema: pa.Schema, *fields: dict[str, Any]) -> None:
    """Write a Parquet file with a footer as Spark would write it."""
    path = lake.landing / name
    table = pa.Table.from_pylist(rows, schema.with_metadata({FOOTER: json.dumps(struct(*fields))}))
    pq.write_table(table, path)


def blob_file(lake: Any, secret: Path) -> None:
    reference = {"external_path": str(secret), "offset": 0, "length": 200, "managed": False}
    place = pa.struct(
        [("external_path", pa.string()), ("offset", pa.int64()), ("length", pa.int64()), ("managed", pa.bool_())]
    )
    kind = pa.struct([("type", pa.string()), ("data", pa.binary()), ("reference", place)])
    rows = [{"id": "1", "b": {"type": "OUT_OF_LINE", "data": None, "reference": reference}}]
    schema = pa.schema([("id", pa.string()), ("b", kind)])
    put(lake, "blob.parquet", rows, schema, described("id", "string"), described("b", BLOB, hudi_type="BLOB"))


def source(lake: Any) -> Any:
    return read_files(lake.spark, FileSource(path=lake.source, format="parquet"), [str(p) for p in files(lake)])


def files(lake: Any) -> list[Path]:
    return sorted(lake.landing.glob("*.parquet"))


def written(lake: Any) -> bytes:
    return b"".join(path.read_bytes() for path in lake.folder.glob("table/**/*") if path.is_file())


@pytest.fixture
def secret(lake: Any) -> Path:
    """A file outside of the source, longer than what a blob asks for."""
    path = Path(lake.folder, "secret.txt")
    path.write_text(f"{CANARY} {'x' * 400}")
    return path


def test_a_column_marked_as_a_blob_reads_no_other_file(lake: Any, secret: Path) -> None:
    blob_file(lake, secret)
    bare = lake.spark.newSession()
    bare.read.parquet(str(lake.landing)).createOrReplaceTempView("source")
    assert CANARY in str(bare.sql("SELECT read_blob(b) FROM source").collect()), "Hudi reads it where nothing holds it"

    with pytest.raises(TaskFailed, match="read_blob") as refused:
        apply_transform(lake.spark, source(lake).frame, "SELECT id, read_blob(b) AS b FROM source")
    assert refused.value.reason is FailureReason.TRANSFORM_INVALID


@pytest.mark.parametrize("sql", [None, "SELECT * FROM source", "SELECT id, struct(b) AS b FROM source"])
def test_a_table_does_not_get_what_a_blob_refers_to(lake: Any, secret: Path, sql: str | None) -> None:
    blob_file(lake, secret)
    result = lake.ingest(files={"format": "parquet", "options": {}}, transformSql=sql)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert CANARY.encode() not in written(lake)
    assert CANARY not in str(lake.rows())


def test_no_column_keeps_what_a_footer_says_of_it(lake: Any) -> None:
    inner = described("f", "string", hudi_type="BLOB")
    kinds = {
        "s": struct(inner),
        "a": {"type": "array", "elementType": struct(inner), "containsNull": True},
        "m": {"type": "map", "keyType": "string", "valueType": struct(inner), "valueContainsNull": True},
    }
    part = pa.struct([("f", pa.string())])
    schema = pa.schema([("s", part), ("a", pa.list_(part)), ("m", pa.map_(pa.string(), part))])
    row = {"s": {"f": "x"}, "a": [{"f": "x"}], "m": [("k", {"f": "x"})]}
    put(lake, "a.parquet", [row], schema, *(described(name, kind, comment="c") for name, kind in kinds.items()))
    marked = lake.spark.read.parquet(str(lake.landing))
    assert json.dumps(schema_json(marked)).count("hudi_type") == 3

    frame = source(lake).frame

    assert '"metadata": {"' not in json.dumps(schema_json(frame))
    assert "hudi_type" not in json.dumps(schema_json(frame))
    assert frame.dtypes == marked.dtypes
    assert str(frame.collect()[0]) == "Row(s=Row(f='x'), a=[Row(f='x')], m={'k': Row(f='x')})"


def test_a_missing_value_is_null_whatever_a_footer_says(lake: Any) -> None:
    both = pa.schema([("id", pa.string()), ("v", pa.string())])
    fields = (described("id", "string"), described("v", "string", EXISTS_DEFAULT="'x'", CURRENT_DEFAULT="'x'"))
    put(lake, "a.parquet", [{"id": "1", "v": "one"}], both, *fields)
    put(lake, "b.parquet", [{"id": "2"}], pa.schema([("id", pa.string())]), *fields)
    assert sorted(source(lake).frame.collect()) == [("1", "one"), ("2", None)]


def test_a_user_defined_type_is_read_as_what_it_is_stored_as(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module, trace = lake.folder / "modules" / "planted.py", lake.folder / "trace"
    module.parent.mkdir()
    module.write_text(f"open({str(trace)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(module.parent)
    kind = {"type": "udt", "pyClass": "planted.Kind", "serializedClass": "gASVAA==", "sqlType": "string"}
    put(lake, "a.parquet", [{"id": "1"}], pa.schema([("id", pa.string())]), described("id", kind))

    frame = source(lake).frame
    assert frame.dtypes == [("id", "string")]
    assert frame.collect() == [("1",)]
    assert not trace.exists()

    with pytest.raises(Exception, match=r"planted|DATATYPE|UNSUPPORTED"):
        _ = lake.spark.read.parquet(str(lake.landing)).schema
    assert trace.exists(), "PySpark imports it where nothing holds it"
    sys.modules.pop("planted", None)


def test_a_date_of_long_ago_is_read_as_the_source_says_and_else_not(lake: Any) -> None:
    """Spark 2 and Hive counted days before 1582 otherwise; what Hudi has written is read without a word."""
    rows = [{"id": "1", "day": dt.date(1, 1, 1)}]
    schema = pa.schema([("id", pa.string()), ("day", pa.date32())])
    pq.write_table(pa.Table.from_pylist(rows, schema), lake.landing / "old.parquet")
    refused = lake.ingest(files={"format": "parquet", "options": {}})
    assert refused.reason is FailureReason.SOURCE_UNREADABLE, refused
    result = lake.ingest(files={"format": "parquet", "options": {"datetimeRebaseMode": "CORRECTED"}})
    assert result.outcome is Outcome.SUCCEEDED, result
    assert lake.rows("id", "day") == [("1", dt.date(1, 1, 1))]
