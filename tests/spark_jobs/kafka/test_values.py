"""What values of messages become: columns, bad rows, and the columns of the message itself."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.spark_jobs.formats.events import postgres

from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_jobs.ingestion.rows import BASE64, BINARY

pytestmark = [pytest.mark.spark, pytest.mark.streams]

BAD = {
    "no JSON": b"{id: 1",
    "cut off": b'{"id": 1, "v": "a"',
    "a number": b"1",
    "null": b"null",
    "an array": b'[{"id": 1, "v": "a"}]',
    "a text": b'"{}"',
    "a wrong type": b'{"id": "one", "v": "a"}',
    "a wrong type within": b'{"id": 1, "v": "a", "n": {"at": "x"}}',
    "two objects": b'{"id": 1, "v": "a"}{"id": 2, "v": "b"}',
    "two objects and a comma": b'{"id": 1, "v": "a"},{"id": 2, "v": "b"}',
    "something behind": b'{"id": 1, "v": "a"} x',
    "no UTF-8": b'{"id": 1, "v": "\xff"}',
    "empty": b"",
    "binary": bytes(range(20)),
}


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def test_bad_values_are_counted_and_quarantined_with_their_place(stream: Any) -> None:
    stream.source["value"] = {"schemaDdl": "id BIGINT, v STRING, n STRUCT<at: INT>"}
    stream.create()
    good = {"id": 5, "v": "ü", "n": {"at": 1}}
    stream.raw([(None, value) for value in BAD.values()] + [(None, json.dumps(good).encode())])
    refused = stream.ingest()
    assert refused.reason is FailureReason.BAD_RECORDS
    assert f"{len(BAD)} of {len(BAD) + 1} rows cannot be read as Json messages" in refused.message
    assert f"1 in {stream.topic}-0:0" in refused.message
    assert not stream.lake.instants()

    folder = f"{stream.lake.root}/bad"
    result = succeeded(stream.ingest(badRecords="Quarantine", quarantinePath=folder, run="one"))
    assert (result.rows_read, result.rows_quarantined) == (len(BAD) + 1, len(BAD))
    kept = stream.lake.spark.read.json(f"{folder}/one/flights/unreadable").collect()
    assert {row["message"] for row in kept} == {f"{stream.topic}-0:{offset}" for offset in range(len(BAD))}
    assert {row[BINARY] for row in kept} == {BASE64}
    assert stream.rows("id", "v") == [(5, "ü")]


def test_columns_are_inferred_from_all_values_of_a_batch_and_a_changed_type_is_refused(stream: Any) -> None:
    stream.source["value"] = {}
    stream.create()
    stream.raw([(None, b'{"id": 1}'), (None, b'{"id": 2, "v": {"deep": [1, 2]}}')])
    succeeded(stream.ingest())
    assert [(row[0], row[1] and row[1].asDict()) for row in stream.rows("id", "v")] == [
        (1, None),
        (2, {"deep": [1, 2]}),
    ]
    # What a batch has no value of by chance, or whole numbers, is no change of the type.
    for value in ({"id": 4}, {"id": 5, "v": None}, {"id": 6, "v": {"deep": None}, "n": 1.5}, {"id": 7, "n": 2}):
        stream.send([value])
        succeeded(stream.ingest())
    assert stream.rows("id", "v.deep", "n")[2:] == [(4, None, None), (5, None, None), (6, None, 1.5), (7, None, 2.0)]
    stream.raw([(None, b'{"id": 3, "v": "a text"}')])
    changed = stream.ingest()
    assert changed.reason is FailureReason.SCHEMA_INCOMPATIBLE, changed


def test_values_without_any_column_are_bad_and_not_lost(stream: Any) -> None:
    stream.source["value"] = {}
    stream.create()
    stream.raw([(None, b"nonsense"), (None, b"{}")])
    result = stream.ingest()
    assert result.outcome is Outcome.FAILED, result
    assert result.reason in {FailureReason.BAD_RECORDS, FailureReason.RECORD_KEY_NULL}
    assert not stream.lake.instants()


def test_raw_values_and_the_columns_of_the_message(stream: Any) -> None:
    names = {name: f"m_{name}" for name in ("key", "topic", "partition", "offset", "timestamp", "headers")}
    stream.lake.table = {"recordKey": ["m_offset"]}
    stream.source = {"value": {"format": "Raw"}, "columns": names}
    stream.create(partitions=2, retention_ms="-1")
    headers = [("h", b"1"), ("h", b"\xff")]
    stream.raw([(b"k\xc3\xbc", b"\x00\xff", headers, 1_700_000_000_123, 1)])
    stream.raw([(b"\xff", b"", (), 1_700_000_000_000, 1), (None, b"x", (), 1_700_000_000_000, 1)])
    succeeded(stream.ingest())
    found = stream.lake.spark.read.format("hudi").load(stream.lake.base_path).orderBy("m_offset").collect()
    assert [bytes(row["value"]) for row in found] == [b"\x00\xff", b"", b"x"]
    assert [row["m_key"] for row in found] == ["kü", "/w==", None]
    assert {(row["m_topic"], row["m_partition"]) for row in found} == {(stream.topic, 1)}
    assert [(one["key"], bytes(one["value"])) for one in found[0]["m_headers"]] == headers
    assert found[0]["m_timestamp"].replace(tzinfo=dt.UTC).microsecond == 123_000


@pytest.mark.parametrize(
    ("value", "columns", "reason"),
    [
        ({"schemaDdl": "id BIGINT, Key STRING"}, {"key": "key"}, FailureReason.INVALID_REQUEST),
        ({"schemaDdl": "id BIGINT"}, {"key": "k", "topic": "k"}, FailureReason.INVALID_REQUEST),
        ({"schemaDdl": "id BIGINT"}, {"key": "_message"}, FailureReason.INVALID_REQUEST),
        ({"schemaDdl": "id BIGINT, _Sequence STRING"}, {}, FailureReason.SCHEMA_INCOMPATIBLE),
        ({"schemaDdl": "id NO_TYPE"}, {}, FailureReason.INVALID_REQUEST),
        ({"format": "Raw", "schemaDdl": "id BIGINT"}, {}, FailureReason.INVALID_REQUEST),
    ],
)
def test_names_that_clash_are_refused(
    stream: Any, value: dict[str, str], columns: dict[str, str], reason: FailureReason
) -> None:
    stream.source = {"value": value, "columns": columns}
    stream.create()
    stream.raw([(None, b'{"id": 1}')])
    result = stream.ingest()
    assert result.reason is reason, result
    assert not stream.lake.instants()


def test_a_time_that_no_calendar_has_stops_nothing(stream: Any) -> None:
    """A producer may send nanoseconds, or none (-1), and brokers keep what they are told."""
    stream.create(message_timestamp_after_max_ms=str(2**63 - 1), retention_ms="-1")
    times = {1: 1_700_000_000_123_456_789, 2: 1_700_000_000_123, 3: -1, 4: 1_700_000_000_123_456, 5: 2**63 - 1}
    messages = [(None, json.dumps({"id": each, "v": "x"}).encode(), (), at) for each, at in times.items()]
    stream.raw([(None, None, (), 2**63 - 1), messages[0], messages[4]])
    first = succeeded(stream.ingest(maxRecords=2))
    assert stream.rows("id") == [(1,)]  # nobody asks for the time
    assert (first.backlog_records, first.complete_up_to) == (1, None)

    stream.raw([(None, None, (), 2**63 - 1), *messages])
    asked: dict[str, Any] = {"source": {"columns": {"timestamp": "at"}}, "schemaEvolution": "AddColumns"}
    refused = stream.ingest(**asked)
    assert refused.reason is FailureReason.BAD_RECORDS, refused
    folder = f"{stream.lake.root}/bad"
    result = succeeded(stream.ingest(**asked, badRecords="Quarantine", quarantinePath=folder, run="one"))
    assert (result.rows_read, result.rows_quarantined) == (7, 4)
    kept = stream.lake.spark.read.json(f"{folder}/one/flights/unreadable").collect()
    assert f'a message with the time {times[1]} ms: {{"id": 1, "v": "x"}}' in {row["record"] for row in kept}
    known = dt.datetime.fromisoformat("2023-11-14T22:13:20.123")
    assert stream.rows("id", "at") == [(1, None), (2, known), (3, None)]


def test_values_are_read_with_the_declared_columns_of_the_table(stream: Any) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "v", "type": "date"}, {"name": "place", "type": "bigint"}]
    stream.lake.table = {"declared": {"columns": columns}}
    stream.source |= {"value": {}, "columns": {"offset": "place"}}
    stream.create()
    stream.raw([(None, b'{"id": 1, "v": "2026-03-01"}'), (None, b'{"id": 2, "v": "soon"}')])
    refused = stream.ingest()
    assert refused.reason is FailureReason.BAD_RECORDS
    assert f"1 in {stream.topic}-0:1: column 'v'" in refused.message
    succeeded(stream.ingest(badRecords="Quarantine", quarantinePath=f"{stream.lake.root}/bad"))
    assert stream.rows("id", "v", "place") == [(1, dt.date(2026, 3, 1), 0)]

    stream.raw([(None, b'{"id": 3, "odd": 1}')])
    refused = stream.ingest()
    assert refused.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert "'odd'" in refused.message


@pytest.mark.parametrize("undeclared", ["Refuse", "Ignore"])
def test_deletes_of_change_events_need_no_values_in_declared_columns(stream: Any, undeclared: str) -> None:
    columns = [
        {"name": "id", "type": "bigint"},
        {"name": "note", "type": "string", "nullable": False},
        {"name": "_event_lsn", "type": "bigint"},
    ]
    stream.lake.table = {
        "orderingFields": ["_event_lsn"],
        "declared": {"columns": columns, "undeclared": undeclared},
    }
    stream.lake.spec = {"orderingFields": ["_event_lsn"]}
    stream.source["value"] = {"schemaDdl": "id BIGINT, note STRING", "envelope": "Debezium"}
    stream.create()
    stream.send([postgres("c", {"id": number, "note": "a"}, lsn=number) for number in (1, 2, 3)])
    if undeclared == "Refuse":
        refused = stream.ingest()
        assert refused.reason is FailureReason.SCHEMA_INCOMPATIBLE
        assert "'_change_operation_type'" in refused.message
        return
    succeeded(stream.ingest())
    stream.send([postgres("d", {"id": 1, "note": None}, lsn=4), postgres("u", {"id": 2, "note": "b"}, lsn=5)])
    succeeded(stream.ingest())
    assert stream.rows("id", "note") == [(2, "b"), (3, "a")]
    stream.send([postgres("u", {"id": 3, "note": None}, lsn=6)])
    assert stream.ingest().reason is FailureReason.BAD_RECORDS
