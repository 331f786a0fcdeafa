"""What a run reads of topics, and what the table and the result say then."""

import time
from typing import Any

import pytest
from tests.spark_jobs.formats.messages import avro_value
from tests.spark_jobs.formats.registry_server import fake_registry
from tests.spark_jobs.kafka.conftest import encoded
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import FailureReason, Outcome, TaskResult

pytestmark = [pytest.mark.spark, pytest.mark.streams]


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def numbered(first: int, last: int, v: str = "a") -> list[dict[str, Any]]:
    return [{"id": number, "v": v} for number in range(first, last)]


def test_each_message_is_read_once_and_a_run_without_new_ones_makes_no_commit(stream: Any) -> None:
    stream.create(partitions=3)
    for partition in range(3):
        stream.send(numbered(partition * 10, partition * 10 + 10), partition=partition)
    first = succeeded(stream.ingest(operation="Insert"))
    assert (first.rows_read, first.more_input, first.backlog_records) == (30, False, 0)
    assert first.checkpoint == f"{stream.topic}: 3 partitions, offsets 10..10"
    assert first.complete_up_to is not None

    nothing = stream.ingest(operation="Insert")
    assert nothing.outcome is Outcome.NOTHING_TO_DO, nothing
    assert len(stream.lake.instants()) == 1

    stream.send(numbered(30, 35), partition=1)
    second = succeeded(stream.ingest(operation="Insert"))
    assert second.rows_read == 5
    assert second.checkpoint == f"{stream.topic}: 3 partitions, offsets 10..15"
    assert stream.rows("id") == [(number,) for number in range(35)]


def test_limits_spread_over_partitions_and_later_runs_read_the_rest(stream: Any) -> None:
    stream.create(partitions=2)
    stream.send(numbered(0, 30), partition=0)
    stream.send(numbered(30, 40), partition=1)
    first = succeeded(stream.ingest(operation="Insert", maxFiles=8))
    assert (first.rows_read, first.more_input, first.backlog_records) == (8, True, 32)
    assert first.checkpoint == f"{stream.topic}: 2 partitions, offsets 2..6"
    assert str(first.complete_up_to) < str(first.started_at)
    second = succeeded(stream.ingest(operation="Insert", maxBytes=1))
    assert (second.rows_read, second.more_input) == (1, True)
    # A message is some 20 bytes long, which the driver estimates by the next ones.
    third = succeeded(stream.ingest(operation="Insert", maxBytes=220))
    assert third.rows_read in range(8, 13)
    last = succeeded(stream.ingest(operation="Insert"))
    assert (last.more_input, last.backlog_records) == (False, 0)
    assert stream.rows("id") == [(number,) for number in range(40)]


def test_a_limit_of_bytes_holds_where_the_next_messages_are_small(stream: Any) -> None:
    stream.create()
    stream.send([{"id": number, "v": ""} for number in range(200)])
    stream.send([{"id": number, "v": "x" * 20_000} for number in range(200, 400)])
    result = succeeded(stream.ingest(maxBytes=200_000))
    assert 1 <= int(result.rows_read or 0) <= 20
    assert result.more_input


def test_transactions_are_read_once_they_are_committed_and_never_when_aborted(stream: Any) -> None:
    stream.create()
    stream.send(numbered(0, 2))
    stream.broker.begin(stream.topic, [(None, b'{"id": 100, "v": "aborted"}')] * 3).abort()
    succeeded(stream.ingest(operation="Insert"))
    assert stream.rows("id") == [(0,), (1,)]
    held = stream.broker.begin(stream.topic, [(None, b'{"id": 2, "v": "late"}')])
    stream.send(numbered(3, 5))

    waiting = stream.ingest(operation="Insert")
    assert waiting.outcome is Outcome.NOTHING_TO_DO, waiting
    # The message of the open transaction is older than this run, and not in the table.
    assert waiting.complete_up_to < waiting.started_at
    held.commit()
    succeeded(stream.ingest(operation="Insert"))
    assert stream.rows("id") == [(number,) for number in range(5)]

    dirty = {"isolation": "ReadUncommitted"}
    stream.broker.begin(stream.topic, [(None, b'{"id": 7, "v": "dirty"}')]).abort()
    succeeded(stream.ingest(operation="Insert", source=dirty))
    assert stream.rows("id")[-1] == (7,)


@pytest.mark.parametrize("declared", [True, False])
def test_a_range_of_markers_and_tombstones_alone_moves_the_checkpoint(stream: Any, declared: bool) -> None:
    if not declared:
        stream.source = {"value": {}}
    stream.create()
    for _ in range(3 if ALL else 2):
        stream.broker.begin(stream.topic, [(None, b'{"id": 100, "v": "aborted"}')]).abort()
    if not declared:
        stream.raw([(b"1", None)] * 13)  # more than what is read beyond the limit at first
    first = stream.ingest(operation="Insert", maxFiles=1)
    if declared:
        assert succeeded(first).rows_read == 0
    else:
        # Without columns there is no table that could keep a checkpoint, and without messages nothing to keep.
        assert first.outcome is Outcome.NOTHING_TO_DO, first
        assert "There is no row in 1 partition" in first.message
        assert not first.more_input, first
    stream.send(numbered(0, 2))
    moved = [succeeded(stream.ingest(operation="Insert", maxFiles=1))]
    while moved[-1].more_input:
        moved.append(succeeded(stream.ingest(operation="Insert", maxFiles=1)))
        assert len(moved) < 12
    assert stream.rows("id") == [(0,), (1,)]
    stream.broker.begin(stream.topic, [(None, b"{}")]).abort()
    assert succeeded(stream.ingest(operation="Insert")).rows_read == 0
    assert stream.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO


def test_a_compacted_topic_is_read_as_it_is(stream: Any) -> None:
    stream.create(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="100"
    )
    rows = [{"id": number % 5, "v": str(number)} for number in range(50)]
    stream.send(rows[:-1], key="id")
    time.sleep(0.3)
    stream.send(rows[-1:], key="id")
    deadline = time.monotonic() + 30
    while len(stream.broker.read(stream.topic)) > 10 and time.monotonic() < deadline:
        time.sleep(0.5)
    left = len(stream.broker.read(stream.topic))
    assert left < 50
    result = succeeded(stream.ingest())
    assert (result.rows_read, result.more_input) == (left, False)
    assert stream.rows("id", "v") == [(number, str(45 + number)) for number in range(5)]
    assert stream.ingest().outcome is Outcome.NOTHING_TO_DO


def test_latest_is_kept_by_the_first_run_so_that_nothing_after_it_is_missed(stream: Any) -> None:
    start = {"startingOffsets": {"reset": "Latest"}}
    stream.create(partitions=2)
    stream.send(numbered(0, 10), partition=0)
    first = succeeded(stream.ingest(source=start))
    assert first.rows_read == 0
    stream.send(numbered(10, 12), partition=0)
    stream.send(numbered(12, 14), partition=1)
    succeeded(stream.ingest(source=start))
    assert stream.rows("id") == [(10,), (11,), (12,), (13,)]


def test_an_end_that_no_table_can_keep_is_refused_and_not_passed_over(stream: Any) -> None:
    """The next run would begin at the end of its own time, behind whatever came between the two."""
    with fake_registry() as registry:
        settings = {"value": {"format": "Avro"}, "registry": {"url": registry.url}}
        stream.source = {**settings, "startingOffsets": {"reset": "Latest"}}
        stream.create()
        refused = stream.ingest()
    assert refused.reason is FailureReason.SCHEMA_INCOMPATIBLE, refused
    assert "Register the newest schemas" in refused.message


def test_a_schema_that_is_merely_registered_stops_no_table_and_one_that_a_message_was_written_with_does(
    stream: Any,
) -> None:
    def version(inner: str, *more: dict[str, Any]) -> dict[str, Any]:
        part = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": inner, "default": 0}]}
        fields = [{"name": "id", "type": "long"}, {"name": "inner", "type": ["null", part], "default": None}]
        return {"type": "record", "name": "Order", "fields": [*fields, *more]}

    first, second = version("int"), version("int", {"name": "flag", "type": "int", "default": 1})
    texts, extra = {"name": "flag", "type": "string"}, {"name": "extra", "type": "string"}
    third = version("long", *({**one, "default": "-"} for one in (texts, extra)))
    with fake_registry() as registry:
        stream.source = {"value": {"format": "Avro"}, "registry": {"url": registry.url}}
        stream.create()

        def send(number: int, schema: dict[str, Any], **record: Any) -> None:
            stream.raw([(None, avro_value(number, schema, {"inner": {"x": record["id"]}, **record}))])

        for number, schema in ((1, first), (2, second)):
            registry.schema(number, schema, subject=f"{stream.topic}-value")
        send(2, second, id=1, flag=4)
        assert "registered schema" not in succeeded(stream.ingest()).message

        registry.schema(3, third, subject=f"{stream.topic}-value")
        send(1, first, id=2)
        without = succeeded(stream.ingest()).message
        assert "The newest registered schema does not fit the table" in without
        assert "inner.x is int in the table and bigint in the input" in without
        send(2, second, id=3, flag=6)
        succeeded(stream.ingest(schemaEvolution="None"))
        assert stream.rows("id", "inner.x", "flag") == [(1, 1, 4), (2, 2, None), (3, 3, 6)]
        assert "extra" not in stream.lake.spark.read.format("hudi").load(stream.lake.base_path).columns

        before = stream.lake.instants()
        send(3, third, id=4, flag="x", extra="y")
        refused = stream.ingest(source={"topics": [stream.topic]})
    assert refused.reason is FailureReason.SCHEMA_INCOMPATIBLE, refused
    assert "inner.x is int in the table and bigint in the input" in refused.message
    assert "cast it to int in the transform" in refused.message
    assert "registered schema" not in refused.message
    assert stream.lake.instants() == before


def test_partitions_start_at_a_time_or_at_an_offset_and_new_ones_at_their_earliest(stream: Any) -> None:
    stream.lake.table = {"orderingFields": ["o"]}
    stream.source["columns"] = {"offset": "o"}
    stream.create(partitions=2, retention_ms="-1")
    for number in range(6):
        stream.raw([(None, encoded({"id": number, "v": "t"}), (), 1_700_000_000_000 + number * 1000, 0)])
        stream.raw([(None, encoded({"id": 10 + number, "v": "o"}), (), None, 1)])
    named = [{"topic": stream.topic, "partition": 1, "offset": 5}]
    start = {"startingOffsets": {"timestamp": "2023-11-14T23:13:24+01:00", "partitions": named}}
    succeeded(stream.ingest(source=start))
    assert stream.rows("id") == [(4,), (5,), (15,)]
    stream.broker.add_partitions(stream.topic, 3)
    stream.send(numbered(20, 22), partition=2)
    before = stream.lake.instants()
    lower = stream.ingest()
    assert lower.reason is FailureReason.TABLE_MISMATCH, lower
    assert f"{stream.topic} has 3 partitions instead of 2" in lower.message
    assert stream.lake.instants() == before
    new = stream.ingest(operation="Insert", source={"startingOffsets": {"reset": "Latest"}})
    assert succeeded(new).rows_read == 2
    assert stream.rows("id")[-2:] == [(20,), (21,)]


def test_a_pattern_means_whole_names_and_topics_that_come_later_begin_at_their_earliest(stream: Any) -> None:
    prefix = stream.topic
    for name in ("orders", "orders.eu", "returns"):
        stream.broker.create_topic(f"{prefix}-{name}")
        stream.broker.produce(f"{prefix}-{name}", [(None, encoded({"id": len(name), "v": name}))])
    pattern = {"topics": [], "topicPattern": f"{prefix}-orders(\\..*)?"}
    succeeded(stream.ingest(source={**pattern, "columns": {"topic": "topic"}}))
    assert stream.rows("id", "topic") == [(6, f"{prefix}-orders"), (9, f"{prefix}-orders.eu")]
    stream.broker.create_topic(f"{prefix}-orders.us")
    stream.broker.produce(f"{prefix}-orders.us", [(None, encoded({"id": 20, "v": "us"}))])
    later = {**pattern, "columns": {"topic": "topic"}, "startingOffsets": {"reset": "Latest"}}
    assert succeeded(stream.ingest(source=later)).rows_read == 1
    none = stream.ingest(source={**pattern, "topicPattern": f"{prefix}-nothing.*"})
    assert none.reason is FailureReason.SOURCE_NOT_FOUND, none
    internal = stream.ingest(source={**pattern, "topicPattern": ".*_transaction_state"})
    assert internal.reason is FailureReason.SOURCE_NOT_FOUND, internal


def test_a_topic_that_is_missing_is_named(stream: Any) -> None:
    result = stream.ingest()
    assert result.reason is FailureReason.SOURCE_NOT_FOUND, result
    assert stream.topic in result.message
    assert not stream.lake.instants()
