"""Events that come after the delete of their row and are older: they bring nothing back."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import MYSQL_UPDATE, PLACEHOLDER, postgres
from tests.spark_jobs.formats.messages import Topic, rows_of, table, unwrapped

pytestmark = pytest.mark.spark


@pytest.fixture
def topic(spark: SparkSession) -> Topic:
    return Topic(spark)


def test_the_delete_of_an_earlier_batch_stands_before_older_events(topic: Topic) -> None:
    topic.put(postgres("c", {"id": 1, "note": "a"}, lsn=10), postgres("d", {"id": 1, "note": None}, lsn=30))
    topic.put(postgres("d", {"id": 2, "note": None}, lsn=31), postgres("c", {"id": 3, "note": "a"}, lsn=32))
    before = unwrapped(topic)
    assert sorted(before.events["deleted"].values()) == [[30], [31]]

    topic.values.clear()
    topic.put(
        postgres("u", {"id": 1, "note": PLACEHOLDER}, lsn=20),
        postgres("r", {"id": 2, "note": "late"}, lsn=30),
        postgres("d", {"id": 1, "note": None}, lsn=29),
        postgres("c", {"id": 2, "note": "again"}, lsn=31),
        postgres("u", {"id": 3, "note": "b"}, lsn=5),
    )
    result = unwrapped(topic, events=json.loads(json.dumps(before.events)))
    assert table(rows_of(result), "id", "note", "_event_lsn") == [(1, None, 29), (2, "again", 31), (3, "b", 5)]
    assert result.remark.startswith("2 events skipped")
    assert result.events == before.events


def test_events_of_mysql_are_compared_by_file_and_position(topic: Topic) -> None:
    def event(op: str, file: str, pos: int) -> dict[str, Any]:
        row = {"before": MYSQL_UPDATE["before"], "after": None if op == "d" else MYSQL_UPDATE["after"]}
        return {**MYSQL_UPDATE, **row, "op": op, "source": {**MYSQL_UPDATE["source"], "file": file, "pos": pos}}

    binlog: dict[str, Any] = {"ordering_fields": ("_event_bin_file", "_event_pos"), "ddl": None}
    topic.put(event("d", "mysql-bin.000009", 700))
    events = unwrapped(topic, **binlog).events
    topic.values.clear()
    topic.put(*(event("u", file, pos) for file, pos in (("mysql-bin.000009", 80), ("mysql-bin.000010", 4))))
    rows = rows_of(unwrapped(topic, events=events, **binlog))
    assert table(rows, "_event_bin_file", "_event_pos") == [("mysql-bin.000010", 4)]
