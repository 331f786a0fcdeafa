"""Operations on a table whose instants are in the local time of the tool that writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, done, files, mend, operate, overwrite, refusal, rows
from tests.spark_jobs.operations.erase.erasing import erase, erased
from tests.spark_jobs.services.test_services import succeeded

from hudi_jobs import clock
from hudi_jobs.contract import FailureReason, OperationPhase, RepairStep, Service, TaskResult
from hudi_jobs.contract.table.zone import stamped_offset
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TOKYO = "Asia/Tokyo"
LOCAL: dict[str, Any] = {"hoodie.table.timeline.timezone": "LOCAL"}
NEWEST_VERSION = {
    "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.clean.fileversions.retained": "1",
    "hoodie.clean.trigger.max.commits": "0",
}
HOUR = 3_600
LONG_AGO = 1_700_000_000


@pytest.fixture(autouse=True)
def later_tests_know_of_no_instant_that_is_ahead(spark: Any) -> Iterator[None]:
    """Let the JVM forget what it has made nine hours ahead: Hudi would wait until the clock is past it."""
    yield
    with clock._generating_in(spark, "UTC", "UTC"):
        pass


def unchanged(lake: Any) -> dict[str, tuple[int, int]]:
    return {path: seen for path, seen in files(lake).items() if ".hudi-operator" not in path}


def recorded(lake: Any) -> list[Any]:
    file = lake.folder / "table/.hudi-operator/operations.json"
    return json.loads(file.read_text())["records"] if file.exists() else []


def undecided(result: TaskResult) -> None:
    """It was refused for its zone before anything was recorded."""
    assert result.reason is FailureReason.TIMELINE_ZONE_UNKNOWN, result
    assert result.operation is None or result.operation.phase is OperationPhase.CHECKING


def young_table(lake: Any, **options: Any) -> None:
    """Make a table whose instants do not lie so far apart that their files alone could show the zone."""
    lake.table = {"type": "MergeOnRead"}
    with clock._generating_in(lake.spark, "LOCAL", TOKYO):
        for value in range(2):
            overwrite(lake, value, version=6, metadata=lake.metadata_table, **{**LOCAL, **options})


def require_shown(lake: Any) -> None:
    properties = (lake.folder / "table/.hoodie/hoodie.properties").read_text()
    assert stamped_offset(properties) == timedelta(hours=9)


def test_an_erasure_leaves_the_zone_shown_by_which_it_reads_the_rows_that_stay(lake: Any) -> None:
    lake.metadata_table = False
    young_table(lake)
    erased(erase(lake, ids=("3",)))
    require_shown(lake)
    assert rows(lake) == [(str(number), 1) for number in range(10) if number != 3]


def test_a_repair_of_an_index_leaves_the_zone_shown(lake: Any) -> None:
    lake.metadata_table = True
    young_table(lake, **{"hoodie.metadata.global.record.level.index.enable": "true"})
    done(mend(lake, RepairStep.REBUILD_RECORD_INDEX))
    require_shown(lake)


def test_properties_that_only_their_backup_holds_show_the_zone_to_their_repair(lake: Any) -> None:
    lake.metadata_table = False
    young_table(lake)
    backup = lake.folder / "table/.hoodie/hoodie.properties.backup"
    (lake.folder / "table/.hoodie/hoodie.properties").rename(backup)
    (lake.folder / "table/.hoodie/.hoodie.properties.crc").unlink(missing_ok=True)
    os.utime(backup, (LONG_AGO, LONG_AGO))
    report = done(mend(lake, RepairStep.RESTORE_PROPERTIES))
    assert report.rows_expected == 10
    require_shown(lake)


def test_a_savepoint_from_after_a_clean_keeps_nothing_that_is_gone_and_a_zone_that_nothing_shows_is_refused(
    lake: Any,
) -> None:
    """In layout 1 Hudi tells when a savepoint was complete in the zone of the JVM, and names a clean in the writer's.

    Nine hours ahead, the clean looks later than a savepoint that was made after it.
    """
    lake.metadata_table = False
    with clock._generating_in(lake.spark, "LOCAL", TOKYO):
        for value in range(3):
            overwrite(lake, value, version=6, **LOCAL)
    first = commits(lake)[0]
    succeeded(lake.serve(Service.CLEANING, options=NEWEST_VERSION))
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(first, user="somebody", comment="mine")
    before, seen = rows(lake), unchanged(lake)
    assert f"has removed or may remove files of commit {first}" in refusal(operate(lake, first))

    for number, path in enumerate(
        sorted((lake.folder / "table/.hoodie").glob("2*"))
    ):  # as a tool copies it that keeps no times
        changed = path.stat().st_mtime + number * HOUR
        os.utime(path, (changed, changed))
    undecided(operate(lake, commits(lake)[1]))
    undecided(erase(lake, ids=("3",)))
    assert recorded(lake) == []
    assert rows(lake) == before
    assert {path: size for path, (size, _) in unchanged(lake).items()} == {
        path: size for path, (size, _) in seen.items()
    }
