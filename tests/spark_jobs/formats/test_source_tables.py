"""Events of several tables of a database in one table: refused, unless it is declared."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.formats.messages import Topic, rows_of, table, unwrapped

from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask, KafkaSource, SourceTables
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.origins import followed_tables
from hudi_jobs.spark.failures import TaskFailed

ONE, SEVERAL = SourceTables.ONE, SourceTables.SEVERAL


def task(policy: str = "Fail") -> IngestionTask:
    source = KafkaSource(bootstrap_servers="b:1", topics=("t",))
    return IngestionTask(source=source, bad_records=BadRecordPolicy(policy))


def event(lsn: int, **source: str) -> dict[str, Any]:
    made = postgres("c", {"id": 1, "note": f"{lsn}"}, lsn=lsn)
    return {**made, "source": {**made["source"], **source}}


def test_a_table_is_followed_and_another_one_refused_with_both_names() -> None:
    assert followed_tables((), (0, "", ""), ONE, task()) == ()
    assert followed_tables((), (5, "a", "a"), ONE, task()) == ("a",)
    assert followed_tables(("a",), (0, "", ""), ONE, task()) == ("a",)
    for policy in BadRecordPolicy:
        with pytest.raises(TaskFailed, match=r"'a' and 'b'.* value.sourceTables .* to Several") as caught:
            followed_tables((), (5, "a", "b"), ONE, task(policy))
        assert caught.value.reason is FailureReason.TABLE_MISMATCH
    with pytest.raises(TaskFailed, match="so far 'a', and now 'b'") as caught:
        followed_tables(("a",), (1, "b", "c"), ONE, task())
    assert caught.value.reason is FailureReason.BAD_RECORDS
    assert followed_tables(("a",), (1, "b", "b"), ONE, task("Quarantine")) == ("a",)


def test_a_table_that_was_renamed_is_known_once_several_have_been_allowed() -> None:
    known = followed_tables(("old",), (3, "new", "new"), SEVERAL, task())
    assert known == ("new", "old")
    assert followed_tables(known, (0, "", ""), ONE, task()) == known
    many = tuple(f"{number:03}" for number in range(100))
    assert len(followed_tables(many, (2, "a", "b"), SEVERAL, task())) == 100


@pytest.mark.spark
def test_events_of_two_tables_do_not_replace_each_other(spark: SparkSession) -> None:
    topic = Topic(spark)
    topic.put(event(1))
    known = unwrapped(topic).events
    assert known["tables"] == ["shop.shop.public.orders"]
    topic.put(event(2, table="orders_2"), event(3, schema="eu"))
    with pytest.raises(TaskFailed, match=r"'shop.shop.eu.orders' and 'shop.shop.public.orders_2'"):
        unwrapped(topic)
    with pytest.raises(TaskFailed, match=r"so far 'shop.shop.public.orders', and now 'shop.shop.eu.orders'"):
        unwrapped(topic, events=known)
    aside = unwrapped(topic, events=known, bad_records="Quarantine")
    assert aside.remark == "2 events of other tables of the database set aside."
    assert [(row["note"], row[CORRUPT_RECORD] is None) for row in rows_of(aside)] == [
        ("1", True),
        (None, False),
        (None, False),
    ]
    both = unwrapped(topic, events=known, source_tables="Several")
    assert table(rows_of(both), "note") == [("1",), ("2",), ("3",)]

    topic.values.clear()
    topic.put(event(1), event(2, schema="eu"), event(3, name="other"))
    told = ("id", "db_schema_source_partition", "db_shard_source_partition")
    assert len(rows_of(unwrapped(topic, record_key=told))) == 3
