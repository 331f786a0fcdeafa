"""Instants never go backwards: tables of other zones and skewed clocks, with Hudi's own writes."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs import clock
from hudi_jobs.contract import TIMELINE_ZONE_OPTION, FailureReason, Outcome, RunMode, Service

pytestmark = pytest.mark.spark

TYPES = ["CopyOnWrite", "MergeOnRead"]
COLUMNS = "id INT, at TIMESTAMP, day DATE, v INT"
TYPED = {"files": {"schemaDdl": COLUMNS}}
MIDNIGHT = datetime(2026, 3, 1, 0, 30)  # noqa: DTZ001 - Spark gives UTC without saying so


@pytest.fixture
def zone(spark: Any) -> Iterator[Callable[[Any], None]]:
    """Set the default zone of the JVM, as the environment of another tool does; afterwards it is what it was."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()

    def use(zone: str | timedelta) -> None:
        if isinstance(zone, str):
            zones.setDefault(zones.getTimeZone(zone))
        else:
            name = f"GMT+{str(zone).zfill(8)}"
            zones.setDefault(spark._jvm.java.util.SimpleTimeZone(int(zone.total_seconds() * 1000), name))

    yield use
    zones.setDefault(before)


class OtherTool:
    """A plain Spark writer that knows nothing of the driver and writes instants in its JVM's local time."""

    def __init__(self, lake: Any, zone: Callable[[Any], None]) -> None:
        self._lake = lake
        self._zone = zone

    def write(self, zone: str | timedelta, ids: range, value: int, *, table_type: str) -> None:
        """Upsert rows in a process whose zone is this one, or UTC and a little more."""
        lake = self._lake
        jvm = lake.spark._jvm
        self.declare("UTC", "LOCAL")
        self._zone(zone)
        package = jvm.org.apache.hudi.common.table.timeline
        package.HoodieInstantTimeGenerator.setCommitTimeZone(
            jvm.org.apache.hudi.common.model.HoodieTimelineTimeZone.LOCAL
        )
        clock._forget_other_zones(lake.spark)  # another process would not know them
        lake.table = {"type": table_type, "partitionBy": ["day"]}
        options = {k: v for k, v in lake.hudi_options(Service.INGESTION).items() if "timezone" not in k}
        options |= {"hoodie.metadata.enable": "true", "hoodie.datasource.write.operation": "upsert"}
        times = ("TIMESTAMP '2026-03-01 00:30:00' AS at", "DATE '2026-03-01' AS day")
        rows = lake.spark.range(ids.start, ids.stop).selectExpr("CAST(id AS INT) AS id", *times, f"{value} AS v")
        rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)
        self._zone("UTC")

    def declare(self, before: str, after: str) -> None:
        """Change what a table that exists says of its zone."""
        properties = Path(self._lake.folder) / "table/.hoodie/hoodie.properties"
        if properties.exists():
            key = "hoodie.table.timeline.timezone="
            properties.write_text(properties.read_text().replace(f"{key}{before}", f"{key}{after}"))
            (properties.parent / ".hoodie.properties.crc").unlink(missing_ok=True)


@pytest.fixture
def other_tool(lake: Any, zone: Callable[[Any], None]) -> OtherTool:
    return OtherTool(lake, zone)


def csv(*rows: tuple[int, int]) -> str:
    return "id,at,day,v\n" + "".join(f"{number},2026-03-01T00:30:00,2026-03-01,{value}\n" for number, value in rows)


def require_rows(lake: Any, values: dict[int, int]) -> None:
    """Compare all rows, times included, with and without the metadata table."""
    for metadata in ("true", "false"):
        reader = lake.spark.newSession().read.format("hudi").option("hoodie.metadata.enable", metadata)
        found = [tuple(row) for row in reader.load(lake.base_path).select("id", "at", "day", "v").collect()]
        assert sorted(found) == [
            (number, MIDNIGHT, date(2026, 3, 1), value) for number, value in sorted(values.items())
        ]


def require_order(lake: Any) -> None:
    """Every instant was requested after the one before it had completed, as one writer's are."""
    timeline = lake.folder / "table/.hoodie/timeline"
    pairs = sorted(path.name.partition(".")[0].split("_") for path in timeline.glob("*_*"))
    flat = [instant for pair in pairs for instant in pair]
    assert flat == sorted(flat), flat


@pytest.mark.parametrize("table_type", TYPES if ALL else TYPES[1:])
@pytest.mark.parametrize("name", sampled("Asia/Tokyo", "America/New_York", "Asia/Kathmandu"))
def test_updates_of_a_table_in_local_time_are_seen(
    lake: Any, other_tool: OtherTool, table_type: str, name: str
) -> None:
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "cleaning": {"retainCommits": 1}}
    lake.metadata_table = True
    other_tool.write(name, range(4), 1, table_type=table_type)
    lake.put("a.csv", csv((1, 2), (9, 2)))
    result = lake.ingest(**TYPED)
    assert result.outcome is Outcome.SUCCEEDED, result
    require_rows(lake, {0: 1, 1: 2, 2: 1, 3: 1, 9: 2})
    for service in (Service.COMPACTION, Service.CLEANING) if table_type == "MergeOnRead" else (Service.CLEANING,):
        served = lake.serve(service)
        assert served.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, served
        require_rows(lake, {0: 1, 1: 2, 2: 1, 3: 1, 9: 2})
    other_tool.write(name, range(3, 5), 3, table_type=table_type)
    lake.put("b.csv", csv((2, 4)), at=60)
    assert lake.ingest(**TYPED).outcome is Outcome.SUCCEEDED
    require_rows(lake, {0: 1, 1: 2, 2: 4, 3: 3, 4: 3, 9: 2})
    require_order(lake)


OLD_LAYOUT = {"hoodie.write.table.version": "6"}
"""A table of layout 1, where the time of a file tells when an instant completed."""


def test_a_clustering_of_a_table_in_local_time_is_planned_again_after_a_commit_beside_its_plan(
    lake: Any, other_tool: OtherTool
) -> None:
    lake.options = OLD_LAYOUT
    lake.spec = {"clustering": {"trigger": {"commits": 1}}, "fileSizing": {"smallFileLimit": "0"}}
    for first in (0, 2):
        other_tool.write("Asia/Tokyo", range(first, first + 2), 1, table_type="CopyOnWrite")
    planned = lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    assert planned.outcome is Outcome.SUCCEEDED, planned
    completed = max((lake.folder / "table/.hoodie").glob("*.commit"))
    assert completed.name < planned.instant
    os.utime(completed)

    done = lake.serve(Service.CLUSTERING, mode=RunMode.EXECUTE, instant=planned.instant)

    assert done.outcome is Outcome.SUCCEEDED, done
    assert f"{planned.instant} was rolled back" in done.message
    assert lake.rows("id", "v") == [(number, 1) for number in range(4)]


def test_a_key_of_a_table_in_local_time_that_comes_back_beside_a_compaction_is_one_row(
    lake: Any, other_tool: OtherTool
) -> None:
    lake.options = OLD_LAYOUT
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "index": {"type": "Bloom"}}
    other_tool.write("Asia/Tokyo", range(4), 1, table_type="MergeOnRead")
    lake.put("gone.csv", csv((1, 1)))
    assert lake.ingest(operation="Delete", **TYPED).outcome is Outcome.SUCCEEDED
    planned = lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)
    lake.put("back.csv", csv((1, 2)), at=60)
    assert lake.ingest(**TYPED).outcome is Outcome.SUCCEEDED
    done = lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=planned.instant)
    assert done.outcome is Outcome.SUCCEEDED, done
    lake.put("again.csv", csv((1, 3)), at=120)
    assert lake.ingest(**TYPED).outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "v") == [(0, 1), (1, 3), (2, 1), (3, 1)]


def test_a_copied_table_in_local_time_is_refused_until_its_zone_is_declared(lake: Any, other_tool: OtherTool) -> None:
    other_tool.write("Asia/Tokyo", range(4), 1, table_type="MergeOnRead")
    for path in (lake.folder / "table/.hoodie/timeline").glob("*.*"):
        os.utime(path, (time.time() + 4000, time.time() + 4000))
    lake.put("a.csv", csv((1, 2)))
    before = lake.instants()

    refused = lake.ingest(**TYPED)

    assert (refused.outcome, refused.reason) == (Outcome.FAILED, FailureReason.TIMELINE_ZONE_UNKNOWN), refused
    assert lake.instants() == before
    lake.options = {TIMELINE_ZONE_OPTION: "Asia/Tokyo"}
    assert lake.ingest(**TYPED).outcome is Outcome.SUCCEEDED
    require_rows(lake, {0: 1, 1: 2, 2: 1, 3: 1})


class Skewed(OtherTool):
    """A writer of a UTC table on a node whose clock is ahead."""

    def write_ahead(self, by: timedelta, ids: range, value: int, *, table_type: str) -> str:
        """Upsert rows, and return the newest time that the timeline then has."""
        self.write(by, ids, value, table_type=table_type)
        self.declare("LOCAL", "UTC")
        newest = clock._Table(self._lake.spark, self._lake.base_path).newest()
        assert newest is not None
        return newest


@pytest.fixture
def skewed(lake: Any, zone: Callable[[Any], None]) -> Skewed:
    return Skewed(lake, zone)


def data_files(lake: Any) -> list[str]:
    """Everything in the table but what the operator keeps there for itself."""
    return sorted(str(path) for path in (lake.folder / "table").rglob("*") if ".hudi-operator" not in str(path))


@pytest.mark.parametrize("table_type", TYPES if ALL else TYPES[1:])
def test_a_clock_that_is_far_behind_writes_nothing(lake: Any, skewed: Skewed, table_type: str) -> None:
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "cleaning": {"retainCommits": 1}}
    for value in range(1, 4):
        newest = skewed.write_ahead(timedelta(minutes=10), range(4), value, table_type=table_type)
    lake.put("a.csv", csv((1, 9)))
    before = data_files(lake)

    refused = [lake.ingest(**TYPED)]
    services = [Service.CLEANING, Service.CLUSTERING, *([Service.COMPACTION] if table_type == "MergeOnRead" else [])]
    refused += [lake.serve(service) for service in services]

    assert [result.reason for result in refused] == [FailureReason.CLOCK_BEHIND] * len(refused), refused
    assert newest in refused[0].message
    assert data_files(lake) == before
    require_rows(lake, dict.fromkeys(range(4), 3))


@pytest.mark.parametrize("table_type", TYPES if ALL else TYPES[:1])
def test_a_clock_that_is_little_behind_waits(
    lake: Any, skewed: Skewed, table_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "LONGEST_WAIT", timedelta(minutes=3))
    newest = skewed.write_ahead(timedelta(seconds=20), range(4), 1, table_type=table_type)
    lake.put("a.csv", csv((1, 9)))
    result = lake.ingest(**TYPED)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert result.instant > newest
    require_rows(lake, {0: 1, 1: 9, 2: 1, 3: 1})


def test_a_name_that_is_no_time_and_later_than_all_is_refused(lake: Any) -> None:
    lake.put("a.csv", csv((1, 1)))
    assert lake.ingest(**TYPED).outcome is Outcome.SUCCEEDED
    (lake.folder / "table/.hoodie/timeline/99999999999999999.clean.requested").touch()
    lake.put("b.csv", csv((1, 2)), at=60)
    before = data_files(lake)
    refused = lake.ingest(**TYPED)
    assert refused.reason is FailureReason.CLOCK_BEHIND, refused
    assert "99999999999999999" in refused.message
    assert data_files(lake) == before
