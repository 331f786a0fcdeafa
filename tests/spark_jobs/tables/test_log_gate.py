"""Rows that other tools have put into log files are found again, or the run is refused before it writes anything."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import FailureReason, Outcome, Service

pytestmark = pytest.mark.spark

WRITE = "hoodie.datasource.write."
IN_MEMORY = {"hoodie.index.type": "INMEMORY", "hoodie.metadata.enable": "false"}
"""It puts new rows into log files of groups with random names, as Flink does."""
BLOOM = {"hoodie.metadata.enable": "false"}


def written(lake: Any, *ids: str, version: int = 9, **options: str) -> None:
    """Upsert rows as another tool does into a MergeOnRead table whose compactions are its own affair."""
    told = {
        "hoodie.table.name": "flights",
        "hoodie.write.table.version": str(version),
        f"{WRITE}table.type": "MERGE_ON_READ",
        f"{WRITE}recordkey.field": "id",
        f"{WRITE}operation": "upsert",
        "hoodie.datasource.compaction.async.enable": "true",
        "hoodie.table.timeline.timezone": "UTC",
        **options,
    }
    rows = lake.spark.createDataFrame([(each, "old") for each in ids], "id string, v string").coalesce(1)
    rows.write.format("hudi").options(**told).mode("append").save(lake.base_path)
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "fileSizing": {"smallFileLimit": "0"}}


def refused(lake: Any) -> None:
    before = sorted(lake.folder.rglob("table/**/*commit*"))
    result = lake.ingest()
    assert result.reason is FailureReason.TABLE_MISMATCH, result.message
    assert "rows that are only in log files" in result.message
    assert sorted(lake.folder.rglob("table/**/*commit*")) == before


@pytest.mark.parametrize("version", [6, 9] if ALL else [9])
def test_rows_in_log_files_alone_are_not_written_again_before_a_compaction(lake: Any, version: int) -> None:
    written(lake, "1", version=version, **IN_MEMORY)
    written(lake, "2", version=version, **IN_MEMORY)
    lake.put("a.csv", "id,v\n1,new\n2,new\n")
    refused(lake)
    assert lake.serve(Service.COMPACTION).outcome is Outcome.SUCCEEDED
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "v") == [("1", "new"), ("2", "new")]


@pytest.mark.parametrize("version", [6, 9] if ALL else [6])
def test_updates_in_log_files_are_no_new_rows(lake: Any, version: int) -> None:
    written(lake, "1", "2", version=version, **BLOOM)
    written(lake, "2", "3", version=version, **BLOOM)
    lake.put("a.csv", "id,v\n1,new\n2,new\n3,new\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "v") == [("1", "new"), ("2", "new"), ("3", "new")]


@pytest.mark.parametrize("version", [6, 9] if ALL else [9])
def test_updates_beside_a_pending_compaction_are_no_new_rows(lake: Any, version: int) -> None:
    written(lake, "1", "2", version=version, **BLOOM)
    written(lake, "2", version=version, **BLOOM)
    client = _client(lake)
    assert client.scheduleCompaction(lake.spark._jvm.org.apache.hudi.common.util.Option.empty()).isPresent()
    client.close()
    written(lake, "1", version=version, **BLOOM)
    lake.put("a.csv", "id,v\n1,new\n2,new\n")
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "v") == [("1", "new"), ("2", "new")]


def _client(lake: Any) -> Any:
    jvm = lake.spark._jvm
    options = {"hoodie.compact.inline.max.delta.commits": "1", "hoodie.metadata.enable": "false"}
    return jvm.org.apache.hudi.HoodieCLIUtils.createHoodieWriteClient(
        lake.spark._jsparkSession, lake.base_path, jvm.PythonUtils.toScalaMap(options), jvm.scala.Option.apply(None)
    )


def test_metadata_table_removed_by_hand_is_reported(lake: Any) -> None:
    options: Any = {"hoodie.metadata.enable": "true"}
    written(lake, "1", **options)
    shutil.rmtree(lake.folder / "table/.hoodie/metadata")
    lake.put("a.csv", "id,v\n1,new\n")
    for result in (lake.serve(Service.COMPACTION), lake.ingest()):
        assert result.reason is FailureReason.TABLE_MISMATCH, result.message
        assert ".hoodie/metadata does not exist" in result.message
