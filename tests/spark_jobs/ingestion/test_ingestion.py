"""Ingestion of good input: what a run reads, what the table then holds, and what the commit says."""

from typing import Any

import pytest
from tests.spark_jobs.trials import crossed, sampled

from hudi_jobs.contract import Outcome, TaskResult

pytestmark = pytest.mark.spark

FIRST = "id,carrier,delay,at\n1,AA,5,1\n2,UA,7,1\n3,AA,0,1\n"
CORRECTION = "id,carrier,delay,at\n2,UA,9,2\n4,DL,1,2\n"
TYPED = {"files": {"schemaDdl": "id INT, carrier STRING, delay INT, at INT"}}


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


@pytest.mark.parametrize("table_type", sampled("MergeOnRead", "CopyOnWrite"))
def test_an_upsert_adds_and_corrects_rows(lake: Any, table_type: str) -> None:
    lake.table = {"type": table_type, "orderingFields": ["at"], "partitionBy": ["carrier"]}
    lake.metadata_table = True
    lake.put("a.csv", FIRST)
    first = succeeded(lake.ingest(**TYPED))
    assert (first.rows_read, first.files_read, first.bytes_read, first.more_input) == (3, 1, len(FIRST), False)

    lake.put("b.csv", CORRECTION, at=60)
    second = succeeded(lake.ingest(**TYPED))

    assert second.rows_read == 2
    assert second.checkpoint == "2023-11-14T22:14:20.000Z b.csv"
    assert lake.rows("id", "carrier", "delay") == [(1, "AA", 5), (2, "UA", 9), (3, "AA", 0), (4, "DL", 1)]
    assert [name.partition("_")[0] for name in lake.instants()] == [first.instant, second.instant]


def test_an_older_row_does_not_replace_a_newer_one(lake: Any) -> None:
    lake.table = {"orderingFields": ["at"]}
    lake.put("a.csv", CORRECTION)
    succeeded(lake.ingest(**TYPED))
    lake.put("b.csv", FIRST, at=60)
    succeeded(lake.ingest(**TYPED))
    assert lake.rows("id", "delay") == [(1, 5), (2, 9), (3, 0), (4, 1)]


def test_a_run_without_new_files_makes_no_commit(lake: Any) -> None:
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest())
    before = lake.instants()

    again = lake.ingest()

    assert again.outcome is Outcome.NOTHING_TO_DO
    assert "No new files" in again.message
    assert again.instant is None
    assert lake.instants() == before


@crossed(
    (
        "operation, expected",
        [
            ("Upsert", [(1, "AA", 5), (2, "UA", 9), (3, "AA", 0), (4, "DL", 1)]),
            ("Insert", [(1, "AA", 5), (2, "UA", 7), (2, "UA", 9), (3, "AA", 0), (4, "DL", 1)]),
            ("BulkInsert", [(1, "AA", 5), (2, "UA", 7), (2, "UA", 9), (3, "AA", 0), (4, "DL", 1)]),
            ("Delete", [(1, "AA", 5), (3, "AA", 0)]),
            ("InsertOverwrite", [(1, "AA", 5), (2, "UA", 9), (3, "AA", 0), (4, "DL", 1)]),
        ],
    ),
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
)
def test_each_operation_does_what_it_says(
    lake: Any, table_type: str, operation: str, expected: list[tuple[Any, ...]]
) -> None:
    lake.table = {"type": table_type, "orderingFields": ["at"], "partitionBy": ["carrier"]}
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest(**TYPED))
    lake.put("b.csv", CORRECTION, at=60)
    second = succeeded(lake.ingest(**TYPED, operation=operation))
    assert lake.rows("id", "carrier", "delay") == expected
    assert second.instant == lake.instants()[-1].partition("_")[0]
    assert lake.ingest(**TYPED, operation=operation).outcome is Outcome.NOTHING_TO_DO


def test_rows_that_the_transform_leaves_out_still_move_the_checkpoint(lake: Any) -> None:
    lake.table = {"orderingFields": ["at"]}
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest(**TYPED))
    nothing = {"transformSql": "SELECT * FROM source WHERE false"}
    for number, operation in enumerate(("Upsert", "Insert", "BulkInsert", "Delete", "InsertOverwrite"), start=1):
        lake.put(f"{number}.csv", CORRECTION, at=60 * number)
        assert succeeded(lake.ingest(**TYPED, **nothing, operation=operation)).rows_read == 2
        if operation != "InsertOverwrite":
            assert lake.rows("id") == [(1,), (2,), (3,)], operation
        assert lake.ingest(**TYPED, operation=operation).outcome is Outcome.NOTHING_TO_DO, operation


def test_a_first_run_without_rows_creates_the_table_and_moves_the_checkpoint(lake: Any) -> None:
    lake.put("a.csv", "id,carrier,delay,at\n")
    succeeded(lake.ingest(**TYPED))
    assert lake.rows() == []
    lake.put("b.csv", FIRST, at=60)
    succeeded(lake.ingest(**TYPED))
    assert lake.rows("id") == [(1,), (2,), (3,)]


def test_the_transform_reads_the_view_source(lake: Any) -> None:
    late = "WITH late AS (SELECT * FROM source WHERE delay > 0)"
    sql = f"{late} SELECT CAST(id AS INT) AS id, upper(carrier) AS c, 1 AS one FROM late"
    lake.put("a.csv", FIRST.lower())
    succeeded(lake.ingest(transformSql=sql))
    assert lake.rows() == [(1, "AA", 1), (2, "UA", 1)]


def test_every_row_of_the_source_is_counted_once_whatever_the_transform_makes_of_it(lake: Any) -> None:
    groups = "(SELECT carrier, count(*) AS flights FROM source GROUP BY carrier) AS groups"
    most = "(SELECT max(delay) FROM source) AS most"
    lake.put("a.csv", FIRST)
    sql = f"SELECT /*+ BROADCAST(groups) */ id, flights, {most} FROM source JOIN {groups} USING (carrier) ORDER BY id"
    result = succeeded(lake.ingest(**TYPED, transformSql=sql))
    assert (result.rows_read, result.rows_quarantined) == (3, 0)
    assert lake.rows() == [(1, 2, 7), (2, 1, 7), (3, 2, 7)]


def test_a_constant_of_the_transform_does_not_bind_later_writes(lake: Any) -> None:
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest(transformSql="SELECT id, 1 AS flag FROM source"))
    lake.put("b.csv", CORRECTION, at=60)
    succeeded(lake.ingest(transformSql="SELECT id, CAST(NULL AS INT) AS flag FROM source"))
    assert lake.rows("id", "flag")[0] == ("1", 1)


def test_limits_split_the_input_into_runs(lake: Any) -> None:
    for number in range(5):
        lake.put(f"{number}.csv", f"id,carrier\n{number},AA\n", at=number)
    first = succeeded(lake.ingest(maxFiles=2))
    assert (first.files_read, first.more_input) == (2, True)
    second = succeeded(lake.ingest(maxBytes=1))
    assert (second.files_read, second.more_input) == (1, True)
    third = succeeded(lake.ingest(maxFiles=2))
    assert (third.files_read, third.more_input) == (2, False)
    assert len(lake.rows()) == 5


@pytest.mark.parametrize("late_by", [0, 30])
def test_a_file_that_shows_up_late_is_read_once(lake: Any, late_by: int) -> None:
    lake.put("m.csv", "id,carrier\n1,AA\n", at=100)
    succeeded(lake.ingest(operation="Insert"))
    lake.put("a.csv", "id,carrier\n2,AA\n", at=100 - late_by)
    assert succeeded(lake.ingest(operation="Insert")).files_read == 1
    assert lake.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO
    assert lake.rows("id") == [("1",), ("2",)]


def test_a_glob_chooses_files_and_hidden_ones_are_left_alone(lake: Any) -> None:
    lake.put("day=1/a.csv", "id,carrier\n1,AA\n")
    lake.put("day=1/a.txt", "nothing to see")
    lake.put("_staging/b.csv", "id,carrier\n2,AA\n")
    lake.put(".c.csv", "id,carrier\n3,AA\n")
    succeeded(lake.ingest(files={"pathGlob": "*.csv"}))
    assert lake.rows("id") == [("1",)]


def test_names_with_special_characters_are_read(lake: Any) -> None:
    lake.put("a [1] {x}?%20 ü.csv", FIRST)
    assert succeeded(lake.ingest()).rows_read == 3


def test_another_source_path_brings_its_own_files(lake: Any) -> None:
    lake.put("one/a.csv", FIRST)
    lake.put("two/a.csv", CORRECTION)
    succeeded(lake.ingest(files={"path": f"{lake.source}/one"}))
    assert succeeded(lake.ingest(files={"path": f"{lake.source}/two/"})).rows_read == 2
    assert lake.ingest(files={"path": f"{lake.source}/two"}).outcome is Outcome.NOTHING_TO_DO


@crossed(
    ("file_format", ["json", "parquet", "avro", "orc"]),
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
)
def test_the_other_formats_bring_their_own_types(lake: Any, file_format: str, table_type: str) -> None:
    rows = lake.spark.sql(
        "SELECT * FROM VALUES (1L, 'AA', 1.5D, array(1L, 2L)), (2L, 'UA', 2.5D, array()) t(id, c, d, l)"
    )
    lake.table = {"type": table_type}
    rows.write.format(file_format).save(f"{lake.source}/first")
    result = succeeded(lake.ingest(files={"format": file_format, "options": {}}))
    assert result.rows_read == 2
    assert lake.rows("id", "c", "d", "l") == [(1, "AA", 1.5, [1, 2]), (2, "UA", 2.5, [])]
    assert lake.ingest(files={"format": file_format, "options": {}}).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize("file_format", ["json", "parquet", "avro", "orc"])
def test_a_column_that_only_newer_files_have_is_not_lost(lake: Any, file_format: str) -> None:
    lake.spark.sql("SELECT 1L AS id").write.format(file_format).save(f"{lake.source}/a")
    lake.spark.sql("SELECT 2L AS id, 'B7' AS gate").write.format(file_format).save(f"{lake.source}/b")
    assert succeeded(lake.ingest(files={"format": file_format, "options": {}})).files_read == 2
    assert lake.rows("id", "gate") == [(1, None), (2, "B7")]


CHANGES: list[tuple[str, str, Any, Any]] = [
    ("1", "2147483648L", 1, 2147483648),
    ("2147483648L", "2", 2147483648, 2),
    ("CAST(1.5 AS FLOAT)", "2.5D", 1.5, 2.5),
    ("named_struct('a', 1)", "named_struct('a', 2, 'b', 'x')", (1, None), (2, "x")),
    ("array(2147483648L)", "array(2)", [2147483648], [2]),
]
"""What a column has in the first file and in the second one, and what is read of both in the end."""


@pytest.mark.parametrize("table_type", ["CopyOnWrite", "MergeOnRead"])
def test_accepted_changes_of_a_type_keep_old_and_new_values(lake: Any, table_type: str) -> None:
    lake.table = {"type": table_type}
    for number in (1, 2):
        lake.put(f"{number}.csv", f"id\n{number}\n", at=number)
        values = ", ".join(f"{change[number - 1]} AS v{place}" for place, change in enumerate(CHANGES))
        succeeded(lake.ingest(transformSql=f"SELECT CAST(id AS INT) AS id, {values} FROM source"))
    columns = (f"v{place}" for place in range(len(CHANGES)))
    assert lake.rows("id", *columns) == [(1, *(old for _, _, old, _ in CHANGES)), (2, *(new for *_, new in CHANGES))]


def test_leftovers_of_a_killed_first_write_do_not_block_the_table(lake: Any) -> None:
    (lake.folder / "table/.hoodie/timeline/history").mkdir(parents=True)
    (lake.folder / "table/.hoodie/.aux").mkdir()
    lake.put("a.csv", FIRST)
    assert succeeded(lake.ingest()).rows_read == 3


@pytest.mark.parametrize("table_type", ["CopyOnWrite", "MergeOnRead"])
def test_a_first_write_that_died_is_rolled_back_though_no_commit_names_a_schema(lake: Any, table_type: str) -> None:
    lake.table = {"type": table_type}
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest())
    timeline = lake.folder / "table/.hoodie/timeline"
    (completed,) = timeline.glob("[0-9]*_*")
    # Hudi removes the markers of a write when that has completed, and finds by them what a dead one has written.
    markers = lake.folder / "table/.hoodie/.temp" / completed.name.partition("_")[0]
    markers.mkdir(parents=True)
    for written in lake.folder.glob("table/*.parquet"):
        (markers / f"{written.name}.marker.CREATE").touch()
    completed.unlink()

    assert succeeded(lake.ingest()).rows_read == 3

    assert len(lake.rows("id")) == 3
    assert list(timeline.glob("[0-9]*.rollback"))


def test_a_delete_needs_no_more_than_the_columns_that_find_the_row(lake: Any) -> None:
    lake.table = {"partitionBy": ["carrier"]}
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest(**TYPED))
    lake.put("b.csv", "id,carrier\n2,UA\n", at=60)
    succeeded(lake.ingest(files={"schemaDdl": "id INT, carrier STRING"}, operation="Delete"))
    assert lake.rows("id") == [(1,), (3,)]


def test_the_checkpoint_is_found_behind_commits_that_have_none(lake: Any) -> None:
    lake.put("a.csv", FIRST)
    succeeded(lake.ingest())
    foreign = {"hoodie.table.name": "flights", "hoodie.datasource.write.recordkey.field": "id"}
    rows = lake.spark.sql("SELECT '7' AS id, 'XX' AS carrier, '0' AS delay, '9' AS at")
    rows.write.format("hudi").options(**foreign).mode("append").save(lake.base_path)
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO
