"""What the driver reads of tables of layout 1 whose instants are in local time, hours ahead of its JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import UPGRADE, done, mend, operate, overwrite, refusal, rows
from tests.spark_jobs.services.test_services import succeeded
from tests.spark_jobs.tables.test_log_gate import IN_MEMORY, refused, written

from hudi_jobs import clock
from hudi_jobs.contract import TIMELINE_ZONE_OPTION, RepairStep, Service

pytestmark = pytest.mark.spark

TOKYO, TWELVE_HOURS_BEFORE = "Asia/Tokyo", "America/Sao_Paulo"
HOURS = 12 * 3_600
LOCAL: dict[str, Any] = {"hoodie.table.timeline.timezone": "LOCAL"}


@pytest.fixture(autouse=True)
def later_tests_know_of_no_instant_that_is_ahead(spark: Any) -> Iterator[None]:
    yield
    with clock._generating_in(spark, "UTC", "UTC"):
        pass


def write(lake: Any, value: int, *, zone: str = TOKYO, **options: Any) -> None:
    """Write every row again, as a tool does whose JVM is in a zone."""
    with clock._generating_in(lake.spark, "LOCAL", zone):
        overwrite(lake, value, version=6, metadata=lake.metadata_table, **{**LOCAL, **options})


def in_tokyo(lake: Any, *, metadata: bool = False) -> list[tuple[Any, ...]]:
    """The rows as that tool reads them."""
    with clock._generating_in(lake.spark, "LOCAL", TOKYO):
        return rows(lake, metadata=metadata)


def every(value: int) -> list[tuple[str, int]]:
    return [(str(number), value) for number in range(10)]


def twelve_hours_older(lake: Any) -> None:
    """Let Tokyo have written so long ago what was named twelve hours behind it."""
    for path in Path(lake.folder, "table/.hoodie").rglob("2*"):
        os.utime(path, (path.stat().st_mtime - HOURS,) * 2)


def two_slices(lake: Any, *, copies: int = 1, **options: Any) -> None:
    """Make a table with file slices that are twelve hours apart, and rows in log files of the newer ones alone."""
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}}
    for _ in range(copies):
        write(lake, 0, zone=TWELVE_HOURS_BEFORE, **{"hoodie.datasource.write.operation": "bulk_insert"}, **options)
    twelve_hours_older(lake)
    write(lake, 1, **options)
    succeeded(lake.serve(Service.COMPACTION))
    write(lake, 2, **options)
    assert in_tokyo(lake, metadata=lake.metadata_table) == sorted(every(2) * copies)
    assert rows(lake) == sorted(every(1) * copies), "a JVM nine hours behind reads no log file"


def test_a_repair_of_keys_keeps_what_is_in_log_files_alone(lake: Any) -> None:
    two_slices(lake, copies=2)
    done(mend(lake, RepairStep.DEDUPLICATE))
    assert in_tokyo(lake) == every(2)


@pytest.mark.slow
def test_an_upgrade_finds_the_rows_that_it_has_merged(lake: Any) -> None:
    two_slices(lake)
    assert "declare that zone" in refusal(operate(lake, None, UPGRADE, version=8))
    lake.options = {TIMELINE_ZONE_OPTION: TOKYO}
    done(operate(lake, None, UPGRADE, version=8))
    assert rows(lake) == every(2)


def test_rows_in_log_files_alone_are_not_written_again(lake: Any) -> None:
    def insert(zone: str, *ids: str) -> None:
        with clock._generating_in(lake.spark, "LOCAL", zone):
            written(lake, *ids, version=6, **IN_MEMORY, **LOCAL)

    insert(TWELVE_HOURS_BEFORE, "1")
    twelve_hours_older(lake)
    insert(TOKYO, "2")
    succeeded(lake.serve(Service.COMPACTION))
    insert(TOKYO, "3")
    lake.put("a.csv", "id,v\n3,new\n")
    refused(lake)
