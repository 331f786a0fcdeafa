"""Each table service where nothing goes wrong: what it does, what it answers, and what its commit says."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import IN_FULL, sampled

from hudi_jobs.contract import CHECKPOINT_KEY, RUN_KEY, ConcurrencyMode, Outcome, RunMode, Service, TaskResult
from hudi_jobs.table import HudiTable

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SMALL = {"clustering": {"plan": {"smallFileLimit": "100Mi", "targetFileSize": "200Mi"}}}
NEW_FILES = {"fileSizing": {"smallFileLimit": "0"}}


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def csv(first: int, last: int, value: int = 0) -> str:
    return "id,v\n" + "".join(f"{number},{value}\n" for number in range(first, last))


def fill(lake: Any, commits: int, *, first: int = 0, rows: int = 100) -> None:
    """Upsert the same rows again and again, so that a MergeOnRead table gets log files."""
    for number in range(first, first + commits):
        lake.put(f"{number}.csv", csv(0, rows, number), at=number)
        succeeded(lake.ingest())


def add(lake: Any, commits: int, *, first: int = 0, rows: int = 100) -> None:
    """Insert new rows, each time into their own file."""
    lake.spec |= NEW_FILES
    for number in range(first, first + commits):
        lake.put(f"{number}.csv", csv(number * rows, (number + 1) * rows), at=number)
        succeeded(lake.ingest(operation="Insert"))


def notes(lake: Any, instant: str) -> dict[str, str]:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return next(commit.notes for commit in table.commits() if commit.instant == instant)


def timeline(lake: Any) -> Path:
    return Path(lake.folder, "table/.hoodie/timeline")


def test_a_compaction_is_planned_and_executed_and_says_who_made_it(lake: Any) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    fill(lake, 3)

    result = succeeded(lake.serve(Service.COMPACTION, run="compact-1"))

    assert (result.file_groups, result.files_written) == (1, 1)
    assert result.bytes_written
    assert list(timeline(lake).glob(f"{result.instant}_*.commit"))
    assert notes(lake, str(result.instant))[RUN_KEY] == "compact-1"
    assert lake.rows("v") == [("2",)] * 100
    assert lake.serve(Service.COMPACTION).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize("table_type", sampled("CopyOnWrite", "MergeOnRead"))
def test_a_clustering_is_planned_and_executed_and_says_who_made_it(lake: Any, table_type: str) -> None:
    lake.table, lake.spec, lake.metadata_table = {"type": table_type}, SMALL, True
    add(lake, 3)

    result = succeeded(lake.serve(Service.CLUSTERING, run="cluster-1"))

    assert (result.file_groups, result.files_written) == (3, 1)
    assert list(timeline(lake).glob(f"{result.instant}_*.replacecommit"))
    assert notes(lake, str(result.instant))[RUN_KEY] == "cluster-1"
    assert len(set(lake.rows("id"))) == len(lake.rows("id")) == 300
    again = lake.serve(Service.CLUSTERING)
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert "small files" in again.message


def test_a_date_of_long_ago_stops_no_clustering(lake: Any) -> None:
    """Spark reads none before 1582 from files that do not say which calendar they count in, as those of Hudi."""
    lake.spec, lake.metadata_table = SMALL | NEW_FILES, True
    lake.ingestion = {"files": {"schemaDdl": "id INT, d DATE, t TIMESTAMP"}}
    for number, operation in enumerate(("Insert", "BulkInsert")):
        lake.put(f"{number}.csv", f"id,d,t\n{number},0001-01-01,1500-01-01T00:00:00Z\n", at=number)
        succeeded(lake.ingest(operation=operation))
    succeeded(lake.serve(Service.CLUSTERING))
    lake.put("2.csv", "id,d,t\n0,0002-01-01,1500-01-01T00:00:00Z\n", at=2)
    succeeded(lake.ingest())
    rows = lake.spark.read.format("hudi").load(lake.base_path).selectExpr("id", "cast(d AS STRING)", "year(t)")
    assert sorted(map(tuple, rows.collect())) == [(0, "0002-01-01", 1500), (1, "0001-01-01", 1500)]


@pytest.mark.parametrize("service", [Service.COMPACTION, Service.CLUSTERING])
def test_planning_and_executing_are_separate_steps(lake: Any, service: Service) -> None:
    lake.table, lake.spec = {"type": "MergeOnRead"}, SMALL
    (fill if service is Service.COMPACTION else add)(lake, 3)

    planned = succeeded(lake.serve(service, mode=RunMode.SCHEDULE))
    assert planned.instant is not None
    assert not list(timeline(lake).glob(f"{planned.instant}_*"))

    second = lake.serve(service, mode=RunMode.SCHEDULE)
    assert second.outcome is Outcome.NOTHING_TO_DO
    assert planned.instant in second.message

    executed = succeeded(lake.serve(service, mode=RunMode.EXECUTE, instant=planned.instant))
    assert executed.instant == planned.instant

    late = lake.serve(service, mode=RunMode.EXECUTE, instant=planned.instant)
    assert late.outcome is Outcome.NOTHING_TO_DO
    assert "already completed" in late.message
    assert lake.serve(service, mode=RunMode.EXECUTE).outcome is Outcome.NOTHING_TO_DO
    assert lake.serve(service, mode=RunMode.EXECUTE, instant="20200101000000000").outcome is Outcome.NOTHING_TO_DO


@IN_FULL
def test_a_plan_that_is_pending_is_executed_before_a_new_one_is_made(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE))
    assert succeeded(lake.serve(Service.COMPACTION)).instant == planned.instant


@IN_FULL
def test_beside_other_writers_a_plan_that_a_run_of_this_table_has_left_is_executed_first(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE))
    result = succeeded(lake.serve(Service.COMPACTION, concurrency=ConcurrencyMode.OPTIMISTIC, abandoned=()))
    assert result.instant == planned.instant


def test_ingestion_finds_its_checkpoint_behind_services_and_in_the_archive(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {**SMALL, "cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    fill(lake, 3)
    for service in (Service.COMPACTION, Service.CLUSTERING):
        instant = lake.serve(service).instant
        if instant:
            assert json.loads(notes(lake, instant)[CHECKPOINT_KEY])["version"] == 3
        assert lake.ingest().outcome is Outcome.NOTHING_TO_DO

    # Writers of other tools carry nothing over, so that the archive ends up with the only checkpoint.
    foreign = {"hoodie.table.name": "flights", "hoodie.datasource.write.recordkey.field": "id"}
    foreign["hoodie.metadata.enable"] = str(lake.metadata_table).lower()
    off = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false", "hoodie.compact.inline": "true"}
    for number in range(6):
        rows = lake.spark.sql(f"SELECT 'x{number}' AS id, '0' AS v")
        rows.write.format("hudi").options(**foreign, **off).mode("append").save(lake.base_path)
    lake.serve(Service.CLEANING)
    succeeded(lake.serve(Service.ARCHIVAL))
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    assert not any(CHECKPOINT_KEY in commit.notes for commit in table.commits())
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO


def test_cleaning_deletes_what_no_retained_commit_needs(lake: Any) -> None:
    lake.spec, lake.metadata_table = {"cleaning": {"retainCommits": 1}}, True
    fill(lake, 4)
    result = succeeded(lake.serve(Service.CLEANING))
    assert result.files_deleted == 2
    assert list(timeline(lake).glob(f"{result.instant}_*.clean"))
    again = lake.serve(Service.CLEANING)
    assert (again.outcome, again.files_deleted) == (Outcome.NOTHING_TO_DO, None)
    assert lake.rows("v") == [("3",)] * 100


def test_archival_moves_instants_and_says_how_many(lake: Any) -> None:
    lake.spec = {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    fill(lake, 5)
    result = succeeded(lake.serve(Service.ARCHIVAL))
    left = len(list(timeline(lake).glob("[0-9]*_*.commit")))
    assert result.instants_archived == 5 - left > 0
    assert lake.serve(Service.ARCHIVAL).outcome is Outcome.NOTHING_TO_DO
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO


def test_a_table_that_does_not_exist_yet_is_nothing_to_do(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead"}
    for service in set(Service) - {Service.INGESTION, Service.OPERATION}:
        result = lake.serve(service)
        assert result.outcome is Outcome.NOTHING_TO_DO, result
        assert lake.base_path in result.message
    assert not Path(lake.base_path).exists()
