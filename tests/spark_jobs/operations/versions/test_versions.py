"""An upgrade or downgrade of the table version: every row is there afterwards, and everything goes on."""

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    DOWNGRADE,
    RESTORE,
    UPGRADE,
    commits,
    done,
    operate,
    pending,
    rows,
)
from tests.spark_jobs.services.test_services import fill, succeeded
from tests.spark_jobs.tables.test_table_version import properties, versions
from tests.spark_jobs.trials import ALL, crossed

from hudi_jobs.contract import Location, Outcome, Service, TaskResult
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.timeline import Timeline
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline.reader import TimelineReader

pytestmark = [pytest.mark.spark]

ARCHIVED = {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}


def declare(lake: Any, kind: str, version: int, *, metadata: bool = False) -> None:
    lake.table, lake.metadata_table = {"type": kind}, metadata
    lake.spec = {"tableVersion": version, **ARCHIVED}
    if kind == "MergeOnRead":
        lake.spec["compaction"] = {"trigger": {"deltaCommits": 1}}


def change(lake: Any, before: int, after: int, **asked: Any) -> TaskResult:
    return operate(lake, None, UPGRADE if after > before else DOWNGRADE, version=after, **asked)


def savepoints(lake: Any) -> list[str]:
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return [each.instant for each in Timeline(lake.spark, table).savepoints()]


def read_by_the_operator(lake: Any) -> tuple[int, int, list[str]]:
    """The version, how many commits the operator counts, and what it has to say about the timeline."""
    timeline = TimelineReader(LocalFileSystem()).read(Location.parse(lake.base_path))
    counted = [one for one in timeline.instants if str(one.action) in {"commit", "deltacommit", "replacecommit"}]
    return timeline.properties.version, len(counted), [str(one) for one in timeline.problems]


@crossed(
    ("before, after", [(6, 9), (9, 6), (8, 9), (6, 8), (9, 8), (8, 6)] if ALL else [(6, 9)]),
    ("kind", ["MergeOnRead", "CopyOnWrite"] if ALL else ["MergeOnRead"]),
)
def test_every_row_is_there_afterwards_and_all_services_go_on(lake: Any, before: int, after: int, kind: str) -> None:
    declare(lake, kind, before, metadata=ALL or kind == "CopyOnWrite")
    fill(lake, 4)
    if kind == "MergeOnRead":
        succeeded(lake.serve(Service.COMPACTION))
        fill(lake, 1, first=4)
    lake.serve(Service.CLEANING)
    lake.serve(Service.ARCHIVAL)
    expected, known = rows(lake), set(commits(lake))
    lake.spec.pop("tableVersion")

    report = done(change(lake, before, after))

    assert (report.version_before, report.version_after) == (before, after)
    assert versions(lake) == [str(after)] * (2 if lake.metadata_table else 1)
    assert rows(lake) == expected
    assert rows(lake, metadata=True) == expected
    assert pending(lake) == []
    assert known <= set(commits(lake)), "no commit is lost"
    assert savepoints(lake) == [report.target] == [commits(lake)[-1]]
    version, counted, problems = read_by_the_operator(lake)
    assert (version, counted, problems) == (after, len(commits(lake)), [])
    again = change(lake, before, after)
    assert (again.outcome, again.operation) == (Outcome.SUCCEEDED, report), "it is done once"
    assert lake.ingest().outcome is Outcome.NOTHING_TO_DO, "the checkpoint is found"
    fill(lake, 1, first=6)
    newest = rows(lake)
    assert newest != expected
    for service in (Service.COMPACTION, Service.CLEANING, Service.ARCHIVAL):
        if service is not Service.COMPACTION or kind == "MergeOnRead":
            result = lake.serve(service)
            assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
            assert rows(lake) == newest
    assert properties(lake)["hoodie.table.version"] == str(after)
    done(operate(lake, report.target, RESTORE, uid="uid-of-restore"))
    assert rows(lake) == expected


@pytest.mark.parametrize("kind", ["MergeOnRead", "CopyOnWrite"] if ALL else ["MergeOnRead"])
def test_a_late_row_loses_in_every_version(lake: Any, kind: str) -> None:
    declare(lake, kind, 9)
    lake.table["orderingFields"] = ["ts"]
    lake.ingestion["files"] = {"schemaDdl": "id STRING, ts STRING, v STRING"}
    lake.put("1.csv", "id,ts,v\n1,50,first\n", at=1)
    succeeded(lake.ingest())
    lake.spec.pop("tableVersion")
    for number, (before, after) in enumerate([(9, 6), (6, 9)], start=2):
        done(change(lake, before, after, uid=f"uid-{number}"))
        lake.put(f"{number}.csv", f"id,ts,v\n1,1{number},late\n", at=number)
        succeeded(lake.ingest())
        assert rows(lake) == [("1", "50", "first")], (before, after)
        if kind == "MergeOnRead":
            lake.serve(Service.COMPACTION)
            assert rows(lake) == [("1", "50", "first")], (before, after)
