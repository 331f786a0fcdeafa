"""Rows of the database that exchange record keys, where these are not the key of their table: none is lost."""

import itertools
import json
import random
from itertools import chain
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.formats.messages import Topic, rows_of, table, unwrapped
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.event_state import Kept
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import (
    MOST_HOLDERS,
    Holder,
    encoded,
    holder_of,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE
from hudi_jobs.spark.failures import TaskFailed

BY_K: dict[str, Any] = {"ddl": "id STRING, k BIGINT", "record_key": ("k",)}


@pytest.fixture
def topic(spark: SparkSession) -> Topic:
    return Topic(spark)


def put(topic: Topic, op: str, row: str, *, before: int | None = None, after: int | None = None, at: int) -> None:
    """Produce what happened to a row of the database: its key is `id`, and `k` is the record key of the table."""
    images = {name: None if k is None else {"id": row, "k": k} for name, k in (("before", before), ("after", after))}
    topic.put({**postgres(op, None, lsn=at), **images}, key=json.dumps({"id": row}).encode())


def left(rows: list[Row]) -> list[tuple[Any, ...]]:
    """What a table that was empty has once the events are applied, the latest place of each key last."""
    latest = {row["k"]: row for row in sorted(rows, key=lambda row: row["_event_lsn"])}
    return sorted((k, row["id"]) for k, row in latest.items() if not row[IS_DELETED])


@pytest.mark.spark
def test_rows_that_exchange_their_keys_in_one_batch_are_both_there(topic: Topic) -> None:
    put(topic, "u", "a", before=1, after=2, at=10)
    put(topic, "u", "b", before=2, after=1, at=11)
    put(topic, "c", "new", after=5, at=12)  # takes the key of a row that goes after it
    put(topic, "u", "old", before=5, after=5, at=13)
    put(topic, "d", "old", before=5, at=14)
    put(topic, "u", "runner", before=7, after=8, at=15)
    put(topic, "u", "runner", before=8, after=9, at=16)
    put(topic, "c", "gone", after=20, at=17)
    put(topic, "d", "gone", before=20, at=18)
    rows = rows_of(unwrapped(topic, **BY_K))
    assert left(rows) == [(1, "b"), (2, "a"), (5, "new"), (9, "runner")]
    assert {row["k"] for row in rows if row[IS_DELETED]} == {7, 8, 20}


@pytest.mark.spark
def test_a_transaction_that_is_read_in_two_batches_loses_no_row(topic: Topic) -> None:
    put(topic, "u", "a", before=1, after=2, at=10)
    put(topic, "u", "gone", before=30, after=31, at=12)
    put(topic, "u", "early", before=41, after=40, at=21)
    first = unwrapped(topic, **BY_K)
    assert left(rows_of(first)) == [(2, "a"), (31, "gone"), (40, "early")]

    topic.values.clear()
    put(topic, "u", "b", before=2, after=1, at=11)
    put(topic, "u", "a", before=2, after=2, at=12)
    put(topic, "d", "gone", before=31, at=13)
    topic.values[-1] = (b'{"schema": {}, "payload": {"id": "gone"}}', *topic.values[-1][1:])
    # From another partition: the delete of 41 by the row that left it would beat this one, in the table or before it.
    put(topic, "u", "late", before=40, after=41, at=20)
    # Both halves of what was there before come again: that row has left the key itself.
    put(topic, "u", "again", before=50, after=41, at=18)
    put(topic, "u", "again", before=41, after=51, at=19)
    kept = json.loads(json.dumps(first.events))
    with pytest.raises(
        TaskFailed, match=r"1 event arrived for rows with a record key that another row .* had held before"
    ) as caught:
        unwrapped(topic, events=kept, **BY_K)
    assert caught.value.reason is FailureReason.BAD_RECORDS
    second = unwrapped(topic, events=kept, bad_records="Quarantine", **BY_K)
    rows = rows_of(second)
    good = [row for row in rows if row[CORRUPT_RECORD] is None]
    assert sorted(table(good, "k", "id", IS_DELETED)) == [
        (1, "b", False),
        (2, "a", False),
        (31, "gone", True),
        (41, "again", True),
        (50, "again", True),
        (51, "again", False),
    ]
    assert [json.loads(row[CORRUPT_RECORD])["after"]["id"] for row in rows if row not in good] == ["late"]
    holders = Kept.of(second.events).holders.values()
    assert sorted(one.place for one in holders if not one.has_left) == [(11,), (12,), (19,), (21,)]


@pytest.mark.spark
def test_the_schema_of_a_key_says_nothing_of_the_row(spark: SparkSession) -> None:
    same: list[tuple[bytes | None, ...]] = [
        (b'{"id": 5}', b'{"schema": {}, "payload": {"id": 5}}', b'{"schema": {"a": 1}, "payload":{"id":5}}'),
        (b"\0\0\0\0\1\n", b"\0\0\0\0\2\n"),
        (b"\0\0\0\0\1\x0c",),
        (b"5",),
        (b"\xff",),
    ]
    topic = Topic(spark)
    for key in chain(*same):
        topic.put({}, key=key)
    found = [row[0] for row in topic.frame().select(holder_of(), f"{MESSAGE}.offset").orderBy("offset").collect()]
    assert [len(set(found[:3])), len(set(found[3:5])), len({*found})] == [1, 1, len(same)]
    topic.values.clear()
    topic.put({})
    assert topic.frame().select(holder_of()).collect()[0][0] is None


Event = tuple[str, str, int | None, int | None]
"""What happened to a row of the database: the operation, the row, its record key before and after."""


def some_life(name: int, chance: random.Random) -> tuple[list[Event], dict[int, str]]:
    """What happens to three rows that exchange their keys, stay as they are, or go; and who has which key then."""
    rows = {f"{name}-{number}": 10 * name + number for number in (1, 2, 3)}
    events: list[Event] = [("c", row, None, key) for row, key in rows.items()]
    for kind in chance.choices(("exchange", "exchange", "stay", "go"), k=3):
        among = chance.sample(sorted(rows), len(rows))
        if kind == "exchange":
            came = dict(zip(among, chance.sample(sorted(rows.values()), len(rows)), strict=True))
            events += [("u", row, rows[row], key) for row, key in came.items() if rows[row] != key]
            rows |= came
        elif among and kind == "stay":
            events.append(("u", among[0], rows[among[0]], rows[among[0]]))
        elif among:
            events.append(("d", among[0], rows.pop(among[0]), None))
    return events, {key: row for row, key in rows.items()}


@IN_FULL
@pytest.mark.spark
def test_whatever_rows_exchange_and_wherever_a_batch_ends_the_table_has_them_all(topic: Topic) -> None:
    chance = random.Random(3)
    lives = [some_life(number, chance) for number in range(250)]
    batches: list[list[tuple[int, Event]]] = [[], [], []]
    places = itertools.count(1)
    for events, _ in lives:
        ends = sorted(chance.choices(range(len(events) + 1), k=2))
        for batch, some in zip(batches, (events[: ends[0]], events[ends[0] : ends[1]], events[ends[1] :]), strict=True):
            batch += [(next(places), event) for event in some]
    found: dict[int, Row] = {}
    kept: Any = {}
    for batch in batches:
        topic.values.clear()
        for at, (op, row, before, after) in batch:
            put(topic, op, row, before=before, after=after, at=at)
        result = unwrapped(topic, events=kept, **BY_K)
        kept = json.loads(json.dumps(result.events))
        for one in sorted([*found.values(), *rows_of(result)], key=lambda each: each["_event_lsn"]):
            found[one["k"]] = one
    assert left(list(found.values())) == sorted(each for _, rows in lives for each in rows.items())


def test_the_checkpoint_keeps_holders_and_refuses_others() -> None:
    holders = {"a": Holder("b", has_left=True, place=("f", 5))}
    assert Kept.of({"holders": json.loads(json.dumps(encoded(holders)))}).holders == holders
    with pytest.raises(TaskFailed, match="This release cannot read the checkpoint"):
        Kept.of({"holders": {"a": ["b"]}, "tables": 5})
    assert (
        len(json.dumps(encoded({f"{n:024x}": Holder("0" * 12, False, (2**60,)) for n in range(MOST_HOLDERS)}))) < 80_000
    )
