"""Topics in a real broker, with schemas of Protobuf in a real registry, and the tables that are made of them."""

import itertools
import uuid
from typing import Any

import pytest
from tests.spark_jobs.formats.messages import protobuf_value
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from toolkit.streams import KafkaBroker, SchemaRegistry

pytestmark = [pytest.mark.spark, pytest.mark.streams, pytest.mark.slow]

SHORT = b"\0"
UNIT = 'syntax = "proto3"; package base; message Unit { string name = 1; }'
HEAD = 'syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; import "unit.proto"; '
V1 = HEAD + "message Order { int64 id = 1; string note = 2; google.protobuf.Timestamp at = 3; base.Unit unit = 4; }"
V2 = HEAD + (
    "message Order { int64 id = 1; string note = 2; google.protobuf.Timestamp at = 3; base.Unit unit = 4; "
    "map<string, int32> counts = 5; message Line { int64 id = 1; string of = 2; } }"
)


class Orders:
    """A topic, the subject of its schemas, and the table that reads it."""

    def __init__(self, kafka: KafkaBroker, registry: SchemaRegistry, lake: Any) -> None:
        self.kafka, self.registry, self.lake = kafka, registry, lake
        self.topic = f"orders-{uuid.uuid4().hex[:8]}"
        self.kafka.create_topic(self.topic, 2)
        self.unit = f"{self.topic}-unit"
        self.registry.register(self.unit, UNIT, "PROTOBUF")
        self.value: dict[str, Any] = {"format": "Protobuf"}
        self._places = itertools.cycle((0, 1))

    def register(self, text: str) -> int:
        references = [{"name": "unit.proto", "subject": self.unit, "version": 1}]
        return self.registry.register(f"{self.topic}-value", text, "PROTOBUF", references)

    def send(self, *values: bytes | None) -> None:
        """Send values, to each partition in turn."""
        self.kafka.produce(self.topic, [(b"k", value, (), None, next(self._places)) for value in values])

    def order(self, number: int, text: str, **record: Any) -> bytes:
        return protobuf_value(number, SHORT, text, "shop.Order", record, unit=UNIT)

    def ingest(self, **more: Any) -> TaskResult:
        source = {
            "kind": "kafka",
            "bootstrapServers": self.kafka.bootstrap,
            "topics": [self.topic],
            "value": self.value,
            "registry": {"url": self.registry.url},
        }
        result: TaskResult = self.lake.ingest(source=source, **more)
        return result

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.lake.rows(*columns)
        return found


@pytest.fixture
def orders(kafka: KafkaBroker, schema_registry: SchemaRegistry, lake: Any) -> Orders:
    return Orders(kafka, schema_registry, lake)


def test_a_topic_whose_schema_evolves_becomes_one_table(orders: Orders) -> None:
    first = orders.register(V1)
    orders.send(
        orders.order(first, V1, id=1, note="a", at="2026-11-24T01:02:03Z", unit={"name": "kg"}),
        orders.order(first, V1, id=2),
        None,
    )
    assert orders.ingest().outcome is Outcome.SUCCEEDED
    assert [row[:2] for row in orders.rows("id", "note", "at")] == [(1, "a"), (2, None)]

    second = orders.register(V2)
    assert second != first
    orders.send(
        orders.order(second, V2, id=1, note="b", counts={"x": 1}),
        orders.order(first, V1, id=3, unit={"name": "l"}),
        orders.order(second, V2, id=4),
    )
    assert orders.ingest().outcome is Outcome.SUCCEEDED
    assert orders.rows("id", "note", "unit.name", "counts") == [
        (1, "b", None, {"x": 1}),
        (2, None, None, None),
        (3, None, "l", None),
        (4, None, None, {}),
    ]
    assert orders.ingest().outcome is Outcome.NOTHING_TO_DO


@IN_FULL
def test_values_that_are_none_of_their_schema_are_refused_or_quarantined(orders: Orders) -> None:
    known = orders.register(V2)
    good = orders.order(known, V2, id=1, note="a")
    line = protobuf_value(known, b"\4\0\0", V2, "shop.Order.Line", {"id": 7, "of": "x"}, unit=UNIT)
    bad = [b"{}", b"\0\x7f\xff\xff\xff\0" + good[6:], good[:-1], line]
    orders.send(good, *bad)
    refused = orders.ingest()
    assert refused.reason is FailureReason.BAD_RECORDS
    assert "4 of 5 rows cannot be read as Protobuf messages" in refused.message
    assert not orders.lake.instants()

    folder = f"{orders.lake.root}/bad"
    result = orders.ingest(badRecords="Quarantine", quarantinePath=folder, run="one")
    assert (result.outcome, result.rows_read, result.rows_quarantined) == (Outcome.SUCCEEDED, 5, 4)
    kept = orders.lake.spark.read.json(f"{folder}/one/flights/unreadable").collect()
    places = [f"{orders.topic}-{place}" for place in ("0:1", "0:2", "1:0", "1:1")]
    assert sorted(row["message"] for row in kept) == places
    assert orders.rows("id", "note") == [(1, "a")]


@IN_FULL
def test_a_message_inside_of_another_becomes_a_table(orders: Orders) -> None:
    known = orders.register(V2)
    orders.value["messageType"] = "shop.Order.Line"
    orders.send(protobuf_value(known, b"\4\0\0", V2, "shop.Order.Line", {"id": 7, "of": "x"}, unit=UNIT))
    assert orders.ingest().outcome is Outcome.SUCCEEDED
    assert orders.rows("id", "of") == [(7, "x")]


@IN_FULL
def test_a_registry_that_is_down_fails_the_run_and_the_next_one_reads_all(orders: Orders) -> None:
    known = orders.register(V1)
    orders.send(orders.order(known, V1, id=1))
    orders.registry.kill()
    try:
        assert orders.ingest().reason is FailureReason.SOURCE_UNAVAILABLE
    finally:
        orders.registry.start()
    assert orders.ingest().outcome is Outcome.SUCCEEDED
    assert orders.rows("id") == [(1,)]
