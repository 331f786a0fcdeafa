"""A table keeps its version and what it has of a metadata table: none is made beside a pending plan.

One that Hudi 1.2.0 makes there leaves out what was written after the plan, and its readers see older rows.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import Outcome, Service
from hudi_jobs.table_services.client import write_client

pytestmark = pytest.mark.spark


def write(lake: Any, value: int, *, version: int, metadata: bool = False, **changes: str) -> None:
    """Write every row again, as another tool does that has no metadata table unless it is said."""
    options = {
        **lake.hudi_options(Service.INGESTION),
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": str(metadata).lower(),
        "hoodie.datasource.write.operation": "upsert",
        **changes,
    }
    rows = lake.spark.range(10).selectExpr("CAST(id AS STRING) AS id", f"{value} AS v")
    rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)


def read(lake: Any, *, metadata: bool) -> list[int]:
    option = {"hoodie.metadata.enable": str(metadata).lower()}
    frame = lake.spark.read.format("hudi").options(**option).load(lake.base_path)
    return sorted(row.v for row in frame.select("v").collect())


@pytest.mark.parametrize("version", [6, 9] if ALL else [9])
def test_no_reader_loses_a_row_that_was_written_beside_a_pending_compaction(lake: Any, version: int) -> None:
    lake.table = {"type": "MergeOnRead"}
    for value in (1, 2):
        write(lake, value, version=version)
    options = lake.hudi_options(Service.COMPACTION) | {
        "hoodie.metadata.enable": "false",
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.write.table.version": str(version),
    }
    with write_client(lake.spark, lake.base_path, options) as client:
        instant = client.schedule_compaction({})
    assert instant
    for value in (3, 4):
        write(lake, value, version=version)
    assert read(lake, metadata=False) == [4] * 10

    lake.metadata_table = True
    result = lake.serve(Service.COMPACTION, instant=instant)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert not metadata_table(lake).exists()

    for metadata in (False, True):
        assert read(lake, metadata=metadata) == [4] * 10, metadata
    lake.put("a.csv", "id,v\n" + "".join(f"{number},5\n" for number in range(10)))
    ingested = lake.ingest(operation="Upsert", files={"schemaDdl": "id STRING, v INT"})
    assert ingested.outcome is Outcome.SUCCEEDED, ingested
    assert metadata_table(lake).exists(), "nothing is pending any more"
    for metadata in (False, True):
        assert read(lake, metadata=metadata) == [5] * 10, metadata


@pytest.mark.parametrize("version", [6, 8] if ALL else [6])
def test_services_upgrade_neither_a_table_nor_its_metadata_table(lake: Any, version: int) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "cleaning": {"retainCommits": 1}}
    for value in (1, 2, 3):
        write(lake, value, version=version, metadata=True)
    found = versions(lake)
    assert found == [version, version]

    for service in (Service.COMPACTION, Service.CLEANING, Service.ARCHIVAL):
        assert lake.serve(service).outcome is not Outcome.FAILED

    assert versions(lake) == found
    assert read(lake, metadata=True) == [3] * 10


def metadata_table(lake: Any) -> Path:
    return Path(lake.folder / "table/.hoodie/metadata/.hoodie")


def versions(lake: Any) -> list[int]:
    """The versions of the table and of its metadata table."""
    folders = (lake.folder / "table/.hoodie", metadata_table(lake))
    lines = [line for folder in folders for line in (folder / "hoodie.properties").read_text().splitlines()]
    return [int(line.partition("=")[2]) for line in lines if line.startswith("hoodie.table.version=")]
