"""Which of several messages of one key counts, and which records tombstones delete."""

from typing import Any

import pytest
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.kafka.conftest import encoded
from tests.spark_jobs.trials import crossed, sampled

from hudi_jobs.contract import FailureReason, Outcome, TaskResult

pytestmark = [pytest.mark.spark, pytest.mark.streams]

DELETE = {"tombstones": "Delete"}


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def message(key: Any, v: str | None, *, partition: int | None = None, **columns: Any) -> tuple[Any, ...]:
    value = None if v is None else encoded({"id": key, "v": v, **columns})
    return (str(key).encode(), value, (), None, partition)


@pytest.mark.parametrize("table_type", sampled("MergeOnRead", "CopyOnWrite"))
def test_the_later_of_two_messages_of_a_key_wins(stream: Any, table_type: str) -> None:
    stream.lake.table = {"type": table_type}
    stream.create(partitions=3)
    for batch in range(2):
        stream.raw(message(number % 7, f"{batch}-{number}") for number in range(100))
        succeeded(stream.ingest())
        assert stream.rows("id", "v") == newest(batch)


def newest(batch: int) -> list[tuple[int, str]]:
    return [(key, f"{batch}-{max(number for number in range(100) if number % 7 == key)}") for key in range(7)]


def test_of_equal_ordering_values_the_later_message_wins(stream: Any) -> None:
    stream.lake.table = {"orderingFields": ["at"]}
    stream.source["value"] = {"schemaDdl": "id BIGINT, v STRING, at BIGINT"}
    stream.create()
    stream.raw([message(1, "old", at=1), message(1, "first", at=5), message(1, "last", at=5), message(1, "late", at=3)])
    succeeded(stream.ingest())
    assert stream.rows("id", "v") == [(1, "last")]


@pytest.mark.parametrize("operation", ["Insert", "BulkInsert"])
def test_inserts_write_every_message(stream: Any, operation: str) -> None:
    stream.create()
    stream.raw(message(1, str(number)) for number in range(5))
    succeeded(stream.ingest(operation=operation))
    assert len(stream.rows("id")) == 5


def test_a_transform_keeps_the_order_or_is_refused(stream: Any) -> None:
    stream.create()
    stream.raw(message(number % 3, str(number)) for number in range(30))
    without = stream.ingest(transformSql="SELECT id, upper(v) AS v FROM source")
    assert without.reason is FailureReason.TRANSFORM_INVALID, without
    assert "_sequence" in without.message
    succeeded(stream.ingest(transformSql="SELECT id, concat('v', v) AS v, _sequence FROM source WHERE v <> '29'"))
    assert stream.rows() == [(0, "v27"), (1, "v28"), (2, "v26")]


def test_tombstones_are_counted_and_passed_over(stream: Any) -> None:
    stream.create()
    stream.raw([message(1, "a"), message(1, None), message(2, "b")])
    result = succeeded(stream.ingest())
    assert "1 tombstone skipped" in result.message
    assert (result.rows_read, result.rows_quarantined) == (3, 0)
    assert stream.rows("id") == [(1,), (2,)]


@crossed(
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
    ("ordering", [(), ("offset",)]),
)
def test_tombstones_delete_records_for_every_reader(stream: Any, table_type: str, ordering: tuple[str, ...]) -> None:
    stream.lake.table = {"type": table_type, "orderingFields": list(ordering)}
    source = {**DELETE, "columns": {"offset": "offset"}}
    stream.create()
    stream.raw([message(1, "a"), message(2, "b"), message(3, "c"), message(3, None), message(4, "d")])
    succeeded(stream.ingest(source=source))
    assert stream.rows("id") == [(1,), (2,), (4,)]
    stream.raw([message(1, None), message(2, None), message(2, "again"), message(9, None)])
    succeeded(stream.ingest(source=source))
    assert stream.rows("id", "v") == [(2, "again"), (4, "d")]
    frame = stream.lake.spark.read.format("hudi").option("hoodie.datasource.query.type", "read_optimized")
    found = {row["id"] for row in frame.load(stream.lake.base_path).select("id").collect()}
    # A read-optimized reader of log files waits for the compaction, as for every change.
    assert found == {2, 4} or (table_type == "MergeOnRead" and found == {1, 2, 4})
    assert set(stream.lake.spark.read.format("hudi").load(stream.lake.base_path).columns[5:]) == {
        *("id", "v", "offset", "_hoodie_is_deleted")
    }
    # Without tombstones that delete, the table's mark of deletes is filled in.
    stream.raw([message(5, "e"), message(4, None)])
    succeeded(stream.ingest(source={"columns": {"offset": "offset"}}))
    assert stream.rows("id", "v") == [(2, "again"), (4, "d"), (5, "e")]


def test_deletes_that_a_condition_leaves_out_stop_the_run(stream: Any) -> None:
    stream.source = {**DELETE, "value": {"schemaDdl": "id BIGINT, v STRING, amount BIGINT"}}
    stream.create(partitions=2)
    stream.raw([message(1, "a", amount=5), message(2, "b", amount=5), message(3, "c", amount=0)])
    sql = "SELECT *, upper(v) AS w FROM source WHERE amount > 0"
    succeeded(stream.ingest(transformSql=sql))
    before = stream.lake.instants()
    stream.raw([message(1, None), message(2, None), message(2, "again", amount=5, partition=1)])
    refused = stream.ingest(transformSql=sql)
    assert refused.reason is FailureReason.TRANSFORM_INVALID, refused
    assert "leaves out 2 of 2 deletes" in refused.message
    assert "OR _hoodie_is_deleted" in refused.message
    assert stream.lake.instants() == before
    succeeded(stream.ingest(transformSql=f"{sql} OR _hoodie_is_deleted"))
    assert stream.rows("id", "v") == [(2, "again")]
    # Who makes the mark itself keeps deleted rows on purpose.
    stream.raw([message(2, None), message(4, "d", amount=1)])
    kept = "SELECT id, v, amount, v AS w, false AS _hoodie_is_deleted, _sequence FROM source WHERE amount > 0"
    assert "1 delete left out by the transform" in succeeded(stream.ingest(transformSql=kept)).message
    assert stream.rows("id", "v") == [(2, "again"), (4, "d")]


def test_keys_of_tombstones_are_objects_texts_or_json_strings(stream: Any) -> None:
    stream.lake.table = {"recordKey": ["shop", "id"], "partitionBy": ["shop"]}
    stream.source["value"] = {"schemaDdl": "id STRING, v STRING, shop STRING"}
    stream.create()
    stream.raw([message("a", "1", shop="x"), message("b", "2", shop="x"), message("a", "3", shop="y")])
    succeeded(stream.ingest(source=DELETE))
    stream.raw([(b'{"shop": "x", "id": "a"}', None), (b'{"shop": "y", "id": "b"}', None)])
    succeeded(stream.ingest(source=DELETE))
    assert stream.rows("shop", "id") == [("x", "b"), ("y", "a")]
    stream.raw([(b'{"id": "b"}', None), (b"b", None), (None, None), (b"\xff", None)])
    before = stream.lake.instants()
    refused = stream.ingest(source=DELETE)
    assert refused.reason is FailureReason.BAD_RECORDS, refused
    assert "4 of 4 rows" in refused.message
    assert stream.lake.instants() == before


@pytest.mark.parametrize(("key", "left"), [(b"b", ["a"]), (b'"b"', ["a"]), (b'{"id": "b"}', ["a"]), (b"c", ["a", "b"])])
def test_a_key_of_one_column_may_stand_alone(stream: Any, key: bytes, left: list[str]) -> None:
    stream.source["value"] = {"schemaDdl": "id STRING, v STRING"}
    stream.create()
    stream.raw([message("a", "1"), message("b", "2"), (key, None)])
    succeeded(stream.ingest(source=DELETE))
    assert stream.rows("id") == [(one,) for one in left]


@pytest.mark.parametrize(
    ("table", "ingestion", "source", "word"),
    [
        ({"orderingFields": ["at"]}, {}, {"value": {"schemaDdl": "id BIGINT, at BIGINT"}}, "ordering field at"),
        ({}, {"operation": "Insert"}, {}, "Upsert"),
        ({}, {}, {"value": {}}, "declare the schema"),
        ({}, {"transformSql": "SELECT id, v, _sequence FROM source"}, {}, "_hoodie_is_deleted"),
    ],
)
def test_deletes_that_could_not_be_right_are_refused(
    stream: Any, table: dict[str, Any], ingestion: dict[str, Any], source: dict[str, Any], word: str
) -> None:
    stream.lake.table = table
    stream.create()
    stream.raw([message(1, "a"), message(1, None)])
    result = stream.ingest(source={**DELETE, **source}, **ingestion)
    assert result.reason in {FailureReason.INVALID_REQUEST, FailureReason.TRANSFORM_INVALID}, result
    assert word in result.message
    assert not stream.lake.instants()


def test_an_update_that_gives_a_key_another_case_keeps_its_row(stream: Any) -> None:
    """The event is a delete of the former key and a row; the transform makes one key of both."""
    stream.lake.table = {"recordKey": ["email"], "orderingFields": ["_event_lsn"]}
    stream.source["value"] = {"schemaDdl": "id BIGINT, email STRING", "envelope": "Debezium"}
    stream.create()
    first = {"id": 1, "email": "Ann@x"}
    stream.send([postgres("c", first, lsn=1)])
    marks = "_event_lsn, _hoodie_is_deleted"
    sql = f"SELECT id, lower(email) AS email, {marks}"
    succeeded(stream.ingest(transformSql=f"{sql}, _sequence FROM source"))
    stream.send([{**postgres("u", {"id": 1, "email": "ann@x"}, lsn=2), "before": first}])
    without = stream.ingest(transformSql=f"{sql} FROM source")
    assert without.reason is FailureReason.TRANSFORM_INVALID, without
    assert "_sequence" in without.message
    succeeded(stream.ingest(transformSql=f"{sql}, _sequence FROM source"))
    assert stream.rows("id", "email") == [(1, "ann@x")]


def test_change_events_that_come_late_or_move_rows_leave_what_the_database_has(stream: Any) -> None:
    """The record key has a column more than that of the database's table, whose images are whole."""
    stream.lake.table = {
        "recordKey": ["id", "shop"],
        "partitionBy": ["shop"],
        "orderingFields": ["_event_lsn"],
    }
    stream.source["value"] = {"schemaDdl": "id BIGINT, shop STRING", "envelope": "Debezium"}
    stream.create()

    def row(number: int, shop: str) -> dict[str, Any]:
        return {"id": number, "shop": shop}

    stream.send(postgres("c", row(number, "eu"), lsn=number) for number in (1, 2, 3))
    succeeded(stream.ingest())
    moved = {**postgres("u", row(1, "us"), lsn=4), "before": row(1, "eu")}
    stream.send([moved, postgres("d", row(2, "eu"), lsn=6)])
    succeeded(stream.ingest())
    assert stream.rows("id", "shop") == [(1, "us"), (3, "eu")]
    stream.send(
        [postgres("u", row(2, "eu"), lsn=5), postgres("u", row(1, "eu"), lsn=2), postgres("c", row(4, "eu"), lsn=7)]
    )
    result = succeeded(stream.ingest())
    assert "2 events skipped, older than the delete of their row" in result.message
    assert stream.rows("id", "shop") == [(1, "us"), (3, "eu"), (4, "eu")]
