"""Tables whose Avro schema has types that Spark does not write: kept value by value, or refused before anything.

After apache/hudi#9884, #11803 (timestamp-millis and Spark), #13233 (a renamed unit), #7040 and incubator-xtable#672
(local-timestamp-millis).
"""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.operations.erase.erasing import erase
from tests.spark_jobs.tables.avro_client import write_avro
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome, Service

pytestmark = pytest.mark.spark


def logical(base: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **rest}


MOMENT = 1_720_631_224_939
"""2024-07-10T17:07:04.939Z in milliseconds (apache/hudi#13233)."""
MILLIS = logical("long", "timestamp-millis")
WRITTEN: dict[str, tuple[Any, Any]] = {
    "micros": (logical("long", "timestamp-micros"), {"long": MOMENT * 1000 + 1}),
    "local_micros": (logical("long", "local-timestamp-micros"), {"long": MOMENT * 1000 + 1}),
    "born": (logical("int", "date"), {"int": 19_000}),
    "small": (
        {"type": "fixed", "name": "small", "size": 5, **logical("fixed", "decimal", precision=10, scale=2)},
        {"x.small": "\0\0\x000\x39"},
    ),
    "wide": (
        {"type": "fixed", "name": "wide", "size": 12, **logical("fixed", "decimal", precision=10, scale=2)},
        {"x.wide": "\0" * 10 + "0\x39"},
    ),
    "colour": ({"type": "enum", "name": "colour", "symbols": ["RED", "BLUE"]}, {"x.colour": "BLUE"}),
    "raw": ("bytes", {"bytes": "\x01\xff"}),
    "v": ("string", {"string": "a"}),
}
REWRITTEN: dict[str, tuple[Any, Any]] = {
    "millis": (MILLIS, {"long": MOMENT}),
    "before": (MILLIS, {"long": -1}),
    "local_millis": (logical("long", "local-timestamp-millis"), {"long": MOMENT}),
    "uid": (logical("string", "uuid"), {"string": "123e4567-e89b-12d3-a456-426614174000"}),
    "list": ({"type": "array", "items": ["null", MILLIS]}, {"array": [{"long": MOMENT}]}),
    "item": (
        {
            "type": "record",
            "name": "item",
            "fields": [
                {"name": "at", "type": ["null", MILLIS], "default": None},
                {"name": "n", "type": ["null", "int"], "default": None},
            ],
        },
        {"x.item": {"at": {"long": MOMENT}, "n": {"int": 1}}},
    ),
}
REFUSED: dict[str, tuple[Any, Any]] = {
    "time_millis": (logical("int", "time-millis"), {"int": 3_723_004}),
    "time_micros": (logical("long", "time-micros"), {"long": 3_723_004_005}),
    "raw_decimal": (logical("bytes", "decimal", precision=10, scale=2), {"bytes": "0\x39"}),
    "code": ({"type": "fixed", "name": "code", "size": 4}, {"x.code": "abcd"}),
}


def written(lake: Any, columns: dict[str, tuple[Any, Any]], kind: str, version: int = 9) -> None:
    lake.table = {"type": "CopyOnWrite" if kind == "COPY_ON_WRITE" else "MergeOnRead"}
    lake.spec = {"clustering": {"trigger": {"commits": 1}}, "index": {"type": "Simple"}}
    if kind != "COPY_ON_WRITE":
        lake.spec["compaction"] = {"trigger": {"deltaCommits": 1}}
    values = {name: value for name, (_, value) in columns.items()}
    # The second commit has a file of its own, and updates a row of the first.
    commits = [[{"id": 1, **values}, {"id": 2, **values}], [{"id": 2, **values}, {"id": 3, **values}]]
    types = [(name, of) for name, (of, _) in columns.items()]
    write_avro(lake.spark, lake.base_path, types, commits, kind=kind, version=version)


def in_files(lake: Any) -> dict[int, dict[str, Any]]:
    """The rows of all base files by another reader than Spark, of each key those of the newest file."""
    files = sorted((lake.folder / "table").glob("*.parquet"), key=lambda path: path.name.rpartition("_")[2])
    rows = (row for file in files for row in pq.read_table(file, partitioning=None).to_pylist())
    return {row["id"]: {key: value for key, value in row.items() if not key.startswith("_hoodie")} for row in rows}


def as_text(value: Any) -> str:
    return str(value.decode("iso-8859-1") if isinstance(value, bytes) else value)


@pytest.mark.parametrize("kind", sampled("MERGE_ON_READ", "COPY_ON_WRITE"))
def test_services_and_an_erasure_keep_times_of_milliseconds_and_ingestion_is_refused(lake: Any, kind: str) -> None:
    columns = WRITTEN | REWRITTEN
    written(lake, columns, kind)
    before = lake.rows("id", *columns)
    raw = in_files(lake)
    every = [Service.CLUSTERING] if kind == "COPY_ON_WRITE" else [Service.COMPACTION, Service.CLUSTERING]
    done = [lake.serve(service) for service in every]
    assert Outcome.SUCCEEDED in {result.outcome for result in done}, done
    assert Outcome.FAILED not in {result.outcome for result in done}, done
    assert lake.rows("id", *columns) == before
    after = in_files(lake)
    for name in columns:
        assert as_text(after[1][name]) == as_text(raw[1][name]), name

    instants = lake.instants()
    lake.put("a.csv", "id,v\n9,new\n")
    result = lake.ingest(files={"schemaDdl": "id INT, v STRING"})
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
    assert "column millis: the table has timestamp-millis" in result.message
    assert lake.instants() == instants

    gone = erase(lake, ids=(1,))
    assert gone.outcome is Outcome.SUCCEEDED, gone
    assert lake.rows("id", *columns) == before[1:]


def test_columns_that_spark_does_not_read_as_their_writer_are_refused_before_any_plan(lake: Any) -> None:
    written(lake, WRITTEN | REFUSED, "MERGE_ON_READ")
    instants = lake.instants()
    for service in (Service.COMPACTION, Service.CLUSTERING):
        result = lake.serve(service)
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
        for name, kind in (("time_millis", "time-millis"), ("raw_decimal", "decimal of bytes"), ("code", "fixed")):
            assert f"column {name}: the table has {kind}" in result.message
    assert lake.serve(Service.CLEANING).outcome is Outcome.NOTHING_TO_DO
    assert lake.instants() == instants
    assert not list((lake.folder / "table/.hoodie/timeline").glob("*.requested.inflight"))


def test_fixed_decimals_enums_and_times_of_microseconds_are_ingested_with_exact_values(lake: Any) -> None:
    written(lake, WRITTEN, "COPY_ON_WRITE")
    ((_, *known), *_) = lake.rows("id", *WRITTEN)
    ddl = (
        "id INT, micros TIMESTAMP, local_micros TIMESTAMP_NTZ, born DATE, small DECIMAL(10,2), wide DECIMAL(10,2), "
        "colour STRING, raw BINARY, v STRING"
    )
    frame = lake.spark.createDataFrame([(9, *known)], ddl)
    frame.coalesce(1).write.parquet(f"{lake.root}/in/new")
    (part,) = (lake.folder / "in/new").glob("*.parquet")
    part.rename(lake.folder / "in/new.parquet")
    result = lake.ingest(files={"format": "parquet", "options": {}, "pathGlob": "*.parquet"})
    assert result.outcome is Outcome.SUCCEEDED, result
    assert [tuple(row[1:]) for row in lake.rows("id", *WRITTEN)] == [tuple(known)] * 4
