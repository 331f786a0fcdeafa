"""Messages that are gone before they could be read: never passed over in silence."""

import time
from typing import Any

import pytest
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.kafka.conftest import encoded

from hudi_jobs.contract import FailureReason, Outcome, TaskResult
from hudi_jobs.ingestion.sources.kafka.clients import Brokers

pytestmark = [pytest.mark.spark, pytest.mark.streams]

SKIP = {"onDataLoss": "Skip"}


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def lost(result: TaskResult, *words: str) -> None:
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INPUT_LOST), result
    for word in words:
        assert word in result.message, result.message


def numbered(first: int, last: int) -> list[dict[str, Any]]:
    return [{"id": number, "v": "a"} for number in range(first, last)]


def test_expired_offsets_stop_the_run_and_are_reported_when_they_are_skipped(stream: Any) -> None:
    stream.create(partitions=2)
    stream.send(numbered(0, 10), partition=0)
    stream.send(numbered(100, 103), partition=1)
    succeeded(stream.ingest(operation="Insert"))
    stream.send(numbered(10, 30), partition=0)
    stream.broker.delete_records(stream.topic, 0, 25)
    before = stream.lake.instants()

    lost(stream.ingest(operation="Insert"), f"{stream.topic}-0: 10..24", "15 known offsets")
    assert stream.lake.instants() == before

    went_on = succeeded(stream.ingest(operation="Insert", source=SKIP))
    assert (went_on.records_skipped, went_on.skipped) == (15, (f"{stream.topic}-0: 10..24",))
    assert stream.rows("id") == [(number,) for number in (*range(10), *range(25, 30), 100, 101, 102)]
    quiet = stream.ingest(operation="Insert")
    assert (quiet.outcome, quiet.records_skipped) == (Outcome.NOTHING_TO_DO, 0)


def test_a_partition_that_is_empty_after_its_messages_expired_is_reported_once(stream: Any) -> None:
    stream.create()
    stream.send(numbered(0, 2))
    succeeded(stream.ingest())
    stream.send(numbered(2, 5))
    stream.broker.delete_records(stream.topic, 0, 5)
    lost(stream.ingest(), ": 2..4")
    moved = succeeded(stream.ingest(source=SKIP))
    assert (moved.rows_read, moved.records_skipped) == (0, 3)
    assert stream.ingest().outcome is Outcome.NOTHING_TO_DO


def test_a_topic_of_the_same_name_is_another_topic(stream: Any) -> None:
    stream.create(partitions=2)
    stream.send(numbered(0, 5), partition=0)
    succeeded(stream.ingest(operation="Insert"))
    recreate(stream)
    # More messages than before: the offsets alone would not tell.
    stream.send(numbered(50, 60), partition=0)
    lost(stream.ingest(operation="Insert"), "deleted and created again", f"{stream.topic}-0: from 5 on")
    went_on = succeeded(stream.ingest(operation="Insert", source=SKIP))
    assert went_on.rows_read == 10
    assert went_on.skipped == tuple(
        f"{stream.topic}-{number}: from {offset} on, of the topic that was deleted"
        for number, offset in ((0, 5), (1, 0))
    )
    assert len(stream.rows("id")) == 15
    assert stream.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO


def test_a_topic_of_a_pattern_that_vanishes_stops_the_run_and_is_reported_once(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, other = stream.topic, f"{stream.topic}-b"
    pattern = {"topics": [], "topicPattern": f"{stays}(-b)?"}

    def run(source: dict[str, Any] | None = None) -> TaskResult:
        result: TaskResult = stream.ingest(operation="Insert", source={**pattern, **(source or {})})
        return result

    def assert_loss_named(result: TaskResult, *names: str) -> None:
        assert (result.outcome, result.records_skipped) == (Outcome.SUCCEEDED, 0), result
        assert result.skipped == tuple(f"{one} on, of the topic that is deleted or hidden" for one in names)

    def quiet(result: TaskResult) -> None:
        assert (result.outcome, result.skipped) == (Outcome.NOTHING_TO_DO, ()), result
        assert other not in result.message

    stream.create()
    stream.send(numbered(0, 5))
    stream.topic = other
    stream.create()
    stream.send(numbered(100, 103))
    succeeded(run())
    stream.send(numbered(103, 105))
    stream.broker.delete_topic(other)
    gone(stream)
    before = stream.lake.instants()
    lost(run(), f"{other}: any from 3 on", "set onDataLoss to Skip")
    assert stream.lake.instants() == before

    assert_loss_named(run(SKIP), f"{other}: any from 3")
    quiet(run(SKIP))
    quiet(run())

    # Of the same name, and with more messages than were read: another topic, whose loss has been accepted.
    stream.create()
    succeeded(run())
    stream.send(numbered(200, 205))
    assert (succeeded(last := run()).rows_read, last.skipped) == (5, ())

    names = Brokers.names
    monkeypatch.setattr(Brokers, "names", lambda brokers: [one for one in names(brokers) if one != other])
    lost(run(), f"{other}: any from 5 on")
    assert_loss_named(run(SKIP), f"{other}: any from 5")
    quiet(run())
    stream.send(numbered(205, 207))
    monkeypatch.setattr(Brokers, "names", names)
    assert (succeeded(last := run()).rows_read, last.skipped) == (2, ())
    assert stream.rows("id") == [(one,) for one in (*range(5), *range(100, 103), *range(200, 207))]
    quiet(run())


def recreate(stream: Any) -> None:
    stream.broker.delete_topic(stream.topic)
    gone(stream)
    stream.create(2)


def gone(stream: Any) -> None:
    # The broker removes the former one a moment later, and until then takes the name for taken.
    deadline = time.monotonic() + 20
    while stream.topic in stream.broker._admin.list_topics(timeout=10).topics:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_start_that_has_expired_is_a_loss_and_one_beyond_the_end_is_refused(stream: Any) -> None:
    stream.create()
    stream.send(numbered(0, 10))
    stream.broker.delete_records(stream.topic, 0, 4)

    def start(offset: int) -> dict[str, Any]:
        return {"startingOffsets": {"partitions": [{"topic": stream.topic, "partition": 0, "offset": offset}]}}

    lost(stream.ingest(source=start(2)), ": 2..3")
    beyond = stream.ingest(source=start(11))
    assert beyond.reason is FailureReason.INVALID_REQUEST
    assert "ends at 10" in beyond.message
    assert succeeded(stream.ingest(source=start(8))).rows_read == 2


@pytest.mark.parametrize("moment", ["before", "after"])
def test_messages_that_expire_while_they_are_read_are_noticed(
    stream: Any, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Once the offsets are known the messages go: before Spark reads them, or when it has them all."""
    stream.create()
    stream.send(numbered(0, 20))
    at = {"before": "hudi_jobs.ingestion.sources.kafka.kafka_source.reach", "after": "hudi_jobs.ingestion.run.reach"}[
        moment
    ]
    phase = {"before": "listed", "after": "read"}[moment]

    def expire(reached: Any) -> None:
        if reached == phase:
            stream.broker.delete_records(stream.topic, 0, 10)

    monkeypatch.setattr(at, expire)
    result = stream.ingest(operation="Insert")
    if moment == "before":
        lost(result)
        assert not stream.lake.instants()
    else:
        assert succeeded(result).rows_read == 20
        assert stream.rows("id") == [(number,) for number in range(20)]


def test_a_topic_that_is_replaced_while_it_is_read_is_noticed_before_the_commit(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.create()
    stream.send(numbered(0, 20))

    def replace(reached: Any) -> None:
        if reached == "read":
            recreate(stream)

    monkeypatch.setattr("hudi_jobs.ingestion.run.reach", replace)
    lost(stream.ingest(), "created again while it was read")
    assert not stream.lake.instants()


def test_brokers_that_are_down_are_given_up_within_a_minute(stream: Any) -> None:
    begun = time.monotonic()
    result = stream.ingest(source={"bootstrapServers": "127.0.0.1:1"})
    assert result.reason is FailureReason.SOURCE_UNAVAILABLE, result
    assert time.monotonic() - begun < 70
    unknown = stream.ingest(source={"bootstrapServers": "no-such-host.invalid:9092"})
    assert unknown.reason is FailureReason.SOURCE_UNAVAILABLE, unknown


def test_a_checkpoint_of_another_kind_of_source_is_refused(stream: Any) -> None:
    stream.create()
    stream.raw([(None, encoded({"id": 1, "v": "a"}))])
    succeeded(stream.ingest())
    stream.lake.put("a.csv", "id,v\n1,a\n")
    result = stream.lake.ingest(files={"schemaDdl": "id BIGINT, v STRING"})
    assert result.reason is FailureReason.TABLE_MISMATCH


@pytest.mark.parametrize(
    ("topic", "source", "is_read"),
    [
        ({"cleanup_policy": "compact,delete"}, {}, False),
        ({"cleanup_policy": "compact", "min_compaction_lag_ms": "86400000"}, {}, True),
        ({"cleanup_policy": "compact"}, SKIP, True),
    ],
    ids=["compacted", "after a day", "accepted"],
)
def test_change_events_are_not_read_from_a_topic_in_which_compaction_takes_deletes(
    stream: Any, topic: dict[str, str], source: dict[str, Any], is_read: bool
) -> None:
    stream.lake.table = {"orderingFields": ["_event_lsn"]}
    stream.source["value"] = {"schemaDdl": "id BIGINT, v STRING", "envelope": "Debezium"}
    stream.create(**topic)
    stream.send([postgres("c", {"id": 1, "v": "a"}, lsn=1)], key="op")
    result = stream.ingest(source=source)
    if is_read:
        assert succeeded(result).rows_read == 1
    else:
        lost(result, stream.topic, "cleanup.policy=delete", "min.compaction.lag.ms", "onDataLoss: Skip")
        assert stream.lake.instants() == []
