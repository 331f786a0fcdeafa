"""A copied table of layout 1, whose files are all younger than its instants: its services run, and no row is lost."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.planning.world import observe, plan_for, table

from hudi_jobs.contract import Location, Outcome, Service
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.timeline import CountRange
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SERVICES = {
    "compaction": {"trigger": {"deltaCommits": 3}},
    "cleaning": {"retainCommits": 1},
    "archival": {"minCommits": 2, "maxCommits": 3},
}


def write(lake: Any, value: int) -> None:
    """Write every row again, as another tool does that has no metadata table."""
    options = {
        **lake.hudi_options(Service.INGESTION),
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.operation": "upsert",
    }
    rows = lake.spark.range(100).selectExpr("CAST(id AS STRING) AS id", f"{value} AS v")
    rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)


def copied(lake: Any, *, before: int, after: int) -> None:
    """Make a table with so many delta commits before and after a compaction, and copy it so that its times are new."""
    lake.table, lake.spec = {"type": "MergeOnRead"}, {**SERVICES, "compaction": {"trigger": {"deltaCommits": 1}}}
    for value in range(before):
        write(lake, value)
    compacted = lake.serve(Service.COMPACTION)
    assert compacted.outcome is Outcome.SUCCEEDED, compacted
    for value in range(before, before + after):
        write(lake, value)
    lake.spec = SERVICES
    # Within ten seconds, files may still have been written when their names say.
    time.sleep(11)
    original, copy = Path(lake.base_path), lake.folder / "copy"
    shutil.copytree(original, copy, copy_function=shutil.copyfile)
    shutil.rmtree(original)
    copy.rename(original)


def evaluated(lake: Any, service: str = "compaction") -> ServiceStatus:
    """What the operator decides about one service of the table as it is."""
    seen = TimelineReader(LocalFileSystem()).read(Location.parse(lake.base_path))
    others = {name: {"mode": "Disabled"} for name in SERVICES if name != service}
    resource = table(**{**lake.spec, **others, "ingestion": None, "type": "MergeOnRead"})
    found: ServiceStatus = getattr(
        plan_for(observe(resource, snapshot=TimelineSnapshot(timeline=seen))).services, service
    )
    return found


def exact(lake: Any, value: int) -> None:
    lake.spark.catalog.clearCache()
    frame = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    assert sorted(tuple(row) for row in frame.select("id", "v").collect()) == sorted(
        (str(key), value) for key in range(100)
    )


def test_services_of_a_copied_table_go_on(lake: Any) -> None:
    copied(lake, before=3, after=4)
    found = evaluated(lake)
    assert (found.due, found.reason) == (True, "ThresholdReached")
    assert found.counted_range == CountRange(at_least=4, at_most=7)
    assert evaluated(lake, "archival").due

    archived = lake.serve(Service.ARCHIVAL)
    assert archived.outcome is Outcome.SUCCEEDED, archived
    exact(lake, 6)
    compacted = lake.serve(Service.COMPACTION)
    assert compacted.outcome is Outcome.SUCCEEDED, compacted
    after = evaluated(lake)
    assert (after.counted, after.counted_range) == (0, None), "the compaction ends the doubt"
    exact(lake, 6)
    write(lake, 7)
    assert evaluated(lake).counted == 1
    for service in (Service.CLEANING, Service.ARCHIVAL):
        assert lake.serve(service).outcome is not Outcome.FAILED
    exact(lake, 7)


def test_a_run_for_a_count_that_may_be_high_enough_finds_what_hudi_counts(lake: Any) -> None:
    copied(lake, before=3, after=1)
    found = evaluated(lake)
    assert (found.due, found.reason) == (True, "ThresholdMayBeReached")
    assert found.counted_range == CountRange(at_least=1, at_most=4)

    for path in Path(lake.base_path, ".hoodie").iterdir():
        os.utime(path, (0, 0))
    assert evaluated(lake).counted_range == CountRange(at_least=1, at_most=4)
    result = lake.serve(Service.COMPACTION)
    assert result.outcome is Outcome.NOTHING_TO_DO, result
    exact(lake, 3)
