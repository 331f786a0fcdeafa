"""Large values that PostgreSQL did not send with an event."""

import base64
import json
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import FIELDS, PLACEHOLDER, encoded, postgres, with_schema
from tests.spark_jobs.formats.messages import Topic, rows_of, table, unwrapped

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark


@pytest.fixture
def topic(spark: SparkSession) -> Topic:
    return Topic(spark)


def test_values_that_were_not_sent_come_from_older_events_of_the_row(topic: Topic) -> None:
    fields = [*FIELDS[:3], FIELDS[13], {"type": "array", "items": {"type": "int32"}, "optional": True, "field": "n"}]
    hidden = base64.b64encode(PLACEHOLDER.encode()).decode()
    numbers = list(PLACEHOLDER.encode())
    whole = {"note": "big", "image": base64.b64encode(b"img").decode(), "tags": ["t"], "n": [1]}
    lacks = {"note": PLACEHOLDER, "image": hidden, "tags": [PLACEHOLDER], "n": numbers}
    topic.put(
        with_schema(postgres("c", {"id": 1, **whole}, lsn=1), fields),
        with_schema(postgres("c", {"id": 2, **whole, "note": None}, lsn=2), fields),
        with_schema(postgres("u", {"id": 1, **lacks, "tags": ["u"]}, lsn=3), fields),
        with_schema(postgres("u", {"id": 2, **lacks}, lsn=4), fields),
        with_schema(postgres("u", {"id": 1, **lacks, "note": "new"}, lsn=5), fields),
        with_schema(postgres("u", {"id": 1, **lacks}, lsn=6), fields),
    )
    rows = rows_of(unwrapped(topic, ddl=None))
    image = bytearray(b"img")
    assert table(rows, "id", "note", "image", "tags", "n", CORRUPT_RECORD) == [
        (1, "big", image, ["t"], [1], None),
        (2, None, image, ["t"], [1], None),
        (1, "big", image, ["u"], [1], None),
        (2, None, image, ["t"], [1], None),
        (1, "new", image, ["u"], [1], None),
        (1, "new", image, ["u"], [1], None),
    ]


DATES = {"type": "int32", "name": "io.debezium.time.Date"}
TIMES = {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}
PRICES = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "12"},
}
ANY = {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal", "fields": FIELDS[9]["fields"]}


def test_placeholders_are_known_in_every_shape_that_they_have(topic: Topic) -> None:
    """Bytes as text, a map as JSON, and arrays with an element for each byte of the placeholder."""
    code = PLACEHOLDER.encode()
    shapes: dict[str, Any] = {
        "coded": base64.b64encode(code).decode(),
        "safe": base64.urlsafe_b64encode(code).decode(),
        "hex": code.hex(),
        "pairs": json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":")),
        "dates": list(code),
        "times": list(code),
        "prices": [encoded(one) for one in code],
        "any": [{"scale": 0, "value": encoded(one)} for one in code],
        "flags": [True] * len(code),
    }
    text = {"type": "string"}
    items = {"dates": DATES, "times": TIMES, "prices": PRICES, "any": ANY, "flags": {"type": "boolean"}}
    kinds = {name: {"type": "array", "items": items[name]} if name in items else text for name in shapes}
    fields = [FIELDS[0], *({**kind, "optional": True, "field": name} for name, kind in kinds.items())]
    older = {**dict.fromkeys(shapes, "a"), **{name: [] for name in items}}
    topic.put(
        with_schema(postgres("c", {"id": 1, **older}, lsn=1), fields),
        with_schema(postgres("u", {"id": 1, **shapes}, lsn=2), fields),
    )
    rows = rows_of(unwrapped(topic, ddl=None))
    assert table(rows, *shapes) == [tuple(older.values())] * 2


def test_values_that_nothing_older_has_stop_the_run_or_are_set_aside(topic: Topic) -> None:
    topic.put(postgres("u", {"id": 1, "note": PLACEHOLDER}, lsn=3), postgres("u", {"id": 2, "note": "x"}, lsn=4))
    with pytest.raises(TaskFailed, match=r"note of 1 update.*REPLICA IDENTITY FULL") as caught:
        unwrapped(topic)
    assert caught.value.reason is FailureReason.BAD_RECORDS
    with pytest.raises(TaskFailed, match="with a transform"):
        unwrapped(topic, transform_sql="SELECT * FROM source")
    rows = rows_of(unwrapped(topic, bad_records="Quarantine"))
    assert table(rows, "id", "note") == [(None, None), (2, "x")]
    assert PLACEHOLDER in rows[0][CORRUPT_RECORD]


def test_values_of_another_row_that_had_the_key_are_not_taken(topic: Topic) -> None:
    """As when a key changes and large values do not: the row comes as a new one without them."""
    topic.put(
        postgres("c", {"id": 1, "note": "other row"}, lsn=1),
        postgres("d", {"id": 1, "note": None}, lsn=2),
        postgres("c", {"id": 1, "note": PLACEHOLDER}, lsn=3),
        postgres("u", {"id": 1, "note": PLACEHOLDER}, lsn=4),
        postgres("u", {"id": 1, "note": "own"}, lsn=5),
        postgres("u", {"id": 1, "note": PLACEHOLDER}, lsn=6),
        postgres("c", {"id": 8, "note": "another"}, lsn=7),
        {**postgres("u", {"id": 8, "note": PLACEHOLDER}, lsn=8), "before": {"id": 7, "note": None}},
    )
    with pytest.raises(TaskFailed, match="note of 3 updates"):
        unwrapped(topic)
    rows = rows_of(unwrapped(topic, bad_records="Quarantine"))
    found = table(rows, "_event_lsn", "note")
    assert sorted(found[7:], key=str) == [(8, None), (None, None)]  # the delete of the former key, and the row
    assert found[:7] == [
        (1, "other row"),
        (2, None),
        (None, None),
        (None, None),
        (5, "own"),
        (6, "own"),
        (7, "another"),
    ]


def test_with_a_transform_the_key_of_messages_tells_rows_apart(topic: Topic) -> None:
    topic.put(postgres("c", {"id": 1, "note": "a"}, lsn=1), key=b"1")
    topic.put(postgres("c", {"id": 2, "note": "b"}, lsn=2), key=b"2")
    topic.put(postgres("u", {"id": 1, "note": PLACEHOLDER}, lsn=3), key=b"1")
    rows = rows_of(unwrapped(topic, transform_sql="SELECT * FROM source"))
    assert [row["note"] for row in rows] == ["a", "b", "a"]
