"""Values in Avro, with a registry of this process and Spark's own decoder."""

import datetime as dt
import decimal
import json
import struct
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructType
from tests.spark_jobs.formats.messages import Topic, avro_value, context_of, rows_of
from tests.spark_jobs.formats.registry_server import FakeRegistry, fake_registry

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.kafka.formats.avro_schemas import require_readable
from hudi_jobs.ingestion.sources.kafka.formats.avro_values import decode, require
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Decoded
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

V1 = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"], "default": None}],
}
V2: dict[str, Any] = {**V1, "fields": [*V1["fields"], {"name": "n", "type": "int", "default": 7}]}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as found:
        yield found


@pytest.fixture
def topic(spark: SparkSession) -> Topic:
    return Topic(spark)


def decoded(topic: Topic, registry: FakeRegistry, **source: Any) -> Decoded:
    settings = {"value": {"format": "Avro"}, "registry": {"url": registry.url}, **source}
    context, kafka = context_of(topic.spark, settings)
    require(kafka)
    return decode(context, kafka, topic.frame())


def table(rows: list[Row], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def test_values_of_two_schemas_are_rows_of_the_newest(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    registry.schema(2, V2)
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}), avro_value(2, V2, {"id": 2, "name": None, "n": 3}))
    rows = rows_of(decoded(topic, registry))
    assert table(rows, "id", "name", "n", CORRUPT_RECORD) == [(1, "a", 7, None), (2, None, 3, None)]


def test_columns_of_the_newest_schema_are_there_before_a_message_has_them(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    registry.schema(2, V2)
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}))
    assert table(rows_of(decoded(topic, registry)), "id", "n") == [(1, 7)]


def test_a_column_that_the_newest_schema_has_lost_is_kept(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(2, V2)
    registry.schema(3, V1)
    topic.put(avro_value(2, V2, {"id": 1, "name": "a", "n": 3}), avro_value(3, V1, {"id": 2, "name": "b"}))
    assert table(rows_of(decoded(topic, registry)), "id", "n") == [(1, 3), (2, None)]


def test_bodies_that_cannot_be_decoded_are_bad_records_and_rows_of_nulls_are_not(
    topic: Topic, registry: FakeRegistry
) -> None:
    nullable = {"type": "record", "name": "N", "fields": [{"name": "id", "type": ["null", "long"]}]}
    registry.schema(1, nullable)
    registry.put("/schemas/ids/9", {"error_code": 40403, "message": "Schema not found"}, status=404)
    whole = avro_value(1, nullable, {"id": None})
    bad = [b"\0\0\0\0\1", b"\0\0\0\0\1\x09", b"\0\0\0", b"", b"{}", b"\1" + whole[1:], struct.pack(">bI", 0, 9) + b"x"]
    topic.put(whole, *bad, None, avro_value(1, nullable, {"id": 5}))
    rows = rows_of(decoded(topic, registry))
    assert [row["id"] for row in rows] == [None] * 9 + [5]
    assert [row[CORRUPT_RECORD] is not None for row in rows] == [False, *[True] * 7, False, False]
    assert rows[5][CORRUPT_RECORD] == "{}"
    assert registry.asked.count("/schemas/ids/9") == 1


def test_a_length_without_end_is_a_bad_record(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    topic.put(b"\0\0\0\0\1\2\2\xfe\xff\xff\xff\x0f", b"\0\0\0\0\1\2\2\xff\xff\xff\xff\x0f")
    assert [row[CORRUPT_RECORD] is not None for row in rows_of(decoded(topic, registry))] == [True, True]


def test_a_type_that_changed_is_refused_with_the_column_and_both_types(topic: Topic, registry: FakeRegistry) -> None:
    other = {**V1, "fields": [{"name": "id", "type": "string"}]}
    registry.schema(1, V1)
    registry.schema(2, other)
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}), avro_value(2, other, {"id": "x"}))
    with pytest.raises(
        TaskFailed, match=r"The column id is .*(string|bigint).* and (string|bigint) in another"
    ) as caught:
        decoded(topic, registry)
    assert caught.value.reason is FailureReason.SCHEMA_INCOMPATIBLE


def test_a_newest_schema_that_contradicts_the_messages_of_a_batch_leaves_them_their_types(
    topic: Topic, registry: FakeRegistry
) -> None:
    """So messages from before an incompatible schema are still read; with one message of it they are refused."""

    def version(kind: str, *more: dict[str, Any]) -> dict[str, Any]:
        inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": kind, "default": 0}]}
        return {**V1, "fields": [V1["fields"][0], {"name": "inner", "type": inner}, *more]}

    note = {"name": "note", "type": ["null", "string"], "default": None}
    flag = {"name": "flag", "type": "string", "default": "-"}
    first, second = version("int"), version("int", {"name": "flag", "type": "int"})
    newest = version("int", flag, note)
    registry.schema(1, first)
    registry.schema(2, second)
    registry.schema(3, newest)
    topic.put(avro_value(1, first, {"id": 1, "inner": {"x": 2}}))
    topic.put(avro_value(2, second, {"id": 2, "inner": {"x": 3}, "flag": 4}))
    result = decoded(topic, registry)
    assert dict(result.frame.dtypes)["flag"] == "int"
    assert table(rows_of(result), "id", "flag", "note", CORRUPT_RECORD) == [(1, None, None, None), (2, 4, None, None)]
    assert result.as_written is not None
    assert result.as_written(StructType()).columns == ["id", "inner", "flag"]
    assert dict(result.as_written(StructType().add("note", "integer")).frame.dtypes)["note"] == "int"
    nested = version("string", note)
    nested["fields"][1]["type"]["fields"][0]["default"] = ""
    registry.schema(4, nested)
    result = decoded(topic, registry)
    assert [(row["inner"]["x"], row["note"]) for row in rows_of(result)] == [(2, None), (3, None)]
    topic.put(avro_value(4, nested, {"id": 5, "inner": {"x": "y"}, "note": None}))
    with pytest.raises(TaskFailed, match=r"The column inner\.x "):
        decoded(topic, registry)


def test_newest_schemas_that_no_one_table_can_have_are_refused_before_there_is_a_message(
    topic: Topic, registry: FakeRegistry
) -> None:
    registry.schema(1, V1)
    registry.schema(2, {**V1, "fields": [{"name": "id", "type": "string"}]}, subject="more-value")
    with pytest.raises(TaskFailed, match=r"The column id is .* give each topic a table of its own"):
        decoded(topic, registry, topics=("events", "more"))
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}))
    assert table(rows_of(decoded(topic, registry, topics=("events", "more"))), "id") == [(1,)]


def test_a_nested_type_that_changed_is_named_by_its_path(topic: Topic, registry: FakeRegistry) -> None:
    def nested(kind: str) -> dict[str, Any]:
        inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": kind}]}
        return {**V1, "fields": [{"name": "id", "type": "long"}, {"name": "inner", "type": ["null", inner]}]}

    registry.schema(1, nested("int"))
    registry.schema(2, nested("string"))
    topic.put(avro_value(1, nested("int"), {"id": 1, "inner": {"x": 1}}))
    topic.put(avro_value(2, nested("string"), {"id": 1, "inner": None}))
    with pytest.raises(TaskFailed, match=r"inner\.x"):
        decoded(topic, registry)


EVERYTHING: dict[str, Any] = {
    "type": "record",
    "name": "Everything",
    "fields": [
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "ref", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "hash", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "either", "type": ["null", "long", "string"]},
        {"name": "again", "type": "Kind"},
    ],
}


def test_logical_types_enums_maps_and_unions_keep_their_values(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, EVERYTHING)
    at = dt.datetime(2026, 11, 24, 1, 2, 3, 456789, tzinfo=dt.UTC)
    reference = uuid.UUID(int=5)
    record = {
        "day": dt.date(2026, 11, 24),
        "at": at,
        "price": decimal.Decimal("-12.30"),
        "ref": reference,
        "kind": "B",
        "hash": b"abcd",
        "tags": ["x", None],
        "counts": {"a": 1},
        "either": "text",
        "again": "A",
    }
    topic.put(avro_value(1, EVERYTHING, record))
    result = decoded(topic, registry)
    row = rows_of(result)[0].asDict(recursive=True)
    assert row[CORRUPT_RECORD] is None
    assert row["either"] == {"member0": None, "member1": "text"}
    assert row["at"] == at.replace(tzinfo=None)
    plain = {name: row[name] for name in ("day", "price", "kind", "hash", "tags", "counts", "again")}
    assert plain == {**{name: record[name] for name in plain}, "hash": bytearray(b"abcd")}
    assert row["ref"] == str(reference)


def test_decimals_of_more_digits_than_spark_has_are_read_as_far_as_they_fit(
    topic: Topic, registry: FakeRegistry
) -> None:
    """As Kafka Connect declares decimals of which the connector does not say how long they are."""
    price = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
    schema = {"type": "record", "name": "P", "fields": [{"name": "price", "type": ["null", price]}]}
    registry.schema(1, schema)
    fits, long = decimal.Decimal("-12.30"), decimal.Decimal(10**37)
    topic.put(avro_value(1, schema, {"price": fits}), avro_value(1, schema, {"price": long}))
    rows = rows_of(decoded(topic, registry))
    assert [row["price"] for row in rows] == [fits, None]
    assert [row[CORRUPT_RECORD] is not None for row in rows] == [False, True]


def test_schemas_that_refer_to_others_are_put_together(topic: Topic, registry: FakeRegistry) -> None:
    address = {"type": "record", "name": "Address", "namespace": "a", "fields": [{"name": "city", "type": "string"}]}
    person = {
        "type": "record",
        "name": "P",
        "fields": [{"name": "id", "type": "int"}, {"name": "at", "type": "a.Address"}],
    }
    references = [{"name": "a.Address", "subject": "address", "version": 3}]
    registry.schema(1, person, references=references)
    registry.schema(2, address, subject="address")
    registry.replies["/subjects/address/versions/3"] = registry.replies["/subjects/address/versions/latest"]
    whole = {**person, "fields": [person["fields"][0], {"name": "at", "type": address}]}
    topic.put(avro_value(1, whole, {"id": 1, "at": {"city": "Ulm"}}))
    assert rows_of(decoded(topic, registry))[0]["at"]["city"] == "Ulm"


RECURSIVE = '{"type":"record","name":"T","namespace":"n","fields":[{"name":"next","type":["null","T"]}]}'
OTHER_T = (
    '{"type":"record","name":"T","namespace":"n","fields":[{"name":"u","type":{"type":"record","name":"U",'
    '"namespace":"m","fields":[{"name":"t","type":{"type":"enum","name":"T","symbols":["A"]}},'
    '{"name":"s","type":"T"}]}}]}'
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RECURSIVE, "refers to itself in T"),
        ('"string"', "not a record"),
        ('["null", "string"]', "not a record"),
        ("[" * 500 + "]" * 500, "not a record"),
        (
            '{"type":"record","name":"D","fields":[{"name":"x","type":'
            + '{"type":"array","items":' * 70
            + '"int"'
            + "}" * 70
            + "}]}",
            "nested too deep",
        ),
    ],
)
def test_schemas_without_a_table_of_columns_are_refused(text: str, said: str) -> None:
    with pytest.raises(TaskFailed, match=said) as caught:
        require_readable(text, 4)
    assert caught.value.reason is FailureReason.SCHEMA_INCOMPATIBLE


def test_a_name_of_another_namespace_is_no_recursion() -> None:
    require_readable(OTHER_T, 4)


def test_invalid_avro_schema_is_reported(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, "{")
    topic.put(b"\0\0\0\0\1x")
    with pytest.raises(TaskFailed, match="not an Avro schema"):
        decoded(topic, registry)
    registry.schema(2, "message M {}", schemaType="PROTOBUF")
    topic.values.clear()
    topic.put(b"\0\0\0\0\2x")
    with pytest.raises(TaskFailed, match="PROTOBUF"):
        decoded(topic, registry)


def test_more_schemas_than_a_registry_would_give_are_refused(topic: Topic, registry: FakeRegistry) -> None:
    topic.put(*(struct.pack(">bI", 0, number) + b"x" for number in range(101)))
    with pytest.raises(TaskFailed, match="more than 100 schemas") as caught:
        decoded(topic, registry)
    assert caught.value.reason is FailureReason.BAD_RECORDS
    assert registry.asked == []


def test_without_a_registry_the_request_is_invalid(spark: SparkSession) -> None:
    _, kafka = context_of(spark, {"value": {"format": "Avro"}})
    with pytest.raises(TaskFailed) as caught:
        require(kafka)
    assert caught.value.reason is FailureReason.INVALID_REQUEST


def test_topics_of_one_table_have_the_columns_of_all(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    other = {"type": "record", "name": "B", "fields": [{"name": "id", "type": "int"}, {"name": "z", "type": "string"}]}
    registry.schema(2, other, subject="more-value")
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}))
    topic.put(avro_value(2, other, {"id": 2, "z": "b"}), topic="more")
    result = decoded(topic, registry)
    assert dict(result.frame.dtypes)["id"] == "bigint"
    assert table(rows_of(result), "id", "name", "z") == [(1, "a", None), (2, None, "b")]


def test_a_topic_that_is_quiet_keeps_its_columns(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    other = {"type": "record", "name": "B", "fields": [{"name": "id", "type": "int"}, {"name": "z", "type": "string"}]}
    registry.schema(2, other, subject="more-value")
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}))
    rows = rows_of(decoded(topic, registry, topics=["events", "more", "not registered"]))
    assert table(rows, "id", "name", "z") == [(1, "a", None)]


def test_times_of_an_older_schema_are_read_in_its_own_unit(topic: Topic, registry: FakeRegistry) -> None:
    def since(unit: str) -> dict[str, Any]:
        at = {"type": "long", "logicalType": f"timestamp-{unit}"}
        return {"type": "record", "name": "T", "fields": [{"name": "id", "type": "int"}, {"name": "at", "type": at}]}

    at = dt.datetime(2026, 11, 26, 14, tzinfo=dt.UTC)
    registry.schema(1, since("millis"))
    registry.schema(2, since("micros"))
    topic.put(avro_value(1, since("millis"), {"id": 1, "at": at}), avro_value(2, since("micros"), {"id": 2, "at": at}))
    result = decoded(topic, registry)
    seconds = result.frame.selectExpr("id", "CAST(at AS LONG) AS at").collect()
    assert {row["at"] for row in seconds} == {int(at.timestamp())}


def test_without_messages_the_newest_schemas_of_the_topics_make_the_columns(
    topic: Topic, registry: FakeRegistry
) -> None:
    registry.schema(1, V2)
    found = decoded(topic, registry)
    assert (found.columns, rows_of(found)) == (["id", "name", "n"], [])


def test_a_batch_of_nothing_but_unknown_schemas_is_bad_records(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    topic.put(avro_value(9, V1, {"id": 1, "name": "a"}))
    (bad,) = rows_of(decoded(topic, registry))
    assert (bad["id"], bad[CORRUPT_RECORD] is not None) == (None, True)


def test_an_id_that_no_registry_gives_is_a_bad_record_and_not_asked_for(topic: Topic, registry: FakeRegistry) -> None:
    registry.schema(1, V1)
    registry.put(f"/schemas/ids/{2**31}", {"error_code": 404, "message": "HTTP 404 Not Found"}, 404)
    topic.put(avro_value(1, V1, {"id": 1, "name": "a"}), struct.pack(">bI", 0, 2**31) + b"\x02")
    good, bad = rows_of(decoded(topic, registry))
    assert (good["id"], good[CORRUPT_RECORD]) == (1, None)
    assert bad[CORRUPT_RECORD] is not None
    assert f"/schemas/ids/{2**31}" not in registry.asked


def test_records_that_double_each_other_are_refused_before_spark_makes_columns_of_them() -> None:
    fields: list[dict[str, Any]] = [
        {"name": "f0", "type": {"type": "record", "name": "R0", "fields": [{"name": "a", "type": "int"}]}}
    ]
    for number in range(1, 40):
        parts = [{"name": name, "type": f"R{number - 1}"} for name in ("a", "b")]
        fields.append({"name": f"f{number}", "type": {"type": "record", "name": f"R{number}", "fields": parts}})
    with pytest.raises(TaskFailed, match="more than 20,000 parts") as refused:
        require_readable(json.dumps({"type": "record", "name": "Top", "fields": fields}), 7)
    assert refused.value.reason is FailureReason.SCHEMA_INCOMPATIBLE
    require_readable(json.dumps({"type": "record", "name": "Top", "fields": fields[:8]}), 7)
