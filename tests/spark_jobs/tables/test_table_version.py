"""A table is created with the version that its resource pins, keeps it in all that is done to it, and loses no row."""

from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, done, operate
from tests.spark_jobs.trials import ALL, crossed

from hudi_jobs.contract import Outcome, RunMode, Service

pytestmark = pytest.mark.spark

CLUSTERING = {"strategy": "SizeBased", "plan": {"sortColumns": ["id"], "smallFileLimit": "100Mi"}}


def properties(lake: Any, folder: str = "table/.hoodie") -> dict[str, str]:
    lines = (lake.folder / folder / "hoodie.properties").read_text().splitlines()
    return dict(line.partition("=")[::2] for line in lines if "=" in line)


def versions(lake: Any) -> list[str]:
    """The versions of the table and of its metadata table."""
    metadata = Path(lake.folder, "table/.hoodie/metadata").exists()
    folders = ["table/.hoodie", *(["table/.hoodie/metadata/.hoodie"] if metadata else [])]
    return [properties(lake, folder)["hoodie.table.version"] for folder in folders]


def declare(lake: Any, version: int, table_type: str, index: str, *, ordering: bool, partitions: bool) -> None:
    lake.table = {
        "type": table_type,
        "version": version,
        "orderingFields": ["ts"] if ordering else [],
        "partitionBy": ["part"] if partitions else [],
    }
    lake.ingestion = {"files": {"schemaDdl": "id STRING, part STRING, ts STRING, v STRING"}}
    lake.spec = {
        "tableVersion": version,
        "index": {"type": index},
        "compaction": {"trigger": {"deltaCommits": 1}},
        "clustering": {"mode": "Async", "trigger": {"commits": 1}},
        "cleaning": {"retainCommits": 1},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
    if table_type == "CopyOnWrite":
        lake.spec.pop("compaction")


@crossed(
    ("version", [6, 8]),
    ("table_type", ["CopyOnWrite", "MergeOnRead"]),
    ("index", ["Bloom", "Bucket", "GlobalRecordLevel", "RecordLevel", "GlobalSimple"] if ALL else ["Bloom", "Bucket"]),
    ("ordering", [True, False]),
    ("partitions", [True, False]),
)
def test_all_that_is_done_to_a_table_leaves_its_version_and_its_rows(
    lake: Any, version: int, table_type: str, index: str, *, ordering: bool, partitions: bool
) -> None:
    declare(lake, version, table_type, index, ordering=ordering, partitions=partitions)
    lake.metadata_table = ALL or "RecordLevel" in index
    lake.put("1.csv", "id,part,ts,v\n" + "".join(f"{n},p{n % 2},10,first\n" for n in range(6)))
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    wanted = {str(n): "first" for n in range(6)}
    assert versions(lake) == [str(version)] * len(versions(lake))
    rounds = [("0,p0,20,second\n1,p1,05,late\n", 60), ("2,p0,30,third\n7,p1,30,third\n3,p1,01,late\n", 120)]
    for number, (text, at) in enumerate(rounds, start=2):
        lake.put(f"{number}.csv", f"id,part,ts,v\n{text}", at=at)
        assert lake.ingest().outcome is Outcome.SUCCEEDED
        for line in text.split():
            key, _, ts, value = line.split(",")
            wanted |= {key: value} if int(ts) >= 10 or not ordering else {}
        if not ALL and number <= len(rounds):
            continue
        for service in (Service.COMPACTION, Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL):
            if service is Service.COMPACTION and table_type == "CopyOnWrite":
                continue
            if service is Service.CLUSTERING and index == "Bucket":
                continue
            result = lake.serve(service, mode=RunMode.SCHEDULE_AND_EXECUTE)
            assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
            assert dict(lake.rows("id", "v")) == wanted, (service, number)
    target = commits(lake)[-1]
    lake.put("9.csv", "id,part,ts,v\n5,p1,90,gone\n", at=600)
    assert lake.ingest().outcome is Outcome.SUCCEEDED
    done(operate(lake, target))
    assert dict(lake.rows("id", "v")) == wanted
    assert versions(lake) == [str(version)] * len(versions(lake))
    assert properties(lake)["hoodie.timeline.layout.version"] == ("1" if version == 6 else "2")


@pytest.mark.parametrize("version", [6, 8] if ALL else [6])
def test_a_continuous_driver_makes_a_table_with_the_version_and_goes_on_with_it(lake: Any, version: int) -> None:
    declare(lake, version, "MergeOnRead", "Bloom", ordering=False, partitions=False)
    for number in range(2):
        lake.put(f"{number}.csv", f"id,part,ts,v\n1,p1,10,{number}\n", at=number)
        result = lake.ingest(continuous={"min_interval_seconds": 0.1, "recycle_after_seconds": 1})
        assert (result.outcome, result.batches) == (Outcome.SUCCEEDED, 1), result
    assert versions(lake) == [str(version)] * len(versions(lake))
    assert lake.rows("id", "v") == [("1", "1")]
