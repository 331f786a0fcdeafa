"""Values in Protobuf, by descriptors and values that this file writes byte by byte."""

import base64
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.messages import Topic, context_of, rows_of

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of
from hudi_jobs.spark.failures import TaskFailed

INT64, STRING, MESSAGE = 3, 9, 11


def tagged(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def described(name: str, number: int, kind: int, of: str = "") -> bytes:
    named = tagged(6, of.encode()) if of else b""
    return tagged(2, tagged(1, name.encode()) + tagged(3, number) + tagged(4, 1) + tagged(5, kind) + named)


ORDER = tagged(1, b"Order") + described("id", 1, INT64) + described("note", 2, STRING)
LOOP = tagged(1, b"Loop") + described("next", 1, MESSAGE, ".shop.Loop")
FILE = tagged(1, b"o.proto") + tagged(2, b"shop") + tagged(4, ORDER) + tagged(4, LOOP) + tagged(12, b"proto3")
DESCRIPTOR = base64.b64encode(tagged(1, FILE)).decode()


def source(**value: Any) -> dict[str, Any]:
    return {"value": {"format": "Protobuf", "descriptor": DESCRIPTOR, "message_type": "shop.Order", **value}}


@pytest.mark.spark
def test_values_are_messages_of_the_declared_type(spark: SparkSession) -> None:
    topic = Topic(spark)
    topic.put(tagged(1, 5) + tagged(2, b"a"), b"", b"\xff\xff", None, b"\x0a\x7f", tagged(2, b"b"))
    context, kafka = context_of(spark, source())
    format_of(kafka).require(kafka)
    rows = rows_of(format_of(kafka).decode(context, kafka, topic.frame()))
    assert [(row["id"], row["note"]) for row in rows] == [(5, "a"), *[(None, None)] * 4, (None, "b")]
    assert [row[CORRUPT_RECORD] is not None for row in rows] == [False, False, True, False, True, False]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"message_type": "shop.Other"}, "Other"),
        ({"message_type": "shop.Loop"}, "Loop"),
        ({"descriptor": base64.b64encode(b"nonsense").decode()}, "not a file descriptor set"),
    ],
)
def test_descriptors_without_the_message_are_invalid(spark: SparkSession, value: dict[str, Any], said: str) -> None:
    context, kafka = context_of(spark, source(**value))
    with pytest.raises(TaskFailed, match=said) as caught:
        format_of(kafka).decode(context, kafka, Topic(spark).frame())
    assert caught.value.reason is FailureReason.INVALID_REQUEST


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": {"format": "Protobuf"}}, "either a registry or a descriptor"),
        ({"value": {"format": "Protobuf", "descriptor": DESCRIPTOR}}, "needs the type of the message"),
        (source(descriptor="%"), "not base64"),
        (source(descriptor=""), "0 bytes"),
        (source(message_type="shop/../Order"), "not the name of a message"),
        (source(schema_ddl="id BIGINT"), "remove the declared columns"),
        ({**source(), "registry": {"url": "http://registry"}}, "either a registry or a descriptor"),
    ],
)
def test_requests_that_lack_what_protobuf_needs_are_invalid(changes: dict[str, Any], said: str) -> None:
    session: Any = None  # nothing is read
    _, kafka = context_of(session, changes)
    with pytest.raises(TaskFailed, match=said) as caught:
        format_of(kafka).require(kafka)
    assert caught.value.reason is FailureReason.INVALID_REQUEST


@pytest.mark.spark
def test_all_batches_of_a_run_share_one_file_of_the_descriptor(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = base64.b64encode(tagged(1, FILE + tagged(8, b""))).decode()  # one that no other test has
    context, kafka = context_of(spark, source(descriptor=own))
    for _ in range(3):
        format_of(kafka).decode(context, kafka, Topic(spark).frame())
    assert len(list(tmp_path.rglob("*.desc"))) == 1
