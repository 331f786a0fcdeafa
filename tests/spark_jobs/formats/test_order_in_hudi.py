"""What Hudi 1.2.0 does with events that come late, once more, or at one place: what the source relies on."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.trials import ALL, crossed

from hudi_jobs.contract import Outcome, RunMode, Service
from hudi_jobs.frames import local_frame

pytestmark = pytest.mark.spark

COLUMNS = "id string, v string, _event_lsn long, _hoodie_is_deleted boolean"


def write(lake: Any, version: int, rows: list[tuple[Any, ...]], *, creates: bool = False) -> None:
    spark: SparkSession = lake.spark
    kept = {"hoodie.write.table.version": str(version), "hoodie.datasource.write.operation": "upsert"}
    options = lake.hudi_options(Service.INGESTION) | kept
    if not creates:
        stored = ("hoodie.table.ordering.fields", "hoodie.table.timeline.timezone")
        options = {key: value for key, value in options.items() if key not in stored}
    local_frame(spark, rows, COLUMNS).coalesce(1).write.format("hudi").options(**options).mode("append").save(
        lake.base_path
    )


@crossed(
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
    ("version", [6, 8, 9] if ALL else [6, 9]),
)
def test_the_greater_place_wins_for_rows_and_deletes(lake: Any, version: int, table_type: str) -> None:
    lake.table = {"type": table_type, "orderingFields": ["_event_lsn"]}
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}, "compaction": {"trigger": {"deltaCommits": 1}}}
    write(lake, version, [(key, "old", 10, False) for key in "abcdefg"], creates=True)
    late = [("a", None, 5, True), ("b", "late", 5, False)]
    later = [("c", None, 20, True), ("d", "new", 20, False)]
    same = [("e", None, 10, True), ("f", "same", 10, False)]
    write(lake, version, [*late, *later, *same])
    wanted = [("a", "old"), ("b", "old"), ("d", "new"), ("f", "same"), ("g", "old")]
    assert lake.rows("id", "v") == wanted
    write(lake, version, [("a", None, 6, True), ("d", "late", 15, False), ("g", None, 9, True)])
    assert lake.rows("id", "v") == wanted
    services = [Service.CLUSTERING] if table_type == "CopyOnWrite" else [Service.COMPACTION, Service.CLUSTERING]
    for service in services:
        result = lake.serve(service, mode=RunMode.SCHEDULE_AND_EXECUTE)
        assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
        assert lake.rows("id", "v") == wanted
        write(lake, version, [("a", None, 7, True), ("d", "late", 16, False)])
        assert lake.rows("id", "v") == wanted
