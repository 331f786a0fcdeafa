"""What real Hudi plans and writes for each strategy that a table may declare."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from hudi_jobs.contract import Outcome, RunMode, Service, TaskResult

pytestmark = pytest.mark.spark

Document = dict[str, Any]
Plan = Callable[[Document], set[str]]

DAYS = [f"year=2026/month=1/day={day}" for day in (1, 2, 3)]
MONTHS = [f"month=2026-0{month}" for month in (1, 2, 3)]
SIZES = {"smallFileLimit": "100Mi", "targetFileSize": "200Mi"}


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def ingest(lake: Any, text: str, **changes: Any) -> None:
    number = lake.runs
    lake.put(f"{number}.csv", text, at=number)
    succeeded(lake.ingest(**changes))


def write_days(lake: Any, *days: int) -> None:
    """Upsert the same rows into some days: a base file the first time, one more log file each further time."""
    rows = (f"{day}-{number},{lake.runs},2026,1,{day}" for day in days for number in range(20))
    ingest(lake, "id,v,year,month,day\n" + "\n".join(rows) + "\n")


def write_months(lake: Any, *months: int) -> None:
    """Insert new rows into some months, into a new file each."""
    rows = (
        f"{lake.runs}-{month}-{number},{number * 37 % 100},2026-0{month}" for month in months for number in range(50)
    )
    ingest(lake, "id,v,month\n" + "\n".join(rows) + "\n", operation="Insert")


def planned_partitions(lake: Any, result: TaskResult) -> set[str]:
    """The partitions of a plan that was made, read from the timeline."""
    (file,) = (lake.folder / "table/.hoodie/timeline").glob(f"{result.instant}.*.requested")
    with file.open("rb") as stream:
        plan: Any = next(fastavro.reader(stream))
    if operations := plan.get("operations"):
        return {operation["partitionPath"] for operation in operations}
    groups = plan["clusteringPlan"]["inputGroups"]
    return {one["partitionPath"] for group in groups for one in group["slices"]}


def keeper(lake: Any) -> Callable[[], None]:
    """Keep the table as it is, and return what puts it back."""
    table, kept = lake.folder / "table", lake.folder / "kept"
    shutil.copytree(table, kept)

    def put_back() -> None:
        shutil.rmtree(table)
        shutil.copytree(kept, table)

    return put_back


def planner(lake: Any, service: Service) -> Plan:
    """Return what makes a plan for a spec, reads it, and puts the table back as it was."""
    put_back = keeper(lake)

    def plan(spec: Document) -> set[str]:
        lake.spec = spec
        result = lake.serve(service, mode=RunMode.SCHEDULE)
        if result.outcome is Outcome.NOTHING_TO_DO:
            return set()
        partitions = planned_partitions(lake, succeeded(result))
        put_back()
        return partitions

    return plan


def test_each_compaction_plan_takes_the_partitions_that_it_says(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead", "partitionBy": ["year", "month", "day"]}
    for days in ([1, 2, 3], [1, 2, 3], [1, 2], [1]):
        write_days(lake, *days)
    plan = planner(lake, Service.COMPACTION)

    def taken(**fields: Any) -> set[str]:
        return plan({"compaction": {"plan": fields}})

    first, second, third = DAYS
    assert taken() == {first, second, third}
    assert taken(logFileSizeThreshold="1Gi") == set()
    assert taken(strategy="LogFileNum", logFileNumThreshold=2) == {first, second}
    assert taken(strategy="BoundedIO") == {first, second, third}
    assert taken(strategy="DayBased", targetPartitions=1) == {third}
    assert taken(strategy="DayBased", targetPartitions=2) == {second, third}
    assert taken(strategy="Unbounded") == {first, second, third}
    assert taken(strategy="Unbounded", partitionRegex="day=1$") == {first}
    assert taken(strategy="LogFileNum", logFileNumThreshold=2, partitionRegex="day=[13]") == {first}
    assert taken(partitionRegex="year=1999") == set()


def test_the_newest_days_stay_the_newest_when_only_older_ones_were_written_to(lake: Any) -> None:
    lake.table = {"type": "MergeOnRead", "partitionBy": ["year", "month", "day"]}
    for days in ([1, 2, 3], [1, 2, 3]):
        write_days(lake, *days)
    succeeded(lake.serve(Service.COMPACTION))
    write_days(lake, 1)
    plan = planner(lake, Service.COMPACTION)
    assert plan({"compaction": {"plan": {"strategy": "DayBased", "targetPartitions": 1}}}) == set()
    assert plan({"compaction": {"plan": {"strategy": "DayBased"}}}) == {DAYS[0]}
    assert plan({}) == {DAYS[0]}


def test_each_clustering_plan_takes_the_partitions_that_it_says(lake: Any) -> None:
    lake.table, lake.spec = {"partitionBy": ["month"]}, {"fileSizing": {"smallFileLimit": 0}}
    for _ in range(2):
        write_months(lake, 1, 2, 3)
    plan = planner(lake, Service.CLUSTERING)

    def taken(strategy: str = "SizeBased", sizes: Document = SIZES, **partitions: Any) -> set[str]:
        return plan({"clustering": {"plan": {"strategy": strategy, **sizes, "partitions": partitions}}})

    first, second, third = MONTHS
    assert taken() == {first, second, third}
    assert taken(sizes={"smallFileLimit": "1Ki"}) == set()
    assert len(taken(sizes={**SIZES, "maxGroups": 1})) == 1
    assert taken("RecentDays", lookback=1) == {third}
    assert taken("RecentDays", lookback=2) == {second, third}
    assert taken("RecentDays", lookback=1, skipLatest=1) == {second}
    assert taken("SelectedPartitions", begin=first, end=second) == {first, second}
    assert taken("SelectedPartitions", begin=second) == {second, third}
    assert taken("SelectedPartitions", end=second, regex=".*-02") == {second}
    assert taken("SelectedPartitions", regex="-02") == set()
    assert taken("SelectedPartitions", names=[first, third]) == {first, third}
    assert taken("SelectedPartitions", names=["month=1999-01"]) == set()


def test_a_clustering_of_chosen_partitions_looks_at_those_that_were_not_written_to_lately(lake: Any) -> None:
    lake.table, lake.spec = {"partitionBy": ["month"]}, {"fileSizing": {"smallFileLimit": 0}}
    for _ in range(2):
        write_months(lake, 1, 2, 3)
    lake.spec |= {"clustering": {"plan": {"strategy": "SelectedPartitions", **SIZES, "partitions": {"end": MONTHS[0]}}}}
    succeeded(lake.serve(Service.CLUSTERING))
    write_months(lake, 1)
    plan = planner(lake, Service.CLUSTERING)

    recent = {"strategy": "RecentDays", **SIZES, "partitions": {"lookback": 1}}
    assert plan({"clustering": {"plan": recent}}) == {MONTHS[2]}
    named = {"strategy": "SelectedPartitions", **SIZES, "partitions": {"begin": MONTHS[1]}}
    assert plan({"clustering": {"plan": named}}) == {MONTHS[1], MONTHS[2]}
    # Hudi's own rule, kept where all partitions are wanted anyway: those that were written to since.
    assert plan({"clustering": {"plan": SIZES}}) == {MONTHS[0]}


EXECUTIONS: list[Document] = [
    {"sortColumns": ["v"]},
    {"sortColumns": ["v", "id"], "layout": "ZOrder"},
    {"sortColumns": ["v", "id"], "layout": "Hilbert"},
    {"strategy": "SingleSparkJob", "sortColumns": ["v"]},
    {},
]


def test_a_clustering_lays_rows_out_as_it_says(lake: Any) -> None:
    lake.table, lake.spec = {"partitionBy": ["month"]}, {"fileSizing": {"smallFileLimit": 0}}
    for _ in range(2):
        write_months(lake, 1)
    before = lake.rows()
    commits = {
        row[0] for row in lake.spark.read.format("hudi").load(lake.base_path).select("_hoodie_commit_time").collect()
    }
    put_back = keeper(lake)
    for execution in EXECUTIONS:
        lake.spec |= {"clustering": {"plan": SIZES, "execution": execution}}

        result = succeeded(lake.serve(Service.CLUSTERING))

        assert lake.rows() == before, execution
        (file,) = Path(lake.base_path).glob(f"{MONTHS[0]}/*_{result.instant}.parquet")
        values = pq.read_table(file).column("v").to_pylist()
        linear = execution.get("sortColumns") is not None and "layout" not in execution
        assert (values == sorted(values)) == linear, execution
        assert set(pq.read_table(file).column("_hoodie_commit_time").to_pylist()) == commits, execution
        put_back()


CLEANINGS: list[tuple[Document, int | None]] = [
    ({"retainCommits": 1}, 2),
    ({"retainCommits": 3}, None),
    ({"policy": "KeepLatestFileVersions", "retainFileVersions": 1}, 3),
    ({"policy": "KeepLatestFileVersions", "retainFileVersions": 3}, 1),
    ({"policy": "KeepLatestByHours", "retainHours": 1}, None),
]
"""With how many of the four versions of a file each deletes."""


def test_cleaning_keeps_what_its_policy_says(lake: Any) -> None:
    for number in range(4):
        ingest(lake, f"id,v\n1,{number}\n")
    put_back = keeper(lake)
    for cleaning, deleted in CLEANINGS:
        lake.spec = {"cleaning": cleaning}
        result = lake.serve(Service.CLEANING)
        assert result.outcome is (Outcome.NOTHING_TO_DO if deleted is None else Outcome.SUCCEEDED), (cleaning, result)
        assert result.files_deleted == deleted, cleaning
        put_back()


@pytest.mark.parametrize(
    ("bulk_insert", "files"),
    [
        ({}, 6),
        ({"sortMode": "PartitionPathRepartition"}, 3),
        ({"sortMode": "GlobalSort", "parallelism": 1}, 3),
        ({"sortMode": "PartitionSort"}, 6),
    ],
    ids=str,
)
def test_a_bulk_insert_writes_files_by_its_tasks(lake: Any, bulk_insert: Document, files: int) -> None:
    source = {"files": {"path": lake.source, "format": "csv"}}
    lake.table = {"partitionBy": ["month"]}
    lake.spec = {"ingestion": {"source": source, "operation": "BulkInsert", "bulkInsert": bulk_insert}}
    for file in range(3):
        rows = (f"{file}-{number},1,2026-0{number % 3 + 1}" for number in range(60))
        lake.put(f"part-{file}.csv", "id,v,month\n" + "\n".join(rows) + "\n")
    succeeded(lake.ingest(operation="BulkInsert"))
    written = [path for path in Path(lake.base_path).rglob("*.parquet") if re.match(r"[0-9a-f]{8}-", path.name)]
    assert len(written) == files
