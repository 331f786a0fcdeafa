"""Changes of version that would lose something, or end midway, are refused before anything is written."""

from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    DOWNGRADE,
    RESTORE,
    UPGRADE,
    commits,
    done,
    files,
    operate,
    refusal,
    report_of,
    rows,
)
from tests.spark_jobs.operations.versions.test_versions import change, declare
from tests.spark_jobs.services.test_services import fill, succeeded
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import TIMELINE_ZONE_OPTION, FailureReason, OperationPhase, Outcome, RunMode, Service
from hudi_jobs.operations.versions.version_check import obstacles, untold_zone

PLAIN = {"hoodie.table.recordkey.fields": "id", "hoodie.table.partition.fields": "part"}
ZONE = "hoodie.table.timeline.timezone"
LEGACY = {"hoodie.table.legacy.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload"}


@pytest.mark.parametrize(
    ("properties", "way", "sentence"),
    [
        ({"hoodie.timeline.path": "line"}, (9, 6), "hoodie.timeline.path is line"),
        ({"hoodie.timeline.history.path": "past"}, (8, 9), "hoodie.timeline.history.path is past"),
        ({"hoodie.table.metadata.partitions": "files,secondary_index_a"}, (8, 9), "the index secondary_index_a"),
        ({"hoodie.table.partition.fields": "a,b"}, (6, 9), "with a Complex key generator"),
        ({"hoodie.table.partition.fields": "a,b"}, (9, 8), "with a Complex key generator"),
        ({"hoodie.table.ordering.fields": "a,b"}, (9, 8), "orders by several fields (a, b)"),
        ({"hoodie.record.merge.mode": "CUSTOM"}, (9, 8), "a custom class"),
        ({"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}, (9, 8), "partial.update.mode"),
        ({"hoodie.record.merge.property.hoodie.payload.delete.field": "op"}, (9, 6), "record.merge.property"),
    ],
)
def test_property_that_hudi_fails_on_or_loses_is_named(
    properties: dict[str, str], way: tuple[int, int], sentence: str
) -> None:
    assert sentence in " ".join(obstacles(PLAIN | properties, *way))


@pytest.mark.parametrize(
    ("properties", "way"),
    [
        (PLAIN, (9, 6)),
        (PLAIN | {"hoodie.table.metadata.partitions": "column_stats,files,record_index"}, (6, 9)),
        (PLAIN | {"hoodie.table.ordering.fields": "a,b"}, (8, 9)),
        (PLAIN | {"hoodie.timeline.path": "timeline", "hoodie.timeline.history.path": "history"}, (9, 6)),
        (PLAIN | LEGACY | {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}, (9, 8)),
    ],
)
def test_property_that_hudi_converts_is_no_obstacle(properties: dict[str, str], way: tuple[int, int]) -> None:
    assert list(obstacles(properties, *way)) == []


@pytest.mark.parametrize(
    ("properties", "options", "way", "is_refused"),
    [
        ({}, {}, (6, 8), True),
        ({ZONE: "LOCAL"}, {}, (9, 6), True),
        ({ZONE: "LOCAL"}, {TIMELINE_ZONE_OPTION: "Asia/Tokyo"}, (6, 9), False),
        ({ZONE: "LOCAL"}, {}, (8, 9), False),
        ({ZONE: "UTC"}, {}, (6, 9), False),
    ],
)
def test_a_table_in_local_time_goes_to_another_layout_only_where_its_zone_is_declared(
    properties: dict[str, str], options: dict[str, str], way: tuple[int, int], is_refused: bool
) -> None:
    assert any("as timelineTimeZone" in sentence for sentence in untold_zone(properties, options, *way)) is is_refused


@pytest.mark.spark
def test_a_direction_that_is_none_and_a_pin_are_refused_and_a_dry_run_writes_not_one_byte(lake: Any) -> None:
    declare(lake, "CopyOnWrite", 8)
    assert "There is no table" in refusal(change(lake, 8, 9))
    fill(lake, 1)
    before = files(lake)
    assert "8 is not newer" in refusal(operate(lake, None, UPGRADE, version=8, dry_run=True))
    assert "9 is not older" in refusal(operate(lake, None, DOWNGRADE, version=9, dry_run=True))
    assert "does not write table version 10" in refusal(operate(lake, None, UPGRADE, version=10, dry_run=True))
    lake.table["version"] = 8
    assert "pins 8, not 9" in refusal(change(lake, 8, 9, dry_run=True))
    lake.table["version"] = 9
    result = change(lake, 8, 9, dry_run=True)
    assert (result.outcome, report_of(result).phase) == (Outcome.SUCCEEDED, OperationPhase.CHECKING)
    assert "Would change the table from version 8 to 9" in result.message
    assert files(lake) == before


@pytest.mark.spark
def test_a_plan_of_this_table_is_finished_first_and_what_is_pending_of_others_refuses_it(lake: Any) -> None:
    declare(lake, "MergeOnRead", 6)
    fill(lake, 2)
    succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE))
    expected = rows(lake)
    left = lake.folder / "table/.hoodie/20990101000000000.clean.requested"
    left.touch()
    assert "The clean 20990101000000000 has not completed" in refusal(change(lake, 6, 8))
    left.unlink()
    lake.spec.pop("tableVersion")
    done(change(lake, 6, 8))
    assert rows(lake) == expected


@pytest.mark.spark
def test_a_merge_on_read_table_is_not_restored_over_a_change_of_its_version(lake: Any) -> None:
    declare(lake, "MergeOnRead", 9)
    fill(lake, 2)
    target = commits(lake)[-1]
    lake.spec.pop("tableVersion")
    report = done(change(lake, 9, 6))
    fill(lake, 1, first=2)
    sentence = refusal(operate(lake, target, RESTORE, uid="uid-of-restore"))
    assert f"was changed after commit {report.target}" in sentence


@pytest.mark.spark
def test_a_copied_merge_on_read_table_is_not_upgraded_where_old_log_files_would_count_again(lake: Any) -> None:
    declare(lake, "MergeOnRead", 6)
    fill(lake, 2)
    succeeded(lake.serve(Service.COMPACTION))
    timeline = Path(lake.folder, "table/.hoodie")
    for path in timeline.glob("2*"):
        path.touch()
    result = change(lake, 6, 9)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.FILE_SLICES_UNCERTAIN), result
    assert "a copy of the table" in result.message


@pytest.mark.spark
@pytest.mark.slow
@IN_FULL
def test_on_s3_a_table_goes_to_version_6_where_no_log_file_is_left(lake: Any, s3: Any) -> None:
    bucket = "versions"
    s3.create_bucket(Bucket=bucket)
    lake.use_store(bucket, s3.meta.endpoint_url)

    def put(number: int) -> None:
        text = "id,v\n" + "".join(f"{key},{number}\n" for key in range(50))
        s3.put_object(Bucket=bucket, Key=f"in/{number}.csv", Body=text.encode())
        succeeded(lake.ingest())

    declare(lake, "MergeOnRead", 9)
    for number in range(2):
        put(number)
    lake.spec.pop("tableVersion")
    expected = rows(lake)
    assert "there is one: " in refusal(change(lake, 9, 6))
    for number in (2, 3, 4):
        succeeded(lake.serve(Service.COMPACTION))
        put(number)
    succeeded(lake.serve(Service.COMPACTION))
    expected = rows(lake)
    lake.spec["cleaning"] = {"policy": "KeepLatestFileVersions", "retainFileVersions": 1}
    succeeded(lake.serve(Service.CLEANING))
    done(change(lake, 9, 6))
    assert rows(lake) == expected
    put(5)
    newest = rows(lake)
    succeeded(lake.serve(Service.COMPACTION))
    assert rows(lake) == newest != expected
