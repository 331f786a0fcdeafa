"""A table that follows another one has its rows: after the first run, and after each run for what came since."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.spark_jobs.upstream.conftest import sampled

from hudi_jobs.contract import Outcome
from hudi_jobs.contract.instants import wall_time
from hudi_jobs.ingestion.batch import rfc3339

pytestmark = pytest.mark.spark


def test_the_first_run_brings_all_rows_and_each_further_run_what_came_since(either: Any) -> None:
    either.metadata_table = True
    either.write([(one, f"d{one % 3}", "first", 1) for one in range(30)])
    either.write([(one, f"d{one % 3}", "second", 2) for one in range(5)])

    first = either.follow()
    assert (first.outcome, first.rows_read, first.more_input) == (Outcome.SUCCEEDED, 30, False)
    assert either.followed() == either.rows()
    assert either.follow().outcome is Outcome.NOTHING_TO_DO

    either.write([(one, f"d{one % 3}", "third", 3) for one in range(4, 7)])
    either.write([(100, "d9", "new", 3)], "insert")
    second = either.follow()
    assert (second.outcome, second.rows_read) == (Outcome.SUCCEEDED, 4)
    assert either.followed() == either.rows()
    assert either.follow().outcome is Outcome.NOTHING_TO_DO


def test_an_update_that_lost_against_the_row_that_is_there_does_not_come(either: Any) -> None:
    either.write([(1, "d", "high", 10), (2, "d", "low", 1)])
    either.follow()
    either.write([(1, "d", "late", 5), (2, "d", "won", 5)])

    assert either.follow().rows_read == 1
    assert either.followed() == either.rows() == [(1, "d", "high", 10), (2, "d", "won", 5)]


def test_no_column_of_hudi_comes_along_and_the_transform_sees_the_rows(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    upstream.follow(transform_sql="SELECT id, day, upper(v) AS v, at FROM source WHERE id < 2")
    assert upstream.lake.rows() == [(1, "d", "A", 1)]


def test_compaction_and_clustering_of_the_upstream_table_bring_no_row_again(either: Any) -> None:
    either.write([(one, "d", "first", 1) for one in range(10)])
    either.follow()
    either.write([(1, "d", "second", 2)])
    client = either.client(hoodie__compact__inline__max__delta__commits="1")
    none = either.lake.spark._jvm.org.apache.hudi.common.util.Option.empty()
    if either.kind == "MERGE_ON_READ":
        instant = client.scheduleCompaction(none)
        assert instant.isPresent()
        client.commitCompaction(instant.get(), client.compact(instant.get()), none)
    instant = client.scheduleClustering(none)
    assert instant.isPresent()
    client.cluster(instant.get(), True)
    client.close()

    assert either.follow().rows_read == 1
    assert either.followed() == either.rows()


@sampled("MERGE_ON_READ")
def test_latest_reads_only_commits_after_the_first_run(either: Any) -> None:
    either.write([(1, "d", "before", 1), (2, "d", "before", 1)])
    first = either.follow(starting_commit="Latest")
    assert (first.outcome, first.rows_read) == (Outcome.SUCCEEDED, 0)
    either.write([(2, "d", "after", 2), (3, "d", "after", 2)])

    assert either.follow(starting_commit="Latest").rows_read == 2
    assert either.followed() == [(2, "d", "after", 2), (3, "d", "after", 2)]


@sampled("COPY_ON_WRITE")
def test_so_many_commits_are_read_in_a_run_as_it_may_the_oldest_first(either: Any) -> None:
    either.write([(0, "d", "0", 0)])
    either.follow()
    for number in range(1, 4):
        either.write([(number, "d", str(number), number)])

    first = either.follow(max_commits=2)
    assert (first.rows_read, first.more_input) == (2, True)
    assert first.complete_up_to == completion_of(either, either.instants()[-1]), "the oldest commit that is left"
    assert [row[0] for row in either.followed()] == [0, 1, 2]
    asked_at = rfc3339(datetime.now(UTC))
    second = either.follow(max_commits=2)
    assert (second.rows_read, second.more_input) == (1, False)
    assert (second.complete_up_to or "") >= asked_at
    assert either.followed() == either.rows()


def completion_of(table: Any, instant: str) -> str:
    """When a commit completed, as results have it."""
    [name] = [one.name for one in table.timeline.glob(f"{instant}_*")]
    time = wall_time(name.partition("_")[2].partition(".")[0])
    assert time is not None
    return rfc3339(time)


def test_a_column_that_the_upstream_table_gets_comes_by_the_rules_of_the_schema(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1)])
    upstream.follow()
    wider = upstream.lake.spark.createDataFrame(
        [(2, "d", "b", 2, "x")], "id INT, day STRING, v STRING, at INT, w STRING"
    )
    upstream.write_frame(wider)
    upstream.follow()
    assert upstream.lake.rows("id", "w") == [(1, None), (2, "x")]


def test_updates_of_some_columns_come_as_the_rows_that_they_leave(upstream: Any) -> None:
    upstream.kind = "MERGE_ON_READ"
    upstream.write([(1, "d", "whole", 1), (2, "d", "whole", 1)])
    upstream.follow()
    spark = upstream.lake.spark
    spark.sql(f"CREATE TABLE part USING hudi LOCATION '{upstream.path}'")
    try:
        spark.conf.set("hoodie.spark.sql.merge.into.partial.updates", "true")
        spark.sql(
            "MERGE INTO part t USING (SELECT 1 id, 'd' day, 7 at) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.at = s.at"
        )
    finally:
        spark.sql("DROP TABLE part")
    upstream.follow()
    assert upstream.followed() == upstream.rows() == [(1, "d", "whole", 7), (2, "d", "whole", 1)]


def test_rows_of_an_upstream_table_have_to_fit_the_declared_columns(either: Any) -> None:
    columns = [{"name": name, "type": kind} for name, kind in (("id", "int"), ("day", "string"), ("v", "string"))]
    either.lake.table = {**either.lake.table, "declared": {"columns": [*columns, {"name": "at", "type": "bigint"}]}}
    either.write([(1, "d", "first", 1)])
    assert either.follow().outcome is Outcome.SUCCEEDED
    assert either.followed() == either.rows()
