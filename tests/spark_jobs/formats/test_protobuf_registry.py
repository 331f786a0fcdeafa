"""Values in Protobuf, with a registry of this process, protoc and Spark's own decoder."""

import datetime as dt
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from tests.spark_jobs.formats.messages import Topic, context_of, protobuf_value, rows_of, table
from tests.spark_jobs.formats.registry_server import FakeRegistry, Reply, fake_registry

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Decoded
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

SHORT, FIRST = b"\0", b"\2\0"
PROTO3 = 'syntax = "proto3"; package shop; '
V1 = PROTO3 + "message Order { int64 id = 1; string name = 2; }"
V2 = PROTO3 + "message Order { int64 id = 1; string name = 2; Line line = 3; } message Line { int32 count = 1; }"
V3 = PROTO3 + (
    "message Order { int64 id = 1; string name = 2; repeated Line more = 4; Line line = 3; } "
    "message Line { int64 count = 1; string unit = 2; }"
)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as found:
        yield found


@pytest.fixture
def topic(spark: SparkSession) -> Topic:
    return Topic(spark)


def decoded(
    topic: Topic,
    registry: FakeRegistry,
    message: str | None = None,
    *,
    topics: tuple[str, ...] = ("events",),
    **more: Any,
) -> Decoded:
    source = {"value": {"format": "Protobuf", "message_type": message}, "registry": {"url": registry.url, **more}}
    context, kafka = context_of(topic.spark, source | {"topics": topics})
    format_of(kafka).require(kafka)
    return format_of(kafka).decode(context, kafka, topic.frame())


def refused(topic: Topic, registry: FakeRegistry, message: str | None = None, **more: Any) -> TaskFailed:
    with pytest.raises(TaskFailed) as caught:
        decoded(topic, registry, message, **more)
    return caught.value


def put(registry: FakeRegistry, number: int, text: str, subject: str = "events-value", **more: Any) -> None:
    registry.schema(number, text, subject=subject, schemaType="PROTOBUF", **more)


def order(number: int, text: str, array: bytes = SHORT, **record: Any) -> bytes:
    return protobuf_value(number, array, text, "shop.Order", record)


def test_each_value_is_read_by_the_schema_that_it_names(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1)
    put(registry, 2, V2)
    put(registry, 3, V3)
    topic.put(
        order(1, V1, id=1, name="a"),
        order(2, V2, FIRST, id=2, line={"count": 7}),
        order(3, V3, id=3, line={"count": 2**40, "unit": "kg"}, more=[{"count": 1}, {}]),
    )
    result = decoded(topic, registry)
    first, second, third = (row.asDict(recursive=True) for row in rows_of(result))
    assert result.columns == ["id", "name", "more", "line"]
    assert (first["id"], first["name"], first["line"]) == (1, "a", None)
    assert (second["id"], second["line"]) == (2, {"count": 7, "unit": None})
    assert (third["line"], len(third["more"])) == ({"count": 2**40, "unit": "kg"}, 2)
    assert [row[CORRUPT_RECORD] for row in (first, second, third)] == [None] * 3
    assert registry.asked.count("/schemas/ids/3") == 1


def test_columns_of_the_newest_schema_are_there_before_a_message_has_them(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1)
    put(registry, 3, V3)
    topic.put(order(1, V1, id=1, name="a"))
    result = decoded(topic, registry)
    assert result.columns == ["id", "name", "more", "line"]
    assert table(rows_of(result), "id", "name", "line") == [(1, "a", None)]


def test_a_column_that_the_newest_schema_has_lost_is_kept(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 2, V2)
    put(registry, 3, PROTO3 + "message Order { int64 id = 1; reserved 2; }")
    topic.put(order(2, V2, id=1, name="a"))
    assert table(rows_of(decoded(topic, registry)), "id", "name") == [(1, "a")]


def test_without_messages_the_newest_schema_makes_the_columns(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V2)
    found = decoded(topic, registry)
    assert (found.columns, rows_of(found)) == (["id", "name", "line"], [])


def test_values_that_are_none_of_their_schema_are_bad_records(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V2)
    registry.put("/schemas/ids/9", {"error_code": 40403, "message": "Schema not found"}, status=404)
    whole = order(1, V2, id=1, name="a")
    bad = {
        "another magic byte": b"\1" + whole[1:],
        "no frame": b"{}",
        "nothing": b"",
        "an id alone": whole[:5],
        "an id that is cut off": whole[:3],
        "a body that is cut off": whole[:-1],
        "an unknown id": struct.pack(">bI", 0, 9) + whole[5:],
        "an id beyond the last": struct.pack(">bI", 0, 2**31) + whole[5:],
        "another message of the schema": whole[:5] + b"\2\2" + whole[6:],
        "a place that is not there": whole[:5] + b"\2\x0a" + whole[6:],
        "a negative count": whole[:5] + b"\1\0" + whole[6:],
        "a negative index": whole[:5] + b"\2\1" + whole[6:],
        "a count without end": whole[:5] + b"\xff" * 12 + whole[6:],
        "a count of all indexes": whole[:5] + b"\xfe\xff\xff\xff\x0f" + whole[6:],
        "an index in more bytes than it takes": whole[:5] + b"\x82\0\0" + whole[6:],
        "an array that ends in the middle": whole[:5] + b"\2",
        "a message that is too deep inside": whole[:5] + b"\x06\0\0\0" + whole[6:],
        "no array": whole[:5] + whole[6:],
    }
    topic.put(whole, *bad.values(), None, struct.pack(">bI", 0, 1) + SHORT)
    first, *others, tombstone, empty = rows_of(decoded(topic, registry))
    assert (first["id"], first[CORRUPT_RECORD]) == (1, None)
    marks = [(row["id"], row[CORRUPT_RECORD] is not None) for row in others]
    assert dict(zip(bad, marks, strict=True)) == dict.fromkeys(bad, (None, True))
    assert others[1][CORRUPT_RECORD] == "{}"
    assert (tombstone[CORRUPT_RECORD], empty[CORRUPT_RECORD]) == (None, None)
    assert f"/schemas/ids/{2**31}" not in registry.asked


def test_a_batch_of_nothing_but_unknown_schemas_is_bad_records(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1)
    topic.put(order(9, V1, id=1))
    (bad,) = rows_of(decoded(topic, registry))
    assert (bad["id"], bad[CORRUPT_RECORD] is not None) == (None, True)


NESTED = PROTO3 + (
    "message Header { string h = 1; } "
    "message Order { message Line { int32 n = 1; map<string, Part> parts = 2; message Part { string p = 1; } } "
    "enum Kind { NONE = 0; SOLD = 1; } message Note { Kind kind = 1; oneof either { string a = 2; Line b = 3; } } }"
)


def test_a_message_inside_of_another_is_read_where_it_is_named(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, NESTED)
    line = protobuf_value(1, b"\4\2\0", NESTED, "shop.Order.Line", {"n": 5, "parts": {"x": {"p": "y"}}})
    topic.put(line, protobuf_value(1, SHORT, NESTED, "shop.Header", {"h": "5"}))
    good, bad = rows_of(decoded(topic, registry, "shop.Order.Line"))
    assert good.asDict(recursive=True) | {"_message": 0} == {
        "_message": 0,
        "n": 5,
        "parts": {"x": {"p": "y"}},
        CORRUPT_RECORD: None,
    }
    assert (bad["n"], bad[CORRUPT_RECORD] is not None) == (None, True)

    topic.put(protobuf_value(1, b"\4\2\2", NESTED, "shop.Order.Note", {"kind": "SOLD", "b": {"n": 1}}))
    note = rows_of(decoded(topic, registry, ".shop.Order.Note"))[-1]
    assert (note["kind"], note["a"], note["b"]["n"]) == ("SOLD", None, 1)


def test_the_first_message_is_the_one_where_none_is_named(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, NESTED)
    topic.put(
        protobuf_value(1, FIRST, NESTED, "shop.Header", {"h": "a"}),
        protobuf_value(1, b"\4\2\0", NESTED, "shop.Order.Line", {"n": 5}),
    )
    result = decoded(topic, registry)
    assert result.columns == ["h"]
    assert [(row["h"], row[CORRUPT_RECORD] is None) for row in rows_of(result)] == [("a", True), (None, False)]


def test_imports_are_read_from_the_registry_and_googles_are_there(topic: Topic, registry: FakeRegistry) -> None:
    text = PROTO3 + (
        'import "part.proto"; import "google/protobuf/timestamp.proto"; '
        "message Order { Part part = 1; google.protobuf.Timestamp at = 2; base.Unit unit = 3; } "
    )
    part = PROTO3 + 'import public "base.proto"; message Part { base.Unit unit = 1; }'
    base = 'syntax = "proto2"; package base; message Unit { optional int32 n = 1; optional Unit2 u = 2; } '
    base += "message Unit2 { required string s = 1; }"
    put(registry, 1, text, references=[{"name": "part.proto", "subject": "part", "version": 2}])
    of_base = [{"name": "base.proto", "subject": "base", "version": 1}]
    registry.put("/subjects/part/versions/2", {"schema": part, "schemaType": "PROTOBUF", "references": of_base})
    registry.put("/subjects/base/versions/1", {"schema": base, "schemaType": "PROTOBUF"})
    record = {"part": {"unit": {"n": 1}}, "at": "2026-11-24T01:02:03.004Z", "unit": {"u": {"s": "x"}}}
    topic.put(protobuf_value(1, SHORT, text, "shop.Order", record, part=part, base=base))
    row = rows_of(decoded(topic, registry))[0].asDict(recursive=True)
    assert row["part"] == {"unit": {"n": 1, "u": None}}
    assert row["unit"] == {"n": None, "u": {"s": "x"}}
    assert row["at"] == dt.datetime(2026, 11, 24, 1, 2, 3, 4000, tzinfo=dt.UTC).replace(tzinfo=None)
    assert registry.asked.count("/subjects/base/versions/1") == 1


def test_a_message_of_an_import_is_no_message_of_the_schema(topic: Topic, registry: FakeRegistry) -> None:
    text = PROTO3 + 'import "other.proto"; message Order { int32 id = 1; }'
    other = 'syntax = "proto3"; package a; message Order { string name = 1; }'
    put(registry, 1, text, references=[{"name": "other.proto", "subject": "other", "version": 1}])
    registry.put("/subjects/other/versions/1", {"schema": other, "schemaType": "PROTOBUF"})
    topic.put(protobuf_value(1, SHORT, text, "shop.Order", {"id": 7}, other=other))
    assert table(rows_of(decoded(topic, registry)), "id", CORRUPT_RECORD) == [(7, None)]
    failed = refused(topic, registry, "a.Order")
    assert (failed.reason, "has no message a.Order" in failed.message) == (FailureReason.SCHEMA_INCOMPATIBLE, True)


LOOP = PROTO3 + "message Order { int64 id = 1; Order next = 2; }"
DOUBLING = PROTO3 + "message M0 { int32 a = 1; } "
DOUBLING += "".join(f"message M{n + 1} {{ M{n} a = 1; M{n} b = 2; }} " for n in range(40))


@pytest.mark.parametrize(
    ("text", "message", "said"),
    [
        (LOOP, None, "refers to itself"),
        (PROTO3 + "message Order { map<string, Order> more = 1; }", None, "refers to itself"),
        (
            PROTO3 + 'import "google/protobuf/struct.proto"; message Order { google.protobuf.Struct any = 1; }',
            None,
            "google.protobuf.* refers to itself",
        ),
        (DOUBLING, "shop.M40", "more than 20,000 fields"),
        (PROTO3 + "message Other { int32 a = 1; }", "shop.Order", "no message shop.Order.*correct protobuf"),
        (PROTO3 + "message Order { int32 a = 1; }", "Order", "no message Order"),
        (PROTO3 + "enum E { NONE = 0; }", None, "no message at all"),
        ('edition = "2023"; message Order { int32 a = 1; }', None, "uses an edition"),
        ("message Order {", None, "cannot be compiled"),
        (PROTO3 + 'import "gone.proto"; message Order { }', None, "gone.proto: File not found"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_schemas_without_a_table_of_columns_are_refused(
    topic: Topic, registry: FakeRegistry, text: str, message: str | None, said: str
) -> None:
    put(registry, 1, text)
    topic.put(struct.pack(">bI", 0, 1) + SHORT + b"\x08\1")
    with pytest.raises(TaskFailed, match=f"(?s){said}") as caught:
        decoded(topic, registry, message)
    assert caught.value.reason is FailureReason.SCHEMA_INCOMPATIBLE


def test_a_name_of_a_reference_that_climbs_is_refused(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1, references=[{"name": "../../x.proto", "subject": "x", "version": 1}])
    registry.put("/subjects/x/versions/1", {"schema": V1, "schemaType": "PROTOBUF"})
    topic.put(order(1, V1, id=1))
    assert "not the name of another file" in refused(topic, registry).message


def test_a_schema_of_another_language_is_refused(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1)
    registry.put("/schemas/ids/2", {"schema": '"string"'})
    topic.put(order(1, V1, id=1), order(2, V1, id=2))
    failed = refused(topic, registry)
    assert (failed.reason, "'AVRO', not Protobuf" in failed.message) == (FailureReason.SCHEMA_INCOMPATIBLE, True)


def test_a_registry_that_is_down_or_refuses_the_job_ends_the_run(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1)
    topic.put(order(1, V1, id=1))
    registry.replies["/schemas/ids/1"] = Reply(503)
    assert refused(topic, registry).reason is FailureReason.SOURCE_UNAVAILABLE
    registry.replies["/schemas/ids/1"] = Reply(401)
    assert refused(topic, registry).reason is FailureReason.SOURCE_ACCESS_DENIED


def test_without_a_subject_the_message_must_be_named(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, V1, subject="shop.Order")
    topic.put(order(1, V1, id=1))
    failed = refused(topic, registry)
    assert (failed.reason, "'events-value'" in failed.message) == (FailureReason.SCHEMA_INCOMPATIBLE, True)
    assert table(rows_of(decoded(topic, registry, "shop.Order")), "id") == [(1,)]
    assert table(rows_of(decoded(topic, registry, subject="shop.Order")), "id") == [(1,)]


def test_topics_of_one_table_have_the_columns_of_all(topic: Topic, registry: FakeRegistry) -> None:
    other = PROTO3 + "message Return { int32 id = 1; string why = 2; }"
    put(registry, 1, V1)
    put(registry, 2, other, subject="more-value")
    topic.put(order(1, V1, id=1, name="a"))
    topic.put(protobuf_value(2, SHORT, other, "shop.Return", {"id": 2, "why": "b"}), topic="more")
    result = decoded(topic, registry)
    assert dict(result.frame.dtypes)["id"] == "bigint"
    assert table(rows_of(result), "id", "name", "why") == [(1, "a", None), (2, None, "b")]
    topic.values.pop()
    quiet = rows_of(decoded(topic, registry, topics=("events", "more", "none")))
    assert table(quiet, "id", "name", "why") == [(1, "a", None)]


def test_a_type_that_changed_is_refused_with_the_column_and_both_types(topic: Topic, registry: FakeRegistry) -> None:
    other = PROTO3 + "message Order { string id = 1; }"
    put(registry, 1, V1)
    put(registry, 2, other)
    topic.put(order(1, V1, id=1), order(2, other, id="x"))
    failed = refused(topic, registry)
    assert failed.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert "The column id is " in failed.message


def test_a_newest_schema_that_contradicts_the_messages_of_a_batch_leaves_them_their_types(
    topic: Topic, registry: FakeRegistry
) -> None:
    newest = V2.replace("int32 count = 1;", "string count = 1; string unit = 2;")
    put(registry, 2, V2)
    put(registry, 3, newest)
    topic.put(order(2, V2, id=1, line={"count": 7}))
    result = decoded(topic, registry)
    assert table(rows_of(result), "id", "line", CORRUPT_RECORD) == [(1, (7, None), None)]
    assert result.as_written is not None
    assert table(rows_of(result.as_written(StructType())), "id", "line", CORRUPT_RECORD) == [(1, (7,), None)]
    topic.put(order(3, newest, id=2, line={"count": "x"}))
    assert "The column line.count is " in refused(topic, registry).message


def test_a_field_that_marks_deletes_is_refused(topic: Topic, registry: FakeRegistry) -> None:
    put(registry, 1, PROTO3 + "message Order { bool _hoodie_is_deleted = 1; }")
    assert "_hoodie_is_deleted" in refused(topic, registry).message


def test_more_schemas_than_a_registry_would_give_are_refused(topic: Topic, registry: FakeRegistry) -> None:
    topic.put(*(struct.pack(">bI", 0, number) + b"\0x" for number in range(101)))
    failed = refused(topic, registry)
    assert (failed.reason, "more than 100 schemas" in failed.message) == (FailureReason.BAD_RECORDS, True)
    assert registry.asked == []
