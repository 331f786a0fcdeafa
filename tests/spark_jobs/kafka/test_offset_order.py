"""Tables that are ordered by the offset of the message: a run that would lose newer rows ends before it writes."""

from typing import Any

import pytest

from hudi_jobs.contract import (
    FailureReason,
    IngestionTableTask,
    IngestionTask,
    KafkaSource,
    TableDefinition,
)
from hudi_jobs.ingestion.sources.kafka.offset_state import require_growing_offsets
from hudi_jobs.ingestion.sources.kafka.offsets import PartitionOffsets, TopicOffsets, TopicProgress, standing
from hudi_jobs.spark.failures import TaskFailed

READ = {"orders": TopicProgress("one", (1_000_000, 7))}


def task(*, operation: str = "Upsert", **table: Any) -> IngestionTableTask:
    source = KafkaSource.model_validate(
        {"bootstrap_servers": "b:1", "topics": ["orders"], "columns": {"offset": "place", "topic": "topic"}}
    )
    definition = {"name": "t", "base_path": "/lake/t", "type": "MergeOnRead", "record_key": ("id",)}
    return IngestionTableTask(
        id="t",
        table=TableDefinition.model_validate({**definition, "ordering_fields": ("place",), **table}),
        ingestion=IngestionTask.model_validate({"source": source, "operation": operation}),
    )


def orders(*ends: int, beginning: int = 0, identity: str = "one") -> dict[str, TopicOffsets]:
    return {"orders": TopicOffsets(identity, tuple(PartitionOffsets(beginning, end, end) for end in ends))}


def require(
    now: dict[str, TopicOffsets], asked: IngestionTableTask | None = None, before: dict[str, TopicProgress] = READ
) -> None:
    starts = dict.fromkeys(standing(READ, now, {}).next, 0)
    one = asked or task()
    require_growing_offsets(one.ingestion, one.table, before, now, standing(before, now, starts).losses)


GROWN = orders(1_000_005, 9, 1)
BEGUN_AGAIN = {
    "partitions are added": (GROWN, "the topic orders has 3 partitions instead of 2"),
    "the topic is created again": (orders(2_000_000, 9, identity="two"), "orders was deleted and created again"),
    "it is created again with more partitions": (orders(1, 1, 1, identity="two"), "deleted and created again"),
    "it has fewer partitions": (orders(2_000_000), "deleted and created again"),
    "a partition is cut off": (orders(999_000, 9), "orders-0 ends before the offset 1,000,000"),
}


@pytest.mark.parametrize(("now", "words"), BEGUN_AGAIN.values(), ids=BEGUN_AGAIN)
def test_a_run_ends_where_a_newer_message_may_have_a_lower_offset(now: dict[str, TopicOffsets], words: str) -> None:
    with pytest.raises(TaskFailed, match=words) as refused:
        require(now)
    assert refused.value.reason is FailureReason.TABLE_MISMATCH
    assert "Nothing was written. Read the messages into a new table" in refused.value.message


def test_a_run_ends_where_the_table_has_rows_of_a_topic_that_it_read_before() -> None:
    before = {"orders-v1": TopicProgress("old", (5,))}
    with pytest.raises(TaskFailed, match="has rows of another topic, orders-v1"):
        require(orders(9), before=before)
    require(orders(9), task(record_key=("topic", "id")), before)


@pytest.mark.parametrize(
    "now", [orders(1_000_000, 7), orders(1_000_005, 9), orders(2_000_000, 2_000_000, beginning=1_500_000)]
)
def test_offsets_that_grow_stop_nothing_though_messages_have_expired(now: dict[str, TopicOffsets]) -> None:
    require(now)


def test_a_first_run_reads_all_partitions_that_there_are() -> None:
    require(GROWN, before={})


@pytest.mark.parametrize(
    "asked",
    [
        task(ordering_fields=()),
        task(ordering_fields=("at",)),
        task(operation="Insert"),
        task(record_key=("topic", "place")),
    ],
    ids=["no order", "another order", "nothing is compared", "one offset for each key"],
)
def test_added_partitions_stop_nothing_where_no_offset_decides(asked: IngestionTableTask) -> None:
    require(GROWN, asked)


def test_an_offset_that_decides_between_equal_values_counts_whatever_the_case_of_its_letters() -> None:
    with pytest.raises(TaskFailed, match="instead of 2"):
        require(GROWN, task(ordering_fields=("at", "PLACE")))
