"""Deletion removes the whole table and refuses everything that is not clearly that table."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from hudi_jobs.contract import FailureReason, Outcome, Service, TaskResult

pytestmark = pytest.mark.spark


@pytest.fixture
def table(lake: Any) -> Any:
    lake.table = {"partitionBy": ["carrier"]}
    lake.put("a.csv", "id,carrier\n1,AA\n2,UA\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    return lake


def refused(result: TaskResult, reason: FailureReason) -> None:
    assert (result.outcome, result.reason) == (Outcome.FAILED, reason), result
    assert "not deleted" in result.message


def test_a_table_is_deleted_with_all_its_files(table: Any) -> None:
    everything = (table.folder / "table").rglob("*")
    files = [
        path for path in everything if path.is_file() and path.suffix != ".crc" and ".hudi-operator" not in path.parts
    ]
    size = sum(path.stat().st_size for path in files)

    result = table.serve(Service.DELETION)

    assert (result.outcome, result.files_deleted, result.bytes_deleted) == (Outcome.SUCCEEDED, len(files), size)
    assert not (table.folder / "table").exists()
    assert (table.folder / "in/a.csv").exists()
    assert table.serve(Service.DELETION).outcome is Outcome.NOTHING_TO_DO


def test_a_killed_deletion_is_finished_by_the_next(table: Any, program: Callable[..., Any]) -> None:
    running = program(table.service_request(Service.DELETION), HUDI_JOB_PAUSE_AT="deleting")
    running.wait_until(running.has_stopped)
    running.kill()
    assert (table.folder / "table/.hoodie/hoodie.properties").exists()
    assert table.serve(Service.DELETION).outcome is Outcome.SUCCEEDED
    assert not (table.folder / "table").exists()


def test_a_deletion_that_left_only_the_properties_is_finished(table: Any) -> None:
    meta = table.folder / "table/.hoodie"
    for path in [*meta.parent.glob("carrier=*"), *meta.glob("[!h]*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert table.serve(Service.DELETION).outcome is Outcome.SUCCEEDED
    assert not meta.parent.exists()


def test_another_table_is_not_deleted(table: Any) -> None:
    table.table |= {"name": "trains"}
    refused(table.serve(Service.DELETION), FailureReason.TABLE_MISMATCH)
    assert len(table.rows()) == 2


def test_files_that_are_no_table_are_not_deleted(table: Any) -> None:
    shutil.rmtree(table.folder / "table/.hoodie")
    refused(table.serve(Service.DELETION), FailureReason.TABLE_MISMATCH)
    assert list((table.folder / "table").rglob("*.parquet"))


@pytest.mark.parametrize(
    "path", ["s3a://lake", "s3a://lake/", "s3a://lake//", "/", "file:///", "s3a://lake/a/..", "s3a://lake/%2e%2e/"]
)
def test_a_bucket_or_a_root_is_not_deleted(lake: Any, path: str) -> None:
    lake.table = {"basePath": path}
    refused(lake.serve(Service.DELETION), FailureReason.INVALID_REQUEST)


def test_the_metadata_of_a_table_is_not_deleted_on_its_own(table: Any) -> None:
    table.table |= {"basePath": f"{table.base_path}/.hoodie/metadata"}
    refused(table.serve(Service.DELETION), FailureReason.INVALID_REQUEST)


@pytest.mark.s3
def test_a_table_on_s3_is_deleted(lake: Any, s3: Any) -> None:
    s3.create_bucket(Bucket="deleted")
    lake.use_store("deleted", s3.meta.endpoint_url)
    rows = lake.spark.sql("SELECT '1' AS id")
    rows.write.format("hudi").options(**lake.hudi_options(Service.INGESTION)).mode("append").save(lake.base_path)
    assert s3.list_objects_v2(Bucket="deleted")["KeyCount"]
    result = lake.serve(Service.DELETION)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert s3.list_objects_v2(Bucket="deleted")["KeyCount"] == 0
