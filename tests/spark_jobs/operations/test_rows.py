"""Rows of every shape, partitions and schemas that grow are compared by what they hold."""

import time
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from tests.spark_jobs.operations.asked import (
    LOCK,
    ROLLBACK,
    commits,
    done,
    operate,
    operation_told,
    overwrite,
    pending,
    rows,
)
from tests.spark_jobs.trials import ALL, IN_FULL, crossed, sampled

from hudi_jobs.contract import ConcurrencyMode, FailureReason, OperationPhase, Outcome, Service
from hudi_jobs.journal.journal import RECORD_FILE
from hudi_jobs.journal.records import Rows
from hudi_jobs.operations.rows import row_hash

pytestmark = [pytest.mark.spark]

SHAPES = (
    "CAST(id AS STRING) AS id",
    "concat('p', id % 3) AS part",
    "CAST('NaN' AS DOUBLE) AS nan",
    "map('b', id, 'a', NULL) AS m",
    "array(named_struct('inner', map('k', id), 'nothing', CAST(NULL AS STRING))) AS nested",
    "CAST(id AS DECIMAL(20, 3)) AS exact",
    "CAST('2026-03-10 12:00:00.123456' AS TIMESTAMP) AS at",
    "CAST('a' AS BINARY) AS bytes",
    "IF(id % 2 = 0, NULL, 'x') AS left_value",
    "IF(id % 2 = 0, 'x', NULL) AS right_value",
)


def write(lake: Any, ids: int, *, operation: str = "upsert") -> None:
    options = lake.hudi_options(Service.INGESTION) | {"hoodie.datasource.write.operation": operation}
    frame = lake.spark.range(ids).selectExpr(*SHAPES)
    frame.write.format("hudi").options(**options).mode("append").save(lake.base_path)


@pytest.mark.parametrize("kind", sampled("MergeOnRead", "CopyOnWrite"))
def test_maps_nested_values_and_partitions_that_were_overwritten_are_compared(lake: Any, kind: str) -> None:
    lake.table = {"type": kind, "partitionBy": ["part"]}
    write(lake, 30)
    expected, target = sorted(map(str, rows_of(lake))), commits(lake)[-1]
    write(lake, 40)
    write(lake, 2, operation="insert_overwrite")
    report = done(operate(lake, target))
    assert sorted(map(str, rows_of(lake))) == expected
    assert (report.rows_before, report.rows_expected, report.partitions) == (13 + 2, 30, 3)
    document = operation_told(lake)
    assert (document.uid, document.phase) == ("uid-of-back", OperationPhase.VERIFYING)
    compared = document.comparison
    assert compared is not None
    assert (compared.checksum_after, compared.different, compared.left_out) == (report.checksum, 0, 0)
    assert [(each.path, each.rows, each.rows_after, each.equal) for each in compared.listed] == [
        (f"part=p{number}" if "part=" in compared.listed[0].path else f"p{number}", 10, 10, True) for number in range(3)
    ]
    assert sum(int(each.checksum) for each in compared.listed) == int(report.checksum or 0)


def rows_of(lake: Any) -> list[Any]:
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    found: list[Any] = frame.drop(*[name for name in frame.columns if name.startswith("_hoodie_")]).collect()
    return found


@pytest.mark.parametrize("kind", sampled("CopyOnWrite", "MergeOnRead"))
def test_a_schema_that_has_grown_since_shrinks_again_and_the_rows_are_the_same(lake: Any, kind: str) -> None:
    lake.table = {"type": kind}
    schema = {"files": {"schemaDdl": "id STRING, v INT"}}
    lake.put("a.csv", "id,v\na,1\nb,2\n")
    assert lake.ingest(**schema).outcome is Outcome.SUCCEEDED
    expected, target = rows(lake), commits(lake)[-1]
    lake.put("b.csv", "id,v,w\na,3,x\n", at=1)
    assert lake.ingest(files={"schemaDdl": "id STRING, v BIGINT, w STRING"}).outcome is Outcome.SUCCEEDED
    done(operate(lake, target))
    assert rows(lake) == expected


def test_differing_counts_of_rows_are_reported_with_both_numbers(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.table = {"type": "CopyOnWrite"}
    for value in (1, 2):
        overwrite(lake, value, version=9)
    target = commits(lake)[0]
    wrong = Rows(rows=11, checksum=1, partitions=1)
    with monkeypatch.context() as patch:
        patch.setattr("hudi_jobs.operations.check.rows_at", lambda *_: wrong)
        result = operate(lake, target)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.NOT_VERIFIED), result
    assert "11 rows" in result.message
    compared = operation_told(lake).comparison
    assert compared is not None
    assert (compared.different, compared.listed, compared.left_out) == (None, (), 1)
    assert "found 10 with" in result.message
    report = result.operation
    assert report is not None
    assert (report.phase, report.verified, report.rows_after) == (OperationPhase.VERIFYING, False, 10)
    assert operate(lake, target).reason is FailureReason.NOT_VERIFIED, "a repetition compares again"


def test_maps_with_the_same_entries_have_one_hash_in_whatever_order_they_are_stored(spark: SparkSession) -> None:
    deep = "array(named_struct('s', map('k', {}, 'l', CAST(NULL AS MAP<STRING, STRING>))), NULL)"
    same = ("map('a', '1', 'b', '2', 'c', NULL)", "map('c', NULL, 'b', '2', 'a', '1')")
    others = ("map('a', '2', 'b', '1', 'c', NULL)", "map('a', '1', 'b', '2', 'd', NULL)", "map('a', '1', 'b', '2')")
    for written in ("{}", deep):
        assert len({hashed(spark, written.format(each)) for each in same}) == 1
        assert len({hashed(spark, written.format(each)) for each in (*same, *others)}) == 1 + len(others)
    nan = "map(DOUBLE('NaN'), 1, 0.0D, 2)", "map(-0.0D, 2, DOUBLE('NaN'), 1)"
    assert len({hashed(spark, each) for each in nan}) == 1


def hashed(spark: SparkSession, value: str) -> int:
    frame = spark.range(1).selectExpr(f"{value} AS m")
    return int(frame.select(row_hash(frame)).collect()[0][0])


def test_nothing_in_place_of_a_map_counts_for_nothing_and_columns_without_maps_are_hashed_as_they_are(
    spark: SparkSession,
) -> None:
    none = "CAST(NULL AS MAP<STRING, STRING>)"
    nothing = f"named_struct('m', {none})"
    for value in (none, f"IF(rand() > 2, {nothing}, NULL)", f"IF(rand() > 2, array({nothing}), NULL)"):
        assert hashed(spark, value) == hashed(spark, "CAST(NULL AS STRING)")
    frame = spark.range(1).selectExpr("named_struct('a', array(1, NULL), 'b', 'x') AS v")
    assert frame.where(row_hash(frame) == sf.xxhash64(sf.lit("v"), "v")).count() == 1


@crossed(
    ("version", [6, 9] if ALL else [6]),
    ("kind", ["CopyOnWrite", "MergeOnRead"]),
    ("concurrency", [*ConcurrencyMode]),
)
def test_tables_of_both_versions_go_back_with_and_without_a_lock(
    lake: Any, version: int, kind: str, concurrency: ConcurrencyMode
) -> None:
    lake.table = {"type": kind}
    if concurrency is ConcurrencyMode.OPTIMISTIC:
        lake.spec |= {"concurrency": {"mode": "Optimistic"}}
        lake.options = LOCK
    for value in (1, 2, 3, 4):
        overwrite(lake, value, version=version, metadata=kind == "MergeOnRead")
    target, _, latest = commits(lake)[1:]
    done(operate(lake, latest, ROLLBACK, uid="once", concurrency=concurrency, abandoned=()))
    assert {row[1] for row in rows(lake)} == {3}
    done(operate(lake, target, concurrency=concurrency, abandoned=()))
    assert {row[1] for row in rows(lake, metadata=True)} == {2}
    assert pending(lake) == []
    overwrite(lake, 5, version=version, metadata=kind == "MergeOnRead")
    assert {row[1] for row in rows(lake, metadata=True)} == {5}


@IN_FULL
@pytest.mark.s3
@pytest.mark.slow
def test_a_table_on_s3_goes_back_and_its_record_is_written_on_a_condition(lake: Any, s3: Any) -> None:
    bucket = f"operations-{time.monotonic_ns()}"
    s3.create_bucket(Bucket=bucket)
    lake.use_store(bucket, s3.meta.endpoint_url)
    for value in (1, 2, 3):
        overwrite(lake, value, version=9, metadata=True)
    target = commits(lake)[1]
    report = done(operate(lake, target))
    assert {row[1] for row in rows(lake, metadata=True)} == {2}
    record = s3.get_object(Bucket=bucket, Key=f"table/.hudi-operator/{RECORD_FILE}")["Body"].read()
    assert str(report.restore) in record.decode()
    assert done(operate(lake, target)) == report
