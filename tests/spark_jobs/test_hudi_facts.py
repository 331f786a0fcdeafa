"""The worked examples of file sizing and clustering, a hundredth of the size: what Hudi does with our options."""

from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import FailureReason, Outcome, RunMode, Service

# What Hudi does changes with its release alone.
pytestmark = [pytest.mark.spark, IN_FULL]

RECORD = 1_100
"""Bytes of a row in a file, about; ten of them are a unit."""

PLAIN_FILES = {
    "hoodie.parquet.compression.codec": "uncompressed",
    # A file's bloom filter alone is 40 units.
    "hoodie.parquet.bloom.filter.enabled": "false",
    "hoodie.index.type": "SIMPLE",
}


def write(lake: Any, units: int, *, first: int, operation: str = "insert", value: int = 0) -> None:
    """Write rows with keys of their own as one commit of the operator's options."""
    lake.options = PLAIN_FILES
    options = lake.request().tasks[0].hudi_options | {"hoodie.datasource.write.operation": operation}
    columns = ["CAST(id AS STRING) AS id", f"{value} AS v", "repeat(sha2(CAST(id AS STRING), 512), 8) AS filler"]
    rows = lake.spark.range(first, first + units * 10, numPartitions=1).selectExpr(*columns)
    rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)


def units_by_file_group(lake: Any) -> dict[str, float]:
    """How many units of rows each file group holds that readers see."""
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    counted = frame.selectExpr("split(_hoodie_file_name, '_')[0] AS f").groupBy("f").count().collect()
    return {row["f"]: row["count"] / 10 for row in counted}


def sizing(*, small: int, largest: int) -> dict[str, Any]:
    unit = 10 * RECORD
    sizes = {"smallFileLimit": str(small * unit), "maxFileSize": str(largest * unit)}
    return {"fileSizing": {**sizes, "recordSizeEstimate": str(RECORD)}}


@pytest.mark.parametrize(("small_file_limit", "growth"), [(100, [80, 40, 30, 0, 0]), (0, [0, 0, 0, 0, 0])])
def test_inserts_fill_small_files_up_and_the_rest_goes_into_new_ones(
    lake: Any, small_file_limit: int, growth: list[int]
) -> None:
    lake.spec = sizing(small=0, largest=1000)
    sizes = [40, 80, 90, 130, 105]
    for number, units in enumerate(sizes):
        write(lake, units, first=number * 10_000)
    before = units_by_file_group(lake)
    assert sorted(before.values()) == sorted(sizes)

    lake.spec = sizing(small=small_file_limit, largest=120)
    write(lake, 350, first=100_000)

    after = units_by_file_group(lake)
    grown = {size: after[group] - size for group, size in before.items()}
    assert [grown[size] for size in sizes] == pytest.approx(growth, rel=0.15)
    new = [units for group, units in after.items() if group not in before]
    assert sum(new) == pytest.approx(350 - sum(growth), rel=0.15)
    assert max(new) <= 135


@pytest.fixture
def five_groups(lake: Any) -> Any:
    """Five file groups of 100 units each, and a clustering that makes files of about 250.

    Hudi's ranges of keys are not quite equal, so the limit leaves some room.
    """
    lake.spec = sizing(small=0, largest=1000)
    for number in range(5):
        write(lake, 100, first=number * 10_000)
    unit = max(path.stat().st_size for path in base_files(lake)) / 100
    sizes = {"smallFileLimit": 200, "targetFileSize": 265, "maxBytesPerGroup": 1000}
    plan = {name: str(int(units * unit)) for name, units in sizes.items()}
    lake.spec |= {
        "clustering": {"plan": plan, "execution": {"sortColumns": ["id"]}},
        "cleaning": {"retainCommits": 1},
    }
    return lake


def base_files(lake: Any) -> set[Path]:
    return set((lake.folder / "table").glob("*.parquet"))


def test_five_groups_become_two_and_the_old_files_stay_until_a_later_clean(five_groups: Any) -> None:
    old_files, old_groups = base_files(five_groups), set(units_by_file_group(five_groups))
    result = five_groups.serve(Service.CLUSTERING)
    assert (result.outcome, result.file_groups, result.files_written) == (Outcome.SUCCEEDED, 5, 2), result

    groups = units_by_file_group(five_groups)
    assert not old_groups & set(groups)
    assert list(groups.values()) == pytest.approx([250, 250], rel=0.1)
    assert sum(groups.values()) == 500
    assert five_groups.serve(Service.CLEANING).outcome is Outcome.NOTHING_TO_DO
    assert old_files <= base_files(five_groups)

    for number in (5, 6):
        write(five_groups, 1, first=number * 10_000)
    cleaned = five_groups.serve(Service.CLEANING)
    assert (cleaned.outcome, cleaned.files_deleted) == (Outcome.SUCCEEDED, 5), cleaned
    assert not old_files & base_files(five_groups)


@pytest.mark.parametrize("updates", ["Reject", "Allow"])
def test_updates_while_a_clustering_is_pending(five_groups: Any, updates: str) -> None:
    five_groups.spec["clustering"] |= {"updates": updates}
    five_groups.options = PLAIN_FILES
    planned = five_groups.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    assert planned.outcome is Outcome.SUCCEEDED
    five_groups.put("update.csv", "id,v,filler\n10000,7,x\n")
    update = five_groups.ingest(files={"schemaDdl": "id STRING, v INT, filler STRING"})
    if updates == "Reject":
        assert (update.outcome, update.reason) == (Outcome.FAILED, FailureReason.CONFLICT), update
    else:
        assert update.outcome is Outcome.SUCCEEDED, update

    result = five_groups.serve(Service.CLUSTERING, mode=RunMode.EXECUTE, instant=planned.instant)

    assert result.outcome is Outcome.SUCCEEDED, result
    frame = five_groups.spark.newSession().read.format("hudi").load(five_groups.base_path)
    expected = (5000, 5000, 7 if updates == "Allow" else 0)
    assert tuple(frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(v)").first()) == expected
    assert five_groups.ingest(files={"schemaDdl": "id STRING, v INT, filler STRING"}).outcome is (
        Outcome.SUCCEEDED if updates == "Reject" else Outcome.NOTHING_TO_DO
    )


def test_incremental_reads_across_a_clustering_show_nothing_twice(five_groups: Any) -> None:
    before = completion_times(five_groups)
    assert five_groups.serve(Service.CLUSTERING).outcome is Outcome.SUCCEEDED
    assert incremental(five_groups, "000") == (5000, 5000)
    assert incremental(five_groups, before[-1]) == (0, 0)

    write(five_groups, 1, first=10_000, operation="upsert", value=3)
    assert incremental(five_groups, before[-1]) == (10, 10)
    assert incremental(five_groups, before[1]) == (3010, 3010)


def completion_times(lake: Any) -> list[str]:
    return sorted(name.partition("_")[2].partition(".")[0] for name in lake.instants())


def incremental(lake: Any, begin: str) -> tuple[int, int]:
    """Rows and keys of everything that completed after a moment."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": begin,
    }
    frame = lake.spark.newSession().read.format("hudi").options(**options).load(lake.base_path)
    found = frame.selectExpr("count(*)", "count(DISTINCT id)").first()
    return int(found[0]), int(found[1])
