"""Change events of Debezium in Avro."""

import datetime as dt
import decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType
from tests.spark_jobs.formats.messages import Topic, avro_value, context_of, rows_of, table
from tests.spark_jobs.formats.registry_server import FakeRegistry, fake_registry

from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED
from hudi_jobs.ingestion.sources.kafka.formats.avro_values import decode, require
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unwrap import unwrap, wrapped

pytestmark = pytest.mark.spark

CONNECT_TIME = {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}
CONNECT_ZONED = {"type": "string", "connect.version": 1, "connect.name": "io.debezium.time.ZonedTimestamp"}
CONNECT_PRICE = {"type": "bytes", "scale": 2, "precision": 12, "connect.name": "org.apache.kafka.connect.data.Decimal"}
VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "at", "type": ["null", CONNECT_TIME], "default": None},
        {"name": "raw_at", "type": ["null", CONNECT_TIME], "default": None},
        {"name": "zoned", "type": ["null", CONNECT_ZONED], "default": None},
        {"name": "price", "type": ["null", {**CONNECT_PRICE, "logicalType": "decimal"}], "default": None},
    ],
}
ENVELOPE: dict[str, Any] = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.orders",
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {
            "name": "source",
            "type": {"type": "record", "name": "Source", "fields": [{"name": "lsn", "type": ["null", "long"]}]},
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
REST: list[dict[str, Any]] = ENVELOPE["fields"][1:]
HEARTBEAT = {
    "type": "record",
    "name": "Heartbeat",
    "namespace": "io.debezium.connector.common",
    "fields": [{"name": "ts_ms", "type": "long"}],
}


def test_events_in_avro_are_rows_and_deletes(spark: SparkSession) -> None:
    topic = Topic(spark)
    with fake_registry() as registry:
        _check(topic, registry)


def _check(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, ENVELOPE)
    registry.schema(2, HEARTBEAT, subject="heartbeats-value")
    row = {"id": 1, "at": 1_000_000, "raw_at": 5, "zoned": "1970-01-01T00:00:02Z", "price": decimal.Decimal("1.50")}
    event = {"before": None, "after": row, "source": {"lsn": 7}, "op": "c", "ts_ms": 3}
    topic.put(avro_value(1, ENVELOPE, event))
    topic.put(avro_value(1, ENVELOPE, {**event, "before": row, "after": None, "op": "d", "source": {"lsn": 8}}), None)
    topic.put(avro_value(2, HEARTBEAT, {"ts_ms": 5}), topic="heartbeats")
    topic.put(b"\0\0\0\0\1\5")
    ddl = "raw_at BIGINT, zoned TIMESTAMP"
    settings = {
        "value": {"format": "Avro", "envelope": "Debezium", "schema_ddl": ddl},
        "registry": {"url": registry.url},
    }
    context, kafka = context_of(topic.spark, settings, ordering_fields=("_event_lsn",))
    require(kafka)
    rows = rows_of(unwrap(context, kafka, decode(context, kafka, topic.frame())))
    assert table(rows, "id", "_event_lsn", "_change_operation_type", IS_DELETED) == [
        (1, 7, "c", False),
        (1, 8, "d", True),
        (None, None, None, False),
    ]
    assert rows[0]["at"] == dt.datetime.fromisoformat("1970-01-01T00:00:01")
    assert rows[0]["zoned"] == dt.datetime.fromisoformat("1970-01-01T00:00:02")
    assert (rows[0]["raw_at"], rows[0]["price"]) == (5, decimal.Decimal("1.50"))
    assert [row[CORRUPT_RECORD] is not None for row in rows] == [False, False, True]


TRANSACTION = {
    "type": "record",
    "name": "TransactionMetadataValue",
    "namespace": "io.debezium.connector.common",
    "fields": [
        {"name": "status", "type": "string"},
        {"name": "id", "type": "string"},
        {"name": "event_count", "type": ["null", "long"], "default": None},
        {"name": "ts_ms", "type": "long"},
    ],
}
ROW = {
    "type": "record",
    "name": "Flat",
    "fields": [{"name": "id", "type": "string"}, {"name": "status", "type": "string"}],
}


def test_transactions_without_an_event_are_no_bad_records_and_rows_without_an_envelope_are(spark: SparkSession) -> None:
    """As of a table that is at rest while others of the database change."""
    topic = Topic(spark, name="shop.transaction")
    with fake_registry() as registry:
        registry.schema(3, TRANSACTION, subject="shop.transaction-value")
        settings = {"value": {"format": "Avro", "envelope": "Debezium"}, "registry": {"url": registry.url}}
        context, kafka = context_of(spark, settings, ordering_fields=("_event_lsn",))
        begin = {"status": "BEGIN", "id": "571", "event_count": None, "ts_ms": 1}
        topic.put(avro_value(3, TRANSACTION, begin))
        assert rows_of(unwrap(context, kafka, decode(context, kafka, topic.frame()))) == []
        registry.schema(4, ROW, subject="rows-value")
        topic.put(avro_value(4, ROW, {"id": "1", "status": "PAID"}), topic="rows")
        rows = rows_of(unwrap(context, kafka, decode(context, kafka, topic.frame())))
        assert [row[CORRUPT_RECORD] is not None for row in rows] == [True]


def test_columns_that_no_event_has_are_those_of_the_table_or_none(spark: SparkSession) -> None:
    def envelope(**more: str) -> dict[str, Any]:
        columns = [{"name": "id", "type": "int"}, *({"name": one, "type": more[one], "default": ""} for one in more)]
        return {
            **ENVELOPE,
            "fields": [{**ENVELOPE["fields"][0], "type": ["null", {**VALUE, "fields": columns}]}, *REST],
        }

    topic = Topic(spark)
    with fake_registry() as registry:
        registry.schema(1, envelope())
        registry.schema(2, envelope(more="string", other="string"))
        topic.put(avro_value(1, envelope(), {"after": {"id": 1}, "source": {"lsn": 7}, "op": "c"}))
        settings = {"value": {"format": "Avro", "envelope": "Debezium"}, "registry": {"url": registry.url}}
        context, kafka = context_of(spark, settings, ordering_fields=("_event_lsn",))
        decoded = decode(context, kafka, topic.frame())
        assert decoded.as_written is not None
        known = StructType([StructField("id", IntegerType()), StructField("more", IntegerType())])
        frame = unwrap(context, kafka, decoded.as_written(wrapped(known))).frame
    assert dict(frame.dtypes)["more"] == "int"
    assert "other" not in frame.columns
    assert [(row["id"], row["more"], row[CORRUPT_RECORD]) for row in frame.collect()] == [(1, None, None)]
