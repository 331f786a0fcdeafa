"""The order of rows and deletes that a source knows of."""

from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from tests.spark_jobs.ingestion.results import ingested

from hudi_jobs.contract import IngestionTask, TableDefinition
from hudi_jobs.ingestion.order import last_of_each, lost_deletes, require_marks, with_mark_of_deletes
from hudi_jobs.ingestion.rows import SourceRows
from hudi_jobs.ingestion.rules.columns import any_of, never
from hudi_jobs.ingestion.rules.quality import without_order
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark

ROWS = [(1, "x", 5, 10), (1, "x", 5, 12), (1, "y", 5, 11), (1, "x", 4, 13), (None, "x", 1, 1), (None, "x", 1, 2)]


def table(**fields: Any) -> TableDefinition:
    whole = {"name": "t", "basePath": "s3a://lake/t", "type": "CopyOnWrite", "recordKey": ["id"], **fields}
    return TableDefinition.model_validate(whole)


def task(operation: str = "Upsert") -> IngestionTask:
    source = {"kind": "kafka", "bootstrapServers": "b:1", "topics": ["t"]}
    return IngestionTask.model_validate({"operation": operation, "source": source})


def frame(spark: Any) -> DataFrame:
    found: DataFrame = spark.createDataFrame(ROWS, "id INT, part STRING, at INT, _sequence INT")
    return found


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({}, [("x", 4)]),
        ({"partitionBy": ["part"]}, [("x", 4), ("y", 5)]),
        ({"partitionBy": ["part"], "index": "GlobalSimple"}, [("x", 4)]),
        ({"orderingFields": ["at"]}, [("x", 4), ("x", 5)]),
    ],
)
def test_rows_that_hudi_could_not_put_in_order_are_put_in_order(
    spark: Any, fields: dict[str, Any], kept: list[tuple[str, int]]
) -> None:
    found = last_of_each(frame(spark), table(**fields), task(), never())
    assert found.columns == ["id", "part", "at"]
    assert sorted((row["part"], row["at"]) for row in found.where("id IS NOT NULL").collect()) == kept
    assert found.where("id IS NULL").count() == 2, "rows without a key are counted one by one"


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_both_zeros_of_a_floating_key_partition_or_ordering_value_are_two_values_as_for_hudi(
    lake: Any, kind: str
) -> None:
    """Spark's windows take -0.0 for 0.0; Hudi compares keys and folders as texts, and orders -0.0 before 0.0."""
    rows = lake.spark.sql(
        f"SELECT CAST(id AS {kind}) id, v, _sequence FROM VALUES ('0.0', 1, 1), ('-0.0', 2, 2), ('0.0', 3, 3), "
        "('NaN', 4, 4), ('NaN', 5, 5) t(id, v, _sequence)"
    )
    for definition in (table(), table(partitionBy=["id"]), table(recordKey=["k"], orderingFields=["id"])):
        keyed = rows.withColumn("k", sf.lit(1))
        found = last_of_each(keyed, definition, task(), never())
        assert sorted(row["v"] for row in found.collect()) == [2, 3, 5]
    rows.drop("_sequence").coalesce(1).write.parquet(f"{lake.folder}/in/a")
    ingested(lake, files={"format": "parquet", "options": {}})
    keys = lake.spark.read.format("hudi").load(lake.base_path).select("_hoodie_record_key")
    assert sorted(row[0] for row in keys.collect()) == ["-0.0", "0.0", "NaN"]


def test_one_row_is_left_of_each_key_and_folder(spark: Any) -> None:
    rows: list[tuple[Any, ...]] = [(1, "x", 5), (1, "x", 7), (1, "x", 7), (1, "x", 6), (1, "", 1), (1, None, 1)]
    rows += [(2, "x", 1), (2, "x", None), (None, "x", 1), (None, "x", 1)]
    numbered = [(*row, nth, nth) for nth, row in enumerate(rows)]
    found = last_of_each(
        spark.createDataFrame(numbered, "id INT, part STRING, at INT, _sequence INT, nth INT"),
        table(orderingFields=["at"], partitionBy=["part"]),
        task(),
        any_of(without_order(["at"])),
        one_of_each=True,
    )
    assert sorted(row["nth"] for row in found.collect()) == [2, 5, 6, 7, 8, 9], "what is not written stays"


def test_a_row_that_is_not_written_takes_the_place_of_none(spark: Any) -> None:
    """The row of the partition `y` came last: where it is set aside, the one before it is written."""
    rows = [(1, "x", 10), (1, "x", 11), (1, "y", 12), (1, "y", 13), (2, "y", 14)]
    rows_of_keys = spark.createDataFrame(rows, "id INT, part STRING, _sequence INT")
    definition = table(partitionBy=["part"], index="GlobalSimple")
    marked = rows_of_keys.selectExpr("*", "_sequence AS at")
    found = last_of_each(marked, definition, task(), sf.col("part") == "y").orderBy("at")
    assert [row["at"] for row in found.collect()] == [11, 12, 13, 14]


@pytest.mark.parametrize("one_of_each", [False, True])
def test_a_row_stays_when_its_own_delete_has_the_same_place(spark: Any, one_of_each: bool) -> None:
    """An update that only changes the case of a key is a delete and a row, of which a transform makes one key."""
    rows = [(1, 7, 10, True), (1, 7, 10, False), (2, 7, 11, False), (2, 7, 12, True), (3, 7, 13, True)]
    found = last_of_each(
        spark.createDataFrame(rows, "id INT, at INT, _sequence INT, _hoodie_is_deleted BOOLEAN"),
        table(orderingFields=["at"]),
        task(),
        never(),
        one_of_each=one_of_each,
    )
    assert sorted((row["id"], row["_hoodie_is_deleted"]) for row in found.collect()) == [
        (1, False),
        (2, True),
        (3, True),
    ]


@pytest.mark.parametrize("operation", ["Insert", "BulkInsert", "Delete"])
def test_other_operations_get_every_row(spark: Any, operation: str) -> None:
    assert last_of_each(frame(spark), table(), task(operation), never()).count() == len(ROWS)


def test_marks_that_a_transform_has_left_out_are_missed(spark: Any) -> None:
    plain = frame(spark).drop("_sequence")
    ordered = SourceRows(plain, ordered=True)
    with pytest.raises(TaskFailed, match="_sequence"):
        require_marks(ordered, plain.schema, table(), task())
    require_marks(ordered, plain.schema, table(), task("Insert"))
    require_marks(ordered, plain.schema, table(orderingFields=["at"]), task())
    with pytest.raises(TaskFailed, match="_hoodie_is_deleted"):
        require_marks(SourceRows(plain, deletes=True), plain.schema, table(), task())


def test_deletes_whose_keys_a_transform_makes_need_the_order_of_the_source(spark: Any) -> None:
    marked = frame(spark).drop("_sequence").withColumn("_hoodie_is_deleted", never())
    events, definition = SourceRows(marked, ordered=True, deletes=True), table(orderingFields=["at"])
    require_marks(events, marked.schema, definition, task())
    with pytest.raises(TaskFailed, match=r"key column id, .* no column _sequence"):
        require_marks(events, marked.schema, definition, task(), {"id"})
    require_marks(events, marked.withColumn("_sequence", sf.lit(1)).schema, definition, task(), {"id"})


def test_deletes_without_a_partition_are_not_passed_over(spark: Any) -> None:
    rows = [(1, None, True), (2, "x", True), (3, None, False), (4, None, None)]
    found = spark.createDataFrame(rows, "id INT, part STRING, _hoodie_is_deleted BOOLEAN")
    assert [row["id"] for row in found.where(any_of(lost_deletes(table(partitionBy=["part"])))).collect()] == [1]
    assert lost_deletes(table()) == {}


def test_rows_get_the_mark_of_deletes_only_where_the_table_has_it(spark: Any) -> None:
    plain = frame(spark)
    marked = with_mark_of_deletes(plain, spark.createDataFrame([], "id INT, _hoodie_is_deleted BOOLEAN").schema)
    assert {row["_hoodie_is_deleted"] for row in marked.collect()} == {False}
    assert with_mark_of_deletes(plain, plain.schema) is plain
