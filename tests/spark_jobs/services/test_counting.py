"""The rows of an upsert are computed once and every one is counted, wherever Spark's shuffles lie."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from hudi_jobs.contract import IngestionTask, TableDefinition
from hudi_jobs.ingestion.order import last_of_each
from hudi_jobs.ingestion.row_checks import apply_transform
from hudi_jobs.ingestion.rows import SourceRows
from hudi_jobs.ingestion.rules import quality
from hudi_jobs.ingestion.rules.columns import never, without_key
from hudi_jobs.ingestion.rules.quality import Counts, Faults, keep, observed, observed_faults

pytestmark = pytest.mark.spark

DEFINITION = TableDefinition.model_validate({"name": "t", "basePath": "/t", "type": "MergeOnRead", "recordKey": ["id"]})
TASK = IngestionTask.model_validate(
    {"operation": "Upsert", "source": {"kind": "kafka", "bootstrapServers": "b:1", "topics": ["t"]}}
)
KEYS, ROWS, KEYLESS, CORRUPT = 7, 100, 3, 2
GROUPED = "SELECT id, max(v) AS v, max(_sequence) AS _sequence FROM source GROUP BY id"


def source(spark: SparkSession, *, good: int = ROWS) -> SourceRows:
    rows: list[tuple[Any, ...]] = [(number % KEYS, f"v{number}", None, number) for number in range(good)]
    rows += [(None, "no key", None, good + number) for number in range(KEYLESS if good else 0)]
    rows += [(None, None, "{", good + number) for number in range(CORRUPT)]
    frame = spark.createDataFrame(rows, "id BIGINT, v STRING, _corrupt_record STRING, _sequence INT")
    return SourceRows(frame.repartition(3), may_be_corrupt=True, ordered=True)


def kept(spark: SparkSession, rows: SourceRows, sql: str | None) -> tuple[DataFrame, Counts]:
    """Do with the rows what a run does; return what is kept, and what was counted."""
    frame = apply_transform(spark, observed(rows), sql)
    faults = Faults(without_key(frame.schema, DEFINITION.record_key), misplaced={}, unordered={})
    frame = last_of_each(observed_faults(frame, faults), DEFINITION, TASK, never())
    return keep(rows, frame, faults, shuffled=True)


def refuse_to_count_again(patch: pytest.MonkeyPatch) -> None:
    def again(_: SourceRows) -> Any:
        raise AssertionError("the source is read a second time")

    patch.setattr(quality, "_count_source", again)


def test_rows_lie_in_the_files_of_the_last_shuffle_and_are_counted_in_front_of_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_to_count_again(monkeypatch)
    found, counts = kept(spark, source(spark), None)
    assert counts == Counts(read=ROWS + KEYLESS + CORRUPT, corrupt=CORRUPT, keyless=KEYLESS)
    assert not found.storageLevel.useMemory
    assert not found.storageLevel.useDisk
    newest = [f"v{max(range(key, ROWS, KEYS))}" for key in range(KEYS)]
    assert [row.v for row in found.where("id IS NOT NULL").orderBy("id").collect()] == newest
    assert found.where("id IS NULL").count() == KEYLESS


def test_a_column_named_like_a_limit_is_none(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_to_count_again(monkeypatch)
    _, counts = kept(spark, source(spark), "SELECT *, id AS SpecificOffsetRangeLimit FROM source")
    assert counts.read == ROWS + KEYLESS + CORRUPT


@pytest.mark.parametrize(("sql", "keyless"), [(None, KEYLESS), (GROUPED, 1)])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_rows_that_are_computed_behind_the_last_shuffle_are_counted_too(
    spark: SparkSession, sql: str | None, keyless: int, adaptive: str
) -> None:
    """Spark uses the shuffle of a `GROUP BY` again; without adaptive execution nothing has run when it is asked."""
    session = spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    found, counts = kept(session, source(session), sql)
    assert counts == Counts(read=ROWS + KEYLESS + CORRUPT, corrupt=CORRUPT, keyless=keyless)
    assert found.count() == KEYS + keyless
    session.catalog.clearCache()


@pytest.mark.parametrize("sql", [None, "SELECT * FROM source WHERE false", "SELECT * FROM source LIMIT 1"])
def test_a_batch_without_a_good_row_is_counted(spark: SparkSession, sql: str | None) -> None:
    found, counts = kept(spark, source(spark, good=0), sql)
    assert counts == Counts(read=CORRUPT, corrupt=CORRUPT, keyless=0)
    assert found.isEmpty()
    spark.catalog.clearCache()


def test_kept_rows_are_not_computed_from_the_source_again(spark: SparkSession) -> None:
    seen, rows = spark.sparkContext.accumulator(0), source(spark)

    def passed(row: Row) -> Row:
        seen.add(1)
        return row

    frame = spark.createDataFrame(rows.frame.rdd.map(passed), rows.frame.schema)
    found, _ = kept(spark, replace(rows, frame=frame), None)
    assert found.count() == len(found.collect()) == KEYS + KEYLESS
    assert seen.value == ROWS + KEYLESS + CORRUPT
