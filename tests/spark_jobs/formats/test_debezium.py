"""Change events of Debezium in JSON: rows, deletes, types, and what is no event."""

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import FIELDS, MYSQL_UPDATE, encoded, postgres, with_schema
from tests.spark_jobs.formats.messages import Topic, context_of, rows_of, table, unwrapped

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, IS_DELETED
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unwrap import require
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

BINLOG: dict[str, Any] = {"ordering_fields": ("_event_bin_file", "_event_pos")}


@pytest.fixture
def topic(spark: SparkSession) -> Topic:
    return Topic(spark)


def test_events_are_rows_with_the_place_where_they_stood(topic: Topic) -> None:
    topic.put(
        postgres("r", {"id": 1, "note": "snapshot"}, lsn=5),
        postgres("c", {"id": 2, "note": "new"}, lsn=6),
        postgres("u", {"id": 1, "note": None}, lsn=7),
        postgres("d", {"id": 2, "note": None}, lsn=8),
        None,
    )
    result = unwrapped(topic)
    assert result.deletes
    assert result.columns == [
        "_change_operation_type",
        "_upstream_event_processed_ts_ms",
        "db_shard_source_partition",
        "db_schema_source_partition",
        "_event_origin_ts_ms",
        "_event_tx_id",
        "_event_lsn",
        "_event_xmin",
        "id",
        "note",
    ]
    rows = rows_of(result)
    assert table(rows, "id", "note", "_event_lsn", "_change_operation_type", IS_DELETED, CORRUPT_RECORD) == [
        (1, "snapshot", 5, "r", False, None),
        (2, "new", 6, "c", False, None),
        (1, None, 7, "u", False, None),
        (2, None, 8, "d", True, None),
    ]
    assert rows[1]["db_shard_source_partition"] == "shop"
    assert rows[1]["db_schema_source_partition"] == "public"
    assert rows[1]["_event_tx_id"] == 706


def test_an_update_of_mysql_stands_where_its_binlog_says(topic: Topic) -> None:
    topic.put(MYSQL_UPDATE)
    result = unwrapped(topic, ddl=None, **BINLOG)
    assert result.events == {
        "logs": {"mysql-server-1": "mysql-bin.######"},
        "files": {"mysql-server-1": ["mysql-bin.000003", 1465581029523]},
        "tables": ["mysql-server-1.inventory.customers"],
    }
    again = {**MYSQL_UPDATE, "op": "r", "ts_ms": 1465581029524, "before": None}
    again["source"] = {**MYSQL_UPDATE["source"], "file": "mysql-bin.000002", "snapshot": "first"}
    topic.put(again)
    with pytest.raises(TaskFailed, match="the file numbers start over"):
        unwrapped(topic, ddl=None, events=result.events, **BINLOG)
    topic.values.pop()
    row = rows_of(result)[0]
    assert row["_event_seq"] == "000003.484"
    assert (row["_event_bin_file"], row["_event_pos"], row["_event_row"]) == ("mysql-bin.000003", 484, 0)
    assert (row["id"], row["first_name"], row[IS_DELETED]) == (1004, "Anne Marie", False)
    assert row["_event_origin_ts_ms"] == 1465581029100


def test_schemas_inside_of_events_give_columns_their_types(topic: Topic) -> None:
    row = {
        "id": 1,
        "note": "x",
        "image": base64.b64encode(b"\0\1").decode(),
        "day": 20_000,
        "at": 1_732_400_000_123_456,
        "at3": 1_732_400_000_123,
        "zoned": "2026-11-24T01:02:03.456789Z",
        "clock": 5,
        "price": encoded(-12_345),
        "any_number": {"scale": 3, "value": encoded(-45)},
        "doc": '{"a": 1}',
        "ref": "00000000-0000-0000-0000-000000000005",
        "days": [0, None],
        "tags": ["a", None],
        "ratio": 1.5,
        "paid": True,
    }
    topic.put(with_schema(postgres("c", row, lsn=3)))
    result = unwrapped(topic, ddl=None)
    found = rows_of(result)[0]
    at = dt.datetime.fromisoformat("2024-11-23T22:13:20")
    assert found[CORRUPT_RECORD] is None
    assert {name: found[name] for name in row} == {
        **row,
        "image": bytearray(b"\0\1"),
        "day": dt.date(2024, 10, 4),
        "at": at.replace(microsecond=123_456),
        "at3": at.replace(microsecond=123_000),
        "price": Decimal("-123.45"),
        "any_number": "-0.045",
        "days": [dt.date(1970, 1, 1), None],
    }
    kinds = dict(result.frame.dtypes)
    assert (kinds["id"], kinds["price"], kinds["ratio"]) == ("int", "decimal(12,2)", "float")


def test_declared_columns_keep_numbers_or_read_texts(topic: Topic) -> None:
    topic.put(with_schema(postgres("c", {"id": 1, "at": 5, "zoned": "1970-01-01T00:00:01+01:00"}, lsn=3)))
    found = rows_of(unwrapped(topic, ddl="id BIGINT, at BIGINT, zoned TIMESTAMP"))[0]
    assert (found["id"], found["at"], found["zoned"]) == (1, 5, dt.datetime.fromisoformat("1969-12-31T23:00:01"))
    with pytest.raises(TaskFailed, match="note is declared as double, but the events have string"):
        unwrapped(topic, ddl="note DOUBLE")


def test_values_that_do_not_fit_their_type_are_bad_records(topic: Topic) -> None:
    long = encoded(10**40)
    topic.put(
        with_schema(postgres("c", {"id": 1, "price": long}, lsn=1)),
        with_schema(postgres("c", {"id": 2, "any_number": {"scale": -1, "value": encoded(1)}}, lsn=2)),
        with_schema(postgres("c", {"id": 3, "zoned": "infinity"}, lsn=3)),
        with_schema(postgres("c", {"id": "x"}, lsn=4)),
        with_schema(postgres("c", {"id": 5, "doc": "much"}, lsn=5)),
        with_schema(postgres("c", {"id": 6, "at3": 2**62}, lsn=6)),
        with_schema(postgres("c", {"id": 7, "any_number": {"scale": 0, "value": encoded(0)}}, lsn=7)),
        with_schema(postgres("c", {"id": 8}, lsn=8, ts_ms=2**63)),
        with_schema(postgres("c", {"id": 9}, lsn=9, ts_ms=2**63 - 1)),
        with_schema(postgres("c", {"id": 10}, lsn=10, ts_ms=-1)),
    )
    rows = rows_of(unwrapped(topic, ddl="id BIGINT, zoned TIMESTAMP, doc DECIMAL(5,2)"))
    assert [row[CORRUPT_RECORD] is not None for row in rows] == [*[True] * 6, False, True, False, False]
    columns = [row[FAULT] and row[FAULT]["column"] for row in rows[:7]]
    assert columns == ["price", "any_number", "zoned", "id", "doc", "at3", None]
    assert [row["id"] for row in rows] == [*[None] * 6, 7, None, 9, 10]
    assert [row["_upstream_event_processed_ts_ms"] for row in rows[8:]] == [2**63 - 1, -1]
    assert rows[6]["any_number"] == "0"


def test_values_of_events_are_exact_or_their_events_are_bad_records_with_column_and_cause(topic: Topic) -> None:
    ddl = "id BIGINT, zoned TIMESTAMP, doc DECIMAL(5,2)"
    topic.put(
        postgres("c", {"id": 1, "doc": 1.25}, lsn=1),
        postgres("c", {"id": 2, "doc": 1.239}, lsn=2),
        postgres("c", {"id": "x"}, lsn=3),
        postgres("c", {"id": 4, "zoned": "10:20"}, lsn=4),
    )
    rows = rows_of(unwrapped(topic, ddl=ddl))
    assert table(rows, "id", "doc") == [(1, Decimal("1.25")), *[(None, None)] * 3]
    assert [row[FAULT] and row[FAULT]["column"] for row in rows] == [None, "doc", "id", "zoned"]

    topic.values.clear()
    topic.put(
        with_schema(postgres("c", {"id": 2**63}, lsn=5)),
        # Sent as texts, which the driver reads as the declared types.
        with_schema(postgres("c", {"id": 6, "doc": "1.25"}, lsn=6)),
        with_schema(postgres("c", {"id": 7, "doc": "1.239"}, lsn=7)),
        with_schema(postgres("c", {"id": 8, "zoned": "2026"}, lsn=8)),
    )
    rows = rows_of(unwrapped(topic, ddl=ddl))
    assert table(rows, "id", "doc") == [(None, None), (6, Decimal("1.25")), *[(None, None)] * 2]
    assert [row[CORRUPT_RECORD] is None for row in rows] == [False, True, False, False]
    assert [row[FAULT] and row[FAULT]["column"] for row in rows] == ["id", None, "doc", "zoned"]
    assert rows[2][FAULT]["cause"] == "holds a value that is not of its type"


def changed(before: dict[str, Any], after: dict[str, Any], lsn: int) -> dict[str, Any]:
    return {**postgres("u", after, lsn=lsn), "before": before}


def test_an_update_that_changes_the_record_key_deletes_the_row_that_was(topic: Topic) -> None:
    """As where the record key is not the key of the database's table, of whose changes Debezium makes two events."""
    topic.put(
        changed({"id": 1, "note": "eu"}, {"id": 1, "note": "us"}, 5),
        changed({"id": 2, "note": "eu"}, {"id": 2, "note": "eu"}, 6),
        changed({"id": 3, "note": None}, {"id": 3, "note": "us"}, 7),
        postgres("u", {"id": 4, "note": "us"}, lsn=8),
    )
    rows = rows_of(unwrapped(topic, record_key=("id", "note"), partition_by=("note",)))
    assert sorted(table(rows, "_event_lsn", IS_DELETED, "id", "note", "_change_operation_type")) == [
        (5, False, 1, "us", "u"),
        (5, True, 1, "eu", "d"),
        (6, False, 2, "eu", "u"),
        (7, False, 3, "us", "u"),
        (8, False, 4, "us", "u"),
    ]


def test_a_delete_that_does_not_name_its_record_key_is_a_bad_record(topic: Topic) -> None:
    """Without REPLICA IDENTITY FULL the image has the database's own key, and empty values for what may not be null."""
    nothing = {"note": "", "size": 0, "paid": False, "more": None}
    topic.put(postgres("d", {"id": 1, **nothing}, lsn=1), key=b'{"id": 1}')
    topic.put(postgres("d", {"id": 1, **nothing}, lsn=2), key=b'{"schema": {}, "payload": {"id": 1}}')
    topic.put(postgres("d", {"id": 1, **nothing, "size": 3}, lsn=3), key=b'{"id": 1}')
    topic.put(postgres("d", {"id": 1, **nothing, "note": "eu"}, lsn=4), key=b'{"id": 1}')
    topic.put(postgres("d", {"id": 1, **nothing}, lsn=5), key=b'{"id": 1, "note": ""}')
    topic.put(postgres("d", {"id": 1, **nothing}, lsn=6), postgres("c", {"id": 1, **nothing}, lsn=7))
    ddl = "id BIGINT, note STRING, size INT, paid BOOLEAN, more DATE"
    rows = rows_of(unwrapped(topic, ddl=ddl, record_key=("id", "note")))
    assert [row[CORRUPT_RECORD] is not None for row in rows] == [True, True, *[False] * 5]


def test_a_column_of_a_later_schema_is_null_before(topic: Topic) -> None:
    later = [*FIELDS[:2], {"type": "string", "optional": True, "field": "extra"}]
    topic.put(
        with_schema(postgres("c", {"id": 1, "note": "a"}, lsn=1), FIELDS[:2]),
        with_schema(postgres("c", {"id": 2, "note": "b", "extra": "c"}, lsn=2), later),
    )
    assert table(rows_of(unwrapped(topic, ddl=None)), "id", "note", "extra") == [(1, "a", None), (2, "b", "c")]


def test_a_column_of_two_types_is_refused(topic: Topic) -> None:
    changed = [FIELDS[0], {"type": "int32", "optional": True, "field": "note"}]
    topic.put(
        with_schema(postgres("c", {"id": 1, "note": "a"}, lsn=1), FIELDS[:2]),
        with_schema(postgres("c", {"id": 2, "note": 5}, lsn=2), changed),
    )
    with pytest.raises(TaskFailed, match=r"note is (string|int) in one schema") as caught:
        unwrapped(topic, ddl=None)
    assert caught.value.reason is FailureReason.SCHEMA_INCOMPATIBLE


BESIDE = [
    {"ts_ms": 1732400000000},
    {"status": "BEGIN", "id": "571", "event_count": None, "data_collections": None, "ts_ms": 1},
    {
        "source": {"db": "inventory"},
        "ts_ms": 1,
        "databaseName": "inventory",
        "ddl": "ALTER TABLE x",
        "tableChanges": [],
    },
    {"schema": {"type": "struct", "name": "io.debezium.connector.common.Heartbeat"}, "payload": {"ts_ms": 1}},
    {
        "schema": {"type": "struct", "name": "io.debezium.connector.common.TransactionMetadataValue"},
        "payload": {"status": "END", "id": "1"},
    },
    {"op": "m", "ts_ms": 1, "source": {"lsn": 5}, "message": {"prefix": "p", "content": "YQ=="}},
    {
        "schema": {"type": "struct", "name": "io.debezium.connector.postgresql.MessageValue"},
        "payload": {"op": "m", "ts_ms": 1, "source": {"lsn": 5}, "message": {"prefix": "p", "content": "YQ=="}},
    },
    {"schema": None, "payload": None},
]
NO_EVENTS: list[Any] = [
    {"ts_ms": 1, "amount": 5},
    {"id": 1, "note": "a row"},
    {"status": "BEGIN", "id": "1", "amount": 5},
    {"status": "PAID", "id": 1},
    {"op": "c", "after": {"id": 1, "note": "no source"}},
    {"op": "x", "after": {"id": 1}, "source": {"lsn": 5}},
    {"op": None, "after": {"id": 1}, "source": {"lsn": 5}},
    postgres("c", None, lsn=1),
    postgres("d", None, lsn=1),
    {"schema": {"type": "struct", "name": "other.Envelope"}, "payload": postgres("c", {"id": 1}, lsn=1)},
    {"schema": {"type": "struct", "fields": 5}, "payload": postgres("c", {"id": 1}, lsn=1)},
    b"null",
    b"[]",
    b"5",
    b"",
    b"\xff\xfe",
    b'{"op":"c","after":{"id":1},"source":{"lsn":5}} {}',
    b'{"op":"c","after":{"id":"x"},"source":{"lsn":5}}',
]


def test_message_of_debezium_beside_events_is_no_row(topic: Topic) -> None:
    topic.put(*BESIDE, postgres("c", {"id": 1, "note": "a"}, lsn=1))
    assert table(rows_of(unwrapped(topic)), "id", CORRUPT_RECORD) == [(1, None)]


def test_value_that_is_no_event_is_a_bad_record(topic: Topic) -> None:
    topic.put(*NO_EVENTS, postgres("c", {"id": 1, "note": "a"}, lsn=1))
    rows = rows_of(unwrapped(topic))
    assert [row[CORRUPT_RECORD] is None for row in rows] == [*[False] * len(NO_EVENTS), True]
    assert rows[1][CORRUPT_RECORD] == json.dumps(NO_EVENTS[1])


def test_a_truncated_table_stops_the_run_and_says_so(topic: Topic) -> None:
    topic.put({**postgres("t", None, lsn=4)})
    with pytest.raises(TaskFailed, match="1 event of the database truncated its table") as caught:
        unwrapped(topic)
    assert caught.value.reason is FailureReason.BAD_RECORDS


def test_a_column_that_an_event_adds_is_not_taken_from_the_table(topic: Topic) -> None:
    topic.put(postgres("c", {"id": 1, "_event_lsn": 9}, lsn=1))
    with pytest.raises(TaskFailed, match="_event_lsn"):
        unwrapped(topic, ddl=None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ordering_fields": ()}, r"orderingFields \[_event_lsn\] for PostgreSQL or \[_event_bin_file, _event_pos\]"),
        ({"ordering_fields": ("id",)}, "orderingFields"),
        ({"ordering_fields": ("_event_seq",)}, "orderingFields"),
        ({"operation": "Insert"}, "Upsert"),
        ({"partition_by": ("note",), "index": "Bloom"}, "global index"),
        ({"partition_by": ("note",)}, "global index"),
    ],
)
def test_tables_in_which_events_cannot_be_ordered_are_refused(topic: Topic, changes: dict[str, Any], said: str) -> None:
    topic.put(postgres("c", {"id": 1, "note": "a"}, lsn=1))
    with pytest.raises(TaskFailed, match=said) as caught:
        unwrapped(topic, **changes)
    assert caught.value.reason is FailureReason.INVALID_REQUEST


@pytest.mark.parametrize(
    "changes", [{"partition_by": ("note",), "index": "GlobalBloom"}, {"partition_by": ("id",), "index": "Bloom"}]
)
def test_partitions_that_a_delete_finds_are_accepted(topic: Topic, changes: dict[str, Any]) -> None:
    topic.put(postgres("c", {"id": 1, "note": "a"}, lsn=1))
    assert len(rows_of(unwrapped(topic, **changes))) == 1


def test_a_batch_without_any_event_has_no_columns(topic: Topic) -> None:
    topic.put(b"x", None, {"ts_ms": 1})
    rows = rows_of(unwrapped(topic, ddl=None))
    assert [row[CORRUPT_RECORD] for row in rows] == ["x"]


def test_without_messages_the_declared_columns_are_known(topic: Topic) -> None:
    result = unwrapped(topic)
    assert {"_event_lsn", "id", "note"} <= set(result.columns)
    assert rows_of(result) == []


def test_tombstones_delete_nothing_beside_events(spark: SparkSession) -> None:
    _, kafka = context_of(spark, {"value": {"envelope": "Debezium"}, "tombstones": "Delete"})
    with pytest.raises(TaskFailed, match="leave tombstones") as caught:
        require(kafka)
    assert caught.value.reason is FailureReason.INVALID_REQUEST


def test_columns_of_nulls_have_no_type_in_events_without_a_schema(topic: Topic) -> None:
    topic.put(
        postgres("r", {"id": 1, "note": None, "tags": [], "s": {"a": 1, "b": None}, "o": {}, "empty": ""}, lsn=5),
        postgres("u", {"id": 1, "note": None, "tags": [None], "s": None, "o": None, "empty": None}, lsn=7),
    )
    result = unwrapped(topic, ddl=None, transform_sql="SELECT * FROM source")
    names = ("note", "tags", "s", "o", "empty")
    kinds = [result.frame.schema[name].dataType.simpleString() for name in names]
    assert kinds == ["void", "array<void>", "struct<a:bigint,b:void>", "struct<>", "string"]
    found = table(rows_of(result), *names, CORRUPT_RECORD)
    assert found == [(None, [], (1, None), (), "", None), (None, [None], None, None, None, None)]
