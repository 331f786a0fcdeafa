"""Rows of another tool are found again, or the run is refused before it writes anything."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_jobs.contract import FailureReason, Outcome

pytestmark = pytest.mark.spark

WRITE, TIME = "hoodie.datasource.write.", "hoodie.keygen.timebased."
SLASHES = f"{WRITE}slash.separated.date.partitioning"
CONSISTENT = f"{WRITE}keygenerator.consistent.logical.timestamp.enabled"
BY_TIME = {
    f"{WRITE}keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
    f"{TIME}timestamp.type": "DATE_STRING",
    f"{TIME}input.dateformat": "yyyy-MM-dd",
    f"{TIME}output.dateformat": "yyyyMMdd",
}


def made(lake: Any, *columns: str, key: str = "id", part: str = "day", operation: str = "upsert", **more: str) -> None:
    """Make a table of one row as a DataFrame does; columns are SQL over the texts `id`, `day`, `at` and `v`."""
    texts = lake.spark.createDataFrame(
        [("1", "2026-01-02", "2026-01-02 03:04:05", "old")], "id string, day string, at string, v string"
    )
    options = {
        "hoodie.table.name": "flights",
        f"{WRITE}recordkey.field": key,
        f"{WRITE}partitionpath.field": part,
        f"{WRITE}operation": operation,
        "hoodie.metadata.enable": "false",
        "hoodie.table.timeline.timezone": "UTC",
        **more,
    }
    frame = texts.selectExpr(*(columns or ("id", "day", "at", "v")))
    frame.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    lake.table = {"recordKey": [key], "partitionBy": [part] if part else []}
    lake.ingestion = {
        "files": {"schemaDdl": ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in frame.schema)}
    }
    header = ",".join(one.name for one in frame.schema)
    values = {"id": "1", "day": "2026-01-02", "at": "2026-01-02 03:04:05", "v": "new"}
    lake.put("a.csv", f"{header}\n{','.join(values[name] for name in header.split(','))}\n")


def assert_refused(lake: Any, *words: str, **changes: Any) -> None:
    before = lake.instants()
    result = lake.ingest(**changes)
    assert result.reason is FailureReason.TABLE_MISMATCH, result.message
    assert all(word in result.message for word in words), result.message
    assert lake.instants() == before


def assert_updated(lake: Any, **changes: Any) -> None:
    result = lake.ingest(**changes)
    assert result.outcome is Outcome.SUCCEEDED, result.message
    assert lake.rows("v") == [("new",)]


def store(lake: Any, **properties: str) -> None:
    file = lake.folder / "table/.hoodie/hoodie.properties"
    file.with_name(".hoodie.properties.crc").unlink(missing_ok=True)
    kept = [line for line in file.read_text().splitlines() if line.partition("=")[0] not in properties]
    file.write_text("\n".join([*kept, *(f"{key}={value}" for key, value in properties.items()), ""]))


def test_days_with_slashes_are_written_once_their_option_is_stored(lake: Any) -> None:
    made(lake, **{SLASHES: "true"})
    assert_refused(lake, f"{SLASHES}: the table has (none)")
    store(lake, **{SLASHES: "false"})
    assert_refused(lake, "partition 2026/01/02", "give it 2026-01-02", f"add {SLASHES}=true to hoodie.properties")
    store(lake, **{SLASHES: "true"})
    assert_updated(lake)


def test_a_timestamp_that_became_a_key_in_another_way_is_not_written_again(lake: Any) -> None:
    made(lake, "CAST(at AS TIMESTAMP) AS at", "v", key="at", part="", **{CONSISTENT: "true"})
    assert_refused(lake, "record key 2026-01-02 03:04:05.0", "give it 1767323045000000")


def test_a_timestamp_that_became_a_partition_in_another_way_is_not_written_again(lake: Any) -> None:
    styled = {CONSISTENT: "true", f"{WRITE}partitionpath.urlencode": "true"}
    made(lake, "id", "CAST(day AS TIMESTAMP) AS day", "v", **styled)
    assert_refused(lake, "partition 2026-01-02 ", "give it 1767312000000000")


@pytest.mark.parametrize("columns", [("CAST(at AS TIMESTAMP) AS at", "v"), ("CAST(at AS DATE) AS at", "v")])
def test_a_time_of_which_a_run_makes_the_same_key_is_updated(lake: Any, columns: tuple[str, ...]) -> None:
    made(lake, *columns, key="at", part="")
    if "DATE" in columns[0]:
        lake.put("a.csv", "at,v\n2026-01-02,new\n")
    assert_updated(lake)


def test_an_operation_that_makes_other_keys_of_timestamps_does_not_follow_ours(lake: Any) -> None:
    lake.table = {"recordKey": ["at"]}
    lake.ingestion = {"files": {"schemaDdl": "at TIMESTAMP, v STRING"}}
    lake.put("a.csv", "at,v\n2026-01-02 03:04:05,old\n")
    assert lake.ingest(operation="Upsert").outcome is Outcome.SUCCEEDED
    lake.put("b.csv", "at,v\n2026-01-02 03:04:05,new\n", at=1)
    assert_refused(lake, "record key", operation="BulkInsert")


def test_an_option_that_a_person_added_as_the_writer_did_not_have_it_is_seen(lake: Any) -> None:
    made(lake, **BY_TIME)
    store(lake, **{f"{TIME}output.dateformat": "yyyyMM"})
    assert_refused(lake, "partition 20260102", "give it 202601,")
    store(lake, **{f"{TIME}output.dateformat": "yyyyMMdd"})
    assert_updated(lake)


def test_a_style_that_a_table_lost_is_seen(lake: Any) -> None:
    made(lake, **{f"{WRITE}hive_style_partitioning": "true"})
    store(lake, **{f"{WRITE}hive_style_partitioning": "false"})
    assert_refused(lake, "partition day=2026-01-02", "give it 2026-01-02")


@pytest.mark.parametrize("kind", ["DECIMAL(5, 2)", "DOUBLE", "BOOLEAN"])
def test_keys_of_other_types_are_found_again(lake: Any, kind: str) -> None:
    made(lake, f"CAST(id AS {kind}) AS id", "v", part="")
    if kind == "BOOLEAN":
        lake.put("a.csv", "id,v\ntrue,new\n")
    assert_updated(lake)
