"""The progress of real runs, as a reader of the lease sees it meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.services.test_services import NEW_FILES, SMALL, succeeded

from hudi_jobs.contract import JobRequest, Service
from hudi_jobs.contract.run_progress import (
    INGESTION_LEASE,
    SERVICES_LEASE,
    ProgressUnit,
    RunPhase,
    RunProgress,
    decode_run_progress,
)
from hudi_jobs.lease import leases
from hudi_jobs.usage import run_meter

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PARTITIONS = 12
ROWS = 6_000


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_meter, "_MEASURES_EVERY_SECONDS", 0.02)
    monkeypatch.setattr(leases, "_RENEWALS_PER_LEASE", 1_000)


def watched(lake: Any, beside: Callable[[JobRequest], Any], request: JobRequest, lease: str) -> list[RunProgress]:
    """Run a driver, and return the progress that a reader of the lease sees."""
    file, seen = Path(lake.folder, "table/.hudi-operator", lease), list[RunProgress]()
    driver = beside(request)
    while not driver.is_done:
        found = decode_run_progress(file.read_bytes()) if file.exists() else None
        if found is not None and found not in seen:
            seen.append(found)
        time.sleep(0.005)
    succeeded(driver.finish())
    assert decode_run_progress(file.read_bytes()) is None
    assert {one.run for one in seen} == {request.run}
    return seen


def by_partition(first: int) -> str:
    return "id,part,v\n" + "".join(f"{number},{number % PARTITIONS},{first}\n" for number in range(ROWS))


def test_a_reader_follows_an_ingestion_and_a_compaction(lake: Any, beside: Callable[[JobRequest], Any]) -> None:
    lake.table = {"type": "MergeOnRead", "partitionBy": ["part"]}
    for number in range(2):
        lake.put(f"{number}.csv", by_partition(number), at=number)
        succeeded(lake.ingest())

    lake.put("2.csv", by_partition(2), at=2)
    ingestion = watched(lake, beside, lake.request(run="ingest"), INGESTION_LEASE)
    compaction = watched(lake, beside, lake.service_request(Service.COMPACTION, run="compact"), SERVICES_LEASE)

    assert RunPhase.WRITING in [one.phase for one in ingestion]
    assert any(one.phase is RunPhase.WRITING and one.total and one.bytes_written for one in ingestion)
    groups = [one for one in compaction if one.unit is ProgressUnit.FILE_GROUPS]
    assert {(one.phase, one.total) for one in groups} == {(RunPhase.COMPACTING, PARTITIONS)}
    assert any(0 < (one.done or 0) < PARTITIONS for one in groups)
    done = [one.done or 0 for one in groups]
    assert done == sorted(done)
    assert groups[-1].line.startswith("Compacting: ")


def test_a_reader_follows_a_clustering(lake: Any, beside: Callable[[JobRequest], Any]) -> None:
    lake.table, lake.spec = {"partitionBy": ["part"]}, SMALL | NEW_FILES
    for number in range(2):
        lake.put(f"{number}.csv", by_partition(number), at=number)
        succeeded(lake.ingest(operation="Insert"))

    clustering = watched(lake, beside, lake.service_request(Service.CLUSTERING, run="cluster"), SERVICES_LEASE)

    files = [one for one in clustering if one.unit is ProgressUnit.FILES]
    assert {(one.phase, one.total) for one in files} == {(RunPhase.CLUSTERING, PARTITIONS)}
    assert any(0 < (one.done or 0) < PARTITIONS for one in files)
