"""A clustering plan that fails for a cause in itself is taken back at once, and keeps no ingestion waiting."""

from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import ConcurrencyMode, FailureReason, Outcome, RunMode, Service, is_of_the_plan

pytestmark = pytest.mark.spark

SORT = "hoodie.clustering.plan.strategy.sort.columns"
LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
NO_STRATEGY = {"hoodie.clustering.execution.strategy.class": "org.example.NoSuchStrategy"}


def small_files(lake: Any) -> None:
    """Make two files of one table, each with a column of every kind that has no order or is not a column."""
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}}
    lake.ingestion = {"files": {"format": "json", "options": {}, "schemaDdl": COLUMNS}, "operation": "Insert"}
    for number in range(2):
        lake.put(f"{number}.json", f'{{"id":"{number}","attrs":{{"a":"b"}},"tags":[{{"a":"b"}}],"v":0}}\n', at=number)
        assert lake.ingest().outcome is Outcome.SUCCEEDED


COLUMNS = "id STRING, attrs MAP<STRING,STRING>, tags ARRAY<MAP<STRING,STRING>>, v INT"


def pending(lake: Any) -> list[str]:
    """The files of clusterings that have not completed."""
    timeline = Path(lake.folder, "table/.hoodie/timeline")
    done = {path.name.partition("_")[0] for path in timeline.glob("*.replacecommit")}
    return sorted(path.name for path in timeline.glob("*.clustering.*") if path.name.partition(".")[0] not in done)


def update(lake: Any, value: int) -> Any:
    """Ingest another value for the rows of both files."""
    rows = "".join(f'{{"id":"{number}","v":{value}}}\n' for number in range(2))
    lake.put(f"update-{value}.json", rows, at=10 + value)
    return lake.ingest(operation="Upsert")


@pytest.fixture
def sorted_lake(lake: Any) -> Any:
    """A table with work for a clustering."""
    small_files(lake)
    return lake


def test_a_sort_column_without_an_order_is_refused_before_a_plan_is_made(sorted_lake: Any) -> None:
    for columns in ("attrs", "v,attrs,tags"):
        result = sorted_lake.serve(Service.CLUSTERING, options={SORT: columns})
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INVALID_REQUEST), result
        assert "The sort column attrs is map<string,string>, which has no order" in result.message
        assert "clustering.execution.sortColumns" in result.message
    assert "The sort column tags is array<map<string,string>>" in result.message
    assert pending(sorted_lake) == []
    planned = sorted_lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    again = {"mode": RunMode.ROLL_BACK, "instant": planned.instant, "options": {SORT: "attrs"}}
    rolled_back = sorted_lake.serve(Service.CLUSTERING, **again)
    assert rolled_back.outcome is Outcome.NOTHING_TO_DO, rolled_back
    assert pending(sorted_lake) == [], "A plan is rolled back whatever its columns are"
    assert update(sorted_lake, 1).outcome is Outcome.SUCCEEDED


def test_a_clustering_inside_the_writer_is_refused_by_its_sort_columns_too(sorted_lake: Any) -> None:
    sorted_lake.options = {"hoodie.clustering.inline": "true", SORT: "attrs"}
    result = update(sorted_lake, 1)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INVALID_REQUEST), result
    assert sorted_lake.rows("id", "v") == [("0", 0), ("1", 0)]


def test_a_plan_that_fails_for_a_cause_in_itself_is_rolled_back_at_once(sorted_lake: Any) -> None:
    result = sorted_lake.serve(Service.CLUSTERING, options=NO_STRATEGY)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.HUDI_ERROR), result
    assert "NoSuchStrategy" in result.message
    assert "was rolled back" in result.message
    assert pending(sorted_lake) == []
    assert update(sorted_lake, 1).outcome is Outcome.SUCCEEDED
    assert sorted_lake.rows("id", "v") == [("0", 1), ("1", 1)]


def test_an_ingestion_rolls_back_the_clustering_that_a_dead_run_of_its_table_began(sorted_lake: Any) -> None:
    planned = sorted_lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    Path(sorted_lake.folder, f"table/.hoodie/timeline/{planned.instant}.clustering.inflight").touch()
    result = update(sorted_lake, 1)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert pending(sorted_lake) == []
    assert sorted_lake.rows("id", "v") == [("0", 1), ("1", 1)]


def test_an_ingestion_of_an_optimistic_table_is_refused_once_by_such_a_clustering(sorted_lake: Any) -> None:
    sorted_lake.spec |= {"concurrency": {"mode": "Optimistic"}}
    sorted_lake.options = LOCK
    optimistic = ConcurrencyMode.OPTIMISTIC
    planned = sorted_lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE, concurrency=optimistic)
    Path(sorted_lake.folder, f"table/.hoodie/timeline/{planned.instant}.clustering.inflight").touch()
    result = update(sorted_lake, 1)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.CONFLICT), result
    assert f"Rolled back what an ended run left: {planned.instant}." in result.message
    assert pending(sorted_lake) == []
    assert sorted_lake.ingest(operation="Upsert").outcome is Outcome.SUCCEEDED
    assert sorted_lake.rows("id", "v") == [("0", 1), ("1", 1)]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (FailureReason.HUDI_ERROR, True),
        (FailureReason.OUT_OF_MEMORY, True),
        (FailureReason.INTERNAL_ERROR, True),
        (FailureReason.STORAGE_UNAVAILABLE, False),
        (FailureReason.STORAGE_FULL, False),
        (FailureReason.STORAGE_ACCESS_DENIED, False),
        (FailureReason.LOCK_UNAVAILABLE, False),
    ],
)
def test_a_failure_of_the_store_or_of_the_lock_says_nothing_against_a_plan(
    reason: FailureReason, *, expected: bool
) -> None:
    assert is_of_the_plan(reason) is expected
