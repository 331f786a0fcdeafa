"""With `spark.sql.ansi.enabled`, which a class may open, a message that is wrong is a bad record as without it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import only, postgres, with_schema
from tests.spark_jobs.formats.messages import Topic, context_of, rows_of, table, unwrapped
from tests.spark_jobs.trials import sampled

from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import POSTGRES
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of
from hudi_jobs.ingestion.sources.kafka.message_rows import _with_deletes
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark


@pytest.fixture(params=sampled("true", "false"))
def topic(request: Any, spark: SparkSession) -> Iterator[Topic]:
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield Topic(spark)
    spark.conf.unset("spark.sql.ansi.enabled")


def test_a_tombstone_whose_key_has_another_type_is_a_bad_record(topic: Topic) -> None:
    topic.put({"id": 1}, key=b"text")
    topic.put(None, key=b"text")
    topic.put(None, key=b'"2026"')
    topic.put(None, key=b"7")
    topic.put(None, key=b"7.5")
    topic.put(None, key=(53).to_bytes(8))  # as Kafka's serializer of long numbers writes it: a cast makes 5 of it
    context, kafka = context_of(topic.spark, {"value": {"schema_ddl": "id INT"}, "tombstones": "Delete"})
    decoded = format_of(kafka).decode(context, kafka, topic.frame())
    rows = _with_deletes(context.task.table, decoded).orderBy("_message.offset").collect()
    assert [row["id"] for row in rows] == [1, None, 2026, 7, None, None]
    assert [row[IS_DELETED] for row in rows] == [False, *[True] * 5]
    assert [row[CORRUPT_RECORD] for row in rows] == [
        None,
        "a tombstone with the key text",
        None,
        None,
        "a tombstone with the key 7.5",
        "a tombstone with the key \0\0\0\0\0\0\0005",
    ]


def test_a_key_that_a_registry_has_the_schema_of_is_no_text(topic: Topic) -> None:
    """It would be the key of no row, and the delete nothing."""
    topic.put({"id": "a"}, key=b"a")
    topic.put(None, key=b"\0\0\0\0\5\2a")
    topic.put(None, key=b"a\tb")
    topic.put(None, key=b"\0\0\0\0\xc8\2a")
    topic.put(b"\xff{")
    context, kafka = context_of(topic.spark, {"value": {"schema_ddl": "id STRING"}, "tombstones": "Delete"})
    decoded = format_of(kafka).decode(context, kafka, topic.frame())
    rows = _with_deletes(context.task.table, decoded).orderBy("_message.offset").collect()
    assert table(rows, "id", IS_DELETED)[:3] == [("a", False), (None, True), ("a\tb", True)]
    assert [row[CORRUPT_RECORD] for row in rows] == [
        None,
        "a tombstone with the key \0\0\0\0\5\2a",
        None,
        "a tombstone with the key base64:AAAAAMgCYQ==",
        "base64:/3s=",
    ]


def test_numbers_without_end_and_texts_without_end_are_bad_records(topic: Topic) -> None:
    """Of such a number Spark makes a decimal for half a minute; of a text of a hundred levels columns, and dies."""
    endless = b'{"id": 1e9999999, "v": "1"}'
    topic.put({"id": 7, "v": "1e9999999"}, {"id": 1.5, "v": "x: 1e99999"}, *[endless] * 5, b'{"v":"x", "id":-2E-5 }')
    context, kafka = context_of(topic.spark, {"value": {"schema_ddl": "id DECIMAL(9, 5), v STRING"}})
    began = time.monotonic()
    rows = rows_of(format_of(kafka).decode(context, kafka, topic.frame()))
    assert [row[CORRUPT_RECORD] is None for row in rows] == [True, True, *[False] * 5, True]
    assert rows[-1]["id"] == Decimal("-0.00002")
    assert time.monotonic() - began < 30

    topic.values.clear()
    topic.put({"id": 1}, b'{"id": 2, "v":' + b'{"a":' * 120 + b"1" + b"}" * 121)
    context, kafka = context_of(topic.spark, {"value": {}})
    rows = rows_of(format_of(kafka).decode(context, kafka, topic.frame()))
    assert [row.asDict().get("id") for row in rows] == [1, None]
    assert [row[CORRUPT_RECORD] is None for row in rows] == [True, False]

    topic.put({"v": {str(number): 1 for number in range(5_000)}})
    with pytest.raises(TaskFailed, match="more than 5,000 fields"):
        format_of(kafka).decode(context, kafka, topic.frame())


def test_values_without_an_object_are_bad_records(topic: Topic) -> None:
    topic.put(b"", b" ", b"x", b"[]", {"id": 1}, None, b'{"id": "text"}')
    context, kafka = context_of(topic.spark, {"value": {"schema_ddl": "id INT"}})
    rows = rows_of(format_of(kafka).decode(context, kafka, topic.frame()))
    assert [row["id"] for row in rows] == [None] * 4 + [1, None, None]
    assert [row[CORRUPT_RECORD] is None for row in rows] == [False] * 4 + [True, True, False]


def test_events_whose_texts_have_no_value_of_the_declared_type_are_bad_records(topic: Topic) -> None:
    rows = [
        ("2026-11-24T00:00:00Z", "1.5"),
        ("soon", "1.5"),
        ("2026-13-24T00:00:00Z", "1.5"),
        (None, "much"),
        (None, None),
    ]
    events = (postgres("c", {"id": n, "zoned": at, "doc": price}, lsn=n) for n, (at, price) in enumerate(rows))
    topic.put(*(with_schema(event, only("id", "zoned", "doc")) for event in events), b"", b"[]")
    found = rows_of(unwrapped(topic, ddl="id BIGINT, zoned TIMESTAMP, doc DECIMAL(5,2)"))
    assert [row[CORRUPT_RECORD] is None for row in found] == [True, False, False, False, True, False, False]


def test_numbers_are_not_taken_for_times_of_any_unit(topic: Topic) -> None:
    """Spark takes all of them for seconds, and multiplies microseconds beyond what a number holds."""
    seconds = 1_732_400_000
    values: list[Any] = [seconds, "9999-12-31T23:59:59Z", None, seconds * 1000, seconds * 1_000_000]
    topic.put(*({"id": 1, "at": value} for value in values))
    context, kafka = context_of(topic.spark, {"value": {"schema_ddl": "id INT, at TIMESTAMP"}})
    rows = rows_of(format_of(kafka).decode(context, kafka, topic.frame()))
    assert [row[CORRUPT_RECORD] is None for row in rows] == [False, True, True, False, False]
    topic.values.clear()
    topic.put(*(postgres("c", {"id": 1, "at": value}, lsn=3) for value in values))
    rows = rows_of(unwrapped(topic, ddl="id INT, at TIMESTAMP"))
    assert [row[CORRUPT_RECORD] is None for row in rows] == [False, True, True, False, False]


def test_times_that_are_too_far_away_are_bad_records(topic: Topic) -> None:
    times = (5, 2**62, -(2**62), (2**63 - 1) // 1000)
    rows = (postgres("c", {"id": n, "at3": time}, lsn=n) for n, time in enumerate(times))
    topic.put(*(with_schema(row, only("id", "at3")) for row in rows))
    found = unwrapped(topic, ddl=None).frame.selectExpr("id", CORRUPT_RECORD, "_message.offset").orderBy("offset")
    assert [row[CORRUPT_RECORD] is None for row in found.collect()] == [True, False, False, True]


def test_a_place_of_another_type_is_none(topic: Topic) -> None:
    source = "named_struct('lsn', lsn, 'name', 'shop') AS source"
    frame = topic.spark.createDataFrame([("5",), ("behind",)], "lsn STRING").selectExpr(
        source, "'c' AS op", "'t' AS ts_ms"
    )
    rows = frame.select(*POSTGRES.added(frame.schema["source"].dataType)).collect()  # type: ignore[arg-type]
    assert [(row["_event_lsn"], row["_upstream_event_processed_ts_ms"]) for row in rows] == [(5, None), (None, None)]
