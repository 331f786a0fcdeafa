"""Rows with the same key: the newest stays, the others go in one commit, and a killed run is finished."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.operations.asked import (
    ROLLBACK,
    commits,
    done,
    mend,
    operate,
    pending,
    repair_request,
    report_of,
    rows,
    timeline,
)
from tests.spark_jobs.operations.repair.test_repair import told_beside_a_heartbeat
from tests.spark_jobs.services.test_services import notes, succeeded
from tests.spark_jobs.trials import IN_FULL, LEASE

from hudi_jobs.contract import CHECKPOINT_KEY, FailureReason, OperationPhase, Outcome, RepairStep, Service
from hudi_jobs.frames import local_frame
from hudi_jobs.operations import operation_run
from hudi_jobs.operations.repair import deduplicate
from hudi_jobs.operations.repair.duplicate_keys import KEY, PARTITION, Doubles, order_of
from hudi_jobs.phases import Phase
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

DOUBLES = RepairStep.DEDUPLICATE
FILE = "_hoodie_file_name"
DDL = "id STRING, p STRING, ts INT, __rank INT"
OLDER = [*((str(number), "a", 5, 1) for number in range(10)), ("x", "left", 5, 1)]
NEWER = [
    *((str(number), "a", 9, 2) for number in range(3)),
    ("3", "a", 1, 3),
    ("4", "a", 5, 4),
    ("x", "b", 9, 5),
    ("y", "b", 9, 6),
]
"""Later by their ordering, earlier by it, the same by it, another partition, and new."""

STAYING = [*((str(number), "a", 9, 2) for number in range(3)), ("3", "a", 5, 1), ("4", "a", 5, 4)]
STAYING += [*((str(number), "a", 5, 1) for number in range(5, 10)), ("x", "b", 9, 5), ("y", "b", 9, 6)]


def table(lake: Any, kind: str, index: str, *, version: int, metadata: bool) -> None:
    """Ingest the older rows, and let another tool insert newer ones without a look at what is there."""
    lake.table = {"type": kind, "partitionBy": ["p"], "orderingFields": ["ts"]}
    lake.spec = {"index": {"type": index, **({"buckets": 4} if index == "Bucket" else {})}}
    lake.metadata_table = metadata
    lake.options = {"hoodie.write.table.version": str(version)}
    if "Record" in index:
        lake.options["hoodie.metadata.global.record.level.index.enable"] = "true"
    text = "".join(f"{','.join(map(str, row))}\n" for row in OLDER)
    lake.put("older.csv", f"id,p,ts,__rank\n{text}")
    succeeded(lake.ingest(operation="Upsert", files={"schemaDdl": DDL}))
    insert(lake, NEWER)


def insert(lake: Any, values: list[tuple[Any, ...]], operation: str = "bulk_insert") -> None:
    options = {
        **lake.hudi_options(Service.INGESTION),
        "hoodie.datasource.write.operation": operation,
        "hoodie.metadata.enable": str(lake.metadata_table).lower(),
        "hoodie.combine.before.insert": "false",
    }
    frame = local_frame(lake.spark, values, DDL).coalesce(1)
    frame.write.format("hudi").options(**options).mode("append").save(lake.base_path)


@pytest.mark.parametrize(
    ("kind", "index", "version", "metadata"),
    [
        ("MergeOnRead", "GlobalRecordLevel", 9, True),
        pytest.param("CopyOnWrite", "GlobalSimple", 9, True, marks=IN_FULL),
        pytest.param("CopyOnWrite", "Simple", 6, False, marks=IN_FULL),
        pytest.param("MergeOnRead", "Bloom", 6, True, marks=IN_FULL),
        pytest.param("CopyOnWrite", "Bucket", 9, False, marks=IN_FULL),
        pytest.param("MergeOnRead", "Bucket", 6, False, marks=IN_FULL),
    ],
)
def test_of_rows_with_the_same_key_the_newest_stays(
    lake: Any, kind: str, index: str, version: int, metadata: bool
) -> None:
    table(lake, kind, index, version=version, metadata=metadata)
    before, is_global = rows(lake), index.startswith("Global")
    expected = sorted(STAYING if is_global else [*STAYING, ("x", "left", 5, 1)])
    assert len(before) == len(OLDER) + len(NEWER)
    count, keys = (6, 6) if is_global else (5, 5)
    said, where = told_beside_a_heartbeat(lake, DOUBLES), "2 partitions" if is_global else "1 partition"
    assert f"remove {count} older rows of {keys} keys and rewrite {where}" in said
    made = len(commits(lake))

    report = done(mend(lake, DOUBLES))

    assert rows(lake) == rows(lake, metadata=metadata) == expected
    assert (report.rows_before, report.rows_after, report.count) == (len(before), len(expected), count)
    assert (len(commits(lake)), commits(lake)[-1]) == (made + 1, report.instant)
    assert notes(lake, str(report.instant))[CHECKPOINT_KEY]
    assert lake.ingest(operation="Upsert", files={"schemaDdl": DDL}).outcome is Outcome.NOTHING_TO_DO
    insert(lake, [(row[0], row[1], 20, 7) for row in expected], "upsert")
    assert rows(lake, metadata=metadata) == [(*row[:2], 20, 7) for row in expected], "the index finds each key once"
    assert report_of(succeeded(mend(lake, DOUBLES))) == report
    assert mend(lake, DOUBLES, uid="another").outcome is Outcome.NOTHING_TO_DO


def test_concurrent_commit_of_others_stays_in_the_table_or_is_named(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table(lake, "CopyOnWrite", "Simple", version=9, metadata=False)
    late, later = ("late", "a", 1, 8), ("later", "a", 1, 8)

    def come(phase: Phase) -> None:
        if phase is Phase.PREPARED:
            insert(lake, [late, late])

    with monkeypatch.context() as patch:
        patch.setattr(deduplicate, "reach", come)
        waits = mend(lake, DOUBLES)
    assert (waits.reason, report_of(waits).count) == (FailureReason.CONFLICT, 5)
    assert f"({commits(lake)[-1]}), so no row was removed" in waits.message
    assert rows(lake) == sorted([*OLDER, *NEWER, late, late])

    def write_late(*given: Any, **named: Any) -> str:
        insert(lake, [later])
        return operation_run.write_as(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(deduplicate, "write_as", write_late)
        ended = mend(lake, DOUBLES)
    report = report_of(ended)
    assert (ended.reason, report.count, report.verified) == (FailureReason.NOT_VERIFIED, 6, False)
    assert f"other commits came meanwhile ({commits(lake)[-2]})" in ended.message
    assert [row for row in rows(lake) if row != later] == sorted([*STAYING, ("x", "left", 5, 1), late])


@IN_FULL
def test_a_later_look_that_is_refused_leaves_the_table_with_its_metadata_table(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(lake, "CopyOnWrite", "Simple", version=9, metadata=True)

    def come(phase: Phase) -> None:
        if phase is Phase.PREPARED:
            lake.metadata_table = False
            insert(lake, [("1", "a,b", 1, 8)] * 2)

    with monkeypatch.context() as patch:
        patch.setattr(deduplicate, "reach", come)
        assert mend(lake, DOUBLES).reason is FailureReason.CONFLICT
    assert not has_metadata_table(lake)
    before = rows(lake)
    refused = mend(lake, DOUBLES)
    assert (refused.reason, has_metadata_table(lake)) == (FailureReason.OPERATION_REFUSED, True), refused
    assert "a comma in its name" in refused.message
    assert rows(lake) == rows(lake, metadata=True) == before


def has_metadata_table(lake: Any) -> bool:
    config = HudiTable.existing(lake.spark, lake.base_path).meta.getTableConfig()
    return bool(config.isMetadataTableAvailable())


def test_of_rows_that_are_equal_in_all_else_the_one_with_the_later_record_number_stays(spark: SparkSession) -> None:
    columns = "_hoodie_record_key STRING, _hoodie_commit_time STRING, _hoodie_commit_seqno STRING, ts INT"
    places = ["0_9", "0_10", "10_0", "9_11"]
    for kept in ("10_0", "0_10", "0_9"):
        there = places[: places.index(kept) + 1]
        values = [("1", "20", f"20_{place}", 5) for place in there]
        frame = local_frame(
            spark, [(*row, "a", "file") for row in values], f"{columns}, {PARTITION} STRING, {FILE} STRING"
        )
        staying = Doubles(frame, (KEY,), order_of({"hoodie.table.ordering.fields": "ts"})).staying(("a",))
        assert [row["_hoodie_commit_seqno"] for row in staying.collect()] == [f"20_{kept}"]


@pytest.mark.slow
@IN_FULL
def test_a_key_that_is_twice_in_one_file_and_a_table_without_partitions(lake: Any) -> None:
    lake.table, lake.metadata_table = {"type": "CopyOnWrite", "orderingFields": ["ts"]}, True
    insert(lake, [("1", "a", 1, 1), ("1", "a", 2, 2), ("2", "a", 1, 3), ("1", "b", 2, 4)])
    assert len(rows(lake)) == 4
    done(mend(lake, DOUBLES))
    found = rows(lake)
    assert [row[0] for row in found] == ["1", "2"]
    assert found[0][2] == 2
    assert rows(lake, metadata=True) == found


@pytest.mark.slow
@IN_FULL
@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"])
def test_the_overwrite_of_buckets_can_be_rolled_back(lake: Any, kind: str) -> None:
    table(lake, kind, "Bucket", version=9, metadata=True)
    before = rows(lake)
    report = done(mend(lake, DOUBLES))
    done(operate(lake, report.instant, ROLLBACK))
    assert rows(lake) == rows(lake, metadata=True) == before
    done(mend(lake, DOUBLES, uid="another"))
    assert rows(lake) == rows(lake, metadata=True) == sorted([*STAYING, ("x", "left", 5, 1)])


KILLED = ("recorded", "prepared", "requested", "inflight", "changed", "after-commit", "verified", "before-outcome")
SEEN_OUTSIDE = frozenset({"requested", "inflight"})


@pytest.mark.slow
@IN_FULL
@pytest.mark.parametrize("phase", KILLED)
def test_the_next_run_finishes_what_a_killed_one_has_begun(lake: Any, program: Callable[..., Any], phase: str) -> None:
    lake.lease = LEASE
    table(lake, "MergeOnRead", "GlobalRecordLevel", version=9, metadata=True)
    made = len(commits(lake))

    def begun() -> bool:
        return any(timeline(lake).glob(f"*.replacecommit.{phase}"))

    environment = {} if phase in SEEN_OUTSIDE else {"HUDI_JOB_PAUSE_AT": phase}
    running = program(repair_request(lake, DOUBLES, run="killed"), **environment)
    running.wait_until(begun if phase in SEEN_OUTSIDE else running.has_stopped)
    running.kill()

    finished_once(lake, made, sorted(STAYING))


@IN_FULL
def test_the_next_run_finishes_what_one_that_broke_off_has_changed(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By buckets the rows that are too many lie in a second file of their bucket, beside which Hudi updates none."""
    table(lake, "MergeOnRead", "Bucket", version=9, metadata=True)
    made = len(commits(lake))

    def break_off(phase: Phase) -> None:
        if phase is Phase.CHANGED:
            raise TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "The store does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(deduplicate, "reach", break_off)
        assert mend(lake, DOUBLES).reason is FailureReason.STORAGE_UNAVAILABLE
    expected = sorted([*STAYING, ("x", "left", 5, 1)])
    finished_once(lake, made, expected)
    insert(lake, [(row[0], row[1], 20, 7) for row in expected], "upsert")
    assert rows(lake) == [(*row[:2], 20, 7) for row in expected], "each key is found in its bucket, once"


def finished_once(lake: Any, made: int, expected: list[tuple[Any, ...]]) -> None:
    """Run the repair to its end, after so many commits."""
    report = done(mend(lake, DOUBLES))
    assert report.phase is OperationPhase.DONE
    assert (pending(lake), len(commits(lake))) == ([], made + 1)
    assert rows(lake) == rows(lake, metadata=True) == expected
    assert lake.ingest(operation="Upsert", files={"schemaDdl": DDL}).outcome is Outcome.NOTHING_TO_DO
