"""Plans that name files of another table: every run that meets one ends with a reason, and executes nothing."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pytest
from tests.spark_jobs.services.test_services import NEW_FILES, add, fill

from hudi_jobs.contract import FailureReason, Outcome, RunMode, Service, TaskResult
from hudi_jobs.spark.jvm import classes
from hudi_jobs.table_services import clustering
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Document = dict[str, Any]


@pytest.fixture
def victim(lake: Any) -> Path:
    """A file of another tenant's table beside this one."""
    path = Path(lake.folder, "hostile-b/victim/p=p1/rows.parquet")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not yours")
    return path


def timeline(lake: Any, folder: str = "table") -> Path:
    return Path(lake.folder, folder, ".hoodie/timeline")


def rewrite(path: Path, change: Callable[[Document], None]) -> None:
    """Change a plan on the store, as whoever has the store's account can."""
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    records: list[Any] = list(reader)
    change(records[0])
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    with path.open("wb") as stream:
        fastavro.writer(stream, reader.writer_schema, records)


def in_its_first_operation(document: Document, *, field: str, value: object) -> None:
    document["operations"][0][field] = value


def everything(lake: Any) -> dict[Path, bytes]:
    """All files outside of the source and of the operator's own folder."""
    left = ("in", ".hudi-operator", ".heartbeat", ".temp")
    files = (path for path in lake.folder.rglob("*") if path.is_file() and not set(left) & set(path.parts))
    return {path: path.read_bytes() for path in files}


def refused(lake: Any, result: TaskResult, before: dict[Path, bytes], victim: Path) -> None:
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.PATH_OUTSIDE_TABLE), result
    assert "names files outside the table" in result.message
    assert everything(lake) == before
    assert victim.read_bytes() == b"not yours"


def refused_by_all(lake: Any, victim: Path) -> None:
    """Every service, and an ingestion, ends before it has done anything."""
    before = everything(lake)
    for service in (Service.CLEANING, Service.ARCHIVAL, Service.CLUSTERING):
        refused(lake, lake.serve(service), before, victim)
    lake.put("late.csv", "id,v\n900,1\n", at=900)
    refused(lake, lake.ingest(), before, victim)


def test_a_compaction_of_files_of_another_table_is_not_executed(lake: Any, victim: Path) -> None:
    lake.table = {"type": "MergeOnRead"}
    fill(lake, 3)
    planned = lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)
    assert planned.outcome is Outcome.SUCCEEDED, planned
    hostile = {
        "partitionPath": "../hostile-b/victim/p=p1",
        "dataFilePath": f"../hostile-b/victim/p=p1/{victim.name}",
        "deltaFilePaths": [f"file:{victim}"],
        "bootstrapFilePath": str(victim),
    }
    (plan,) = timeline(lake).glob("*.compaction.requested")
    sound = plan.read_bytes()
    for field, value in hostile.items():
        plan.write_bytes(sound)
        rewrite(plan, partial(in_its_first_operation, field=field, value=value))
        before = everything(lake)
        refused(lake, lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=planned.instant), before, victim)


@pytest.mark.parametrize("field", ["partitionPath", "dataFilePath"])
def test_a_clustering_of_files_of_another_table_is_not_executed(lake: Any, victim: Path, field: str) -> None:
    add(lake, 2)
    planned = lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    assert planned.outcome is Outcome.SUCCEEDED, planned
    hostile = {"partitionPath": "../hostile-b/victim/p=p1", "dataFilePath": f"file:{victim}"}
    (plan,) = timeline(lake).glob("*.clustering.requested")
    rewrite(
        plan,
        lambda document: document["clusteringPlan"]["inputGroups"][0]["slices"][0].update({field: hostile[field]}),
    )
    before = everything(lake)
    refused(lake, lake.serve(Service.CLUSTERING, mode=RunMode.EXECUTE, instant=planned.instant), before, victim)
    refused_by_all(lake, victim)


def test_a_clean_of_files_of_another_table_is_not_executed(lake: Any, victim: Path) -> None:
    lake.spec = {"cleaning": {"retainCommits": 1}}
    fill(lake, 3)
    options = lake.hudi_options(Service.CLEANING)
    with write_client(lake.spark, lake.base_path, options) as client:
        assert client.plan_clean() is not None
    (plan,) = timeline(lake).glob("*.clean.requested")

    sound = plan.read_bytes()

    def a_partition(document: Document) -> None:
        document["partitionsToBeDeleted"] = ["../hostile-b/victim"]

    def a_name(document: Document) -> None:
        hostile = {"filePath": victim.name, "isBootstrapBaseFile": False}
        document["filePathsToBeDeletedPerPartition"]["../hostile-b/victim/p=p1"] = [hostile]

    def a_path(document: Document) -> None:
        document["filePathsToBeDeletedPerPartition"][""][0]["filePath"] = f"file:{victim}"

    for change in (a_partition, a_name, a_path):
        plan.write_bytes(sound)
        rewrite(plan, change)
        refused_by_all(lake, victim)


def hostile_record(lake: Any, model: str, document: Document, path: Path) -> None:
    """Write a plan by hand, in the schema that Hudi has for it."""
    schema = json.loads(str(getattr(classes(lake.spark).org.apache.hudi.avro.model, model).getClassSchema().toString()))
    with path.open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(copy.deepcopy(schema)), [document])


@pytest.mark.parametrize("of", ["paths", "log blocks"])
def test_a_rollback_of_files_of_another_table_is_not_executed(lake: Any, victim: Path, of: str) -> None:
    fill(lake, 1)
    (first,) = timeline(lake).glob("*_*.commit")
    instant, rollback = (f"{int(first.name[:17]) + later:017d}" for later in (1, 2))
    for name in (f"{instant}.commit.requested", f"{instant}.inflight"):
        (timeline(lake) / name).write_bytes(b"")
    request = {
        "partitionPath": "",
        "fileId": "f",
        "latestBaseInstant": instant,
        "filesToBeDeleted": [f"file:{victim}"] if of == "paths" else [],
        "logBlocksToBeDeleted": {f"file:{victim}": 1} if of == "log blocks" else {},
    }
    plan = {
        "instantToRollback": {"commitTime": instant, "action": "commit"},
        "RollbackRequests": [request],
        "version": 1,
    }
    hostile_record(lake, "HoodieRollbackPlan", plan, timeline(lake) / f"{rollback}.rollback.requested")
    refused_by_all(lake, victim)


def test_a_clean_that_lies_in_the_metadata_table_is_not_executed_by_any_writer(lake: Any, victim: Path) -> None:
    lake.metadata_table = True
    fill(lake, 1)
    path = timeline(lake, "table/.hoodie/metadata") / "20200101000000000.clean.requested"
    plan: dict[str, Any] = {
        "earliestInstantToRetain": None,
        "lastCompletedCommitTimestamp": "20200101000000000",
        "policy": "KEEP_LATEST_COMMITS",
        "filesToBeDeletedPerPartition": {},
        "version": 2,
        "filePathsToBeDeletedPerPartition": {"files": [{"filePath": f"file:{victim}", "isBootstrapBaseFile": False}]},
        "partitionsToBeDeleted": [],
        "extraMetadata": {},
    }
    hostile_record(lake, "HoodieCleanerPlan", plan, path)
    refused_by_all(lake, victim)


def test_what_hudi_plans_from_a_partition_that_leads_out_is_not_executed_and_is_taken_back(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is refused before; here that safeguard is down, as for a name that reaches Hudi in another way."""
    lake.table = {"partitionBy": ["part"]}
    lake.spec = NEW_FILES
    options = lake.request().tasks[0].hudi_options | {"hoodie.datasource.write.operation": "insert"}
    other = f"{lake.root}/hostile-b/victim"
    # Hudi takes files that are older than the table's timeline for committed.
    for base_path in (other, lake.base_path):
        for number in range(2):
            rows = lake.spark.createDataFrame([(str(number), "p1")], "id STRING, part STRING")
            rows.write.format("hudi").options(**options).mode("append").save(base_path)
    monkeypatch.setattr(clustering, "_require_partitions", lambda _context: None)
    before = everything(lake)
    names = {"strategy": "SelectedPartitions", "partitions": {"names": ["../hostile-b/victim/part=p1"]}}
    lake.spec = NEW_FILES | {"clustering": {"mode": "Async", "plan": names}}
    result = lake.serve(Service.CLUSTERING)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.PATH_OUTSIDE_TABLE), result
    assert not list(timeline(lake).glob("*.clustering.*"))
    after = everything(lake)
    assert {path: after[path] for path in before} == before
    assert all(path.is_relative_to(timeline(lake)) for path in after.keys() - before.keys())


def test_partitions_that_lead_out_of_the_table_are_not_planned(lake: Any, victim: Path) -> None:
    add(lake, 2)
    before = everything(lake)
    for option in ("partition.selected", "cluster.begin.partition", "cluster.end.partition"):
        options = {
            f"hoodie.clustering.plan.strategy.{option}": "../hostile-b/victim/p=p1",
            "hoodie.clustering.plan.partition.filter.mode": "SELECTED_PARTITIONS",
        }
        result = lake.serve(Service.CLUSTERING, options=options)
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INVALID_REQUEST), result
        assert "leads out of the table" in result.message
        assert everything(lake) == before
        assert victim.exists()


OUTSIDE = FailureReason.PATH_OUTSIDE_TABLE
LEADING_OUT = [
    ("table", "hoodie.timeline.history.path=../../../hostile-b/victim", OUTSIDE),
    ("table", "hoodie.archivelog.folder=/hostile-b/victim", OUTSIDE),
    ("table", "hoodie.bootstrap.base.path=s3a\\://lake/hostile-b/victim", FailureReason.TABLE_MISMATCH),
    ("table/.hoodie/metadata", "hoodie.timeline.history.path=file\\:/hostile-b", OUTSIDE),
]


def test_a_table_whose_properties_lead_out_of_it_is_left_alone(lake: Any, victim: Path) -> None:
    lake.metadata_table = True
    fill(lake, 1)
    for table, entry, reason in LEADING_OUT:
        properties = lake.folder / table / ".hoodie/hoodie.properties"
        sound, key = properties.read_text(), entry.partition("=")[0]
        lines = [line for line in sound.splitlines() if not line.startswith(key)]
        properties.write_text("\n".join([*lines, entry, ""]))
        properties.with_name(f".{properties.name}.crc").unlink(missing_ok=True)
        for service in (Service.ARCHIVAL, Service.CLEANING):
            result = lake.serve(service)
            assert (result.outcome, result.reason) == (Outcome.FAILED, reason), (entry, result)
        assert victim.read_bytes() == b"not yours"
        properties.write_text(sound)


@pytest.mark.parametrize(("mode", "refuses"), [("Inline", True), ("Async", False)])
def test_no_service_runs_inside_a_writer_where_a_commit_has_left_the_table(lake: Any, mode: str, refuses: bool) -> None:
    """A partition like this was written before its value was refused, or by another tool."""
    lake.table = {"partitionBy": ["part"]}
    lake.spec = {"cleaning": {"mode": mode}}
    options = lake.request().tasks[0].hudi_options | {"hoodie.clean.automatic": "false"}
    rows = lake.spark.createDataFrame([("1", "/../../outside")], "id STRING, part STRING")
    rows.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    assert list((lake.folder / "outside").glob("*.parquet")), "Hudi follows the value out of the table"
    lake.put("new.csv", "id,part\n2,p1\n")
    result = lake.ingest()
    expected = (Outcome.FAILED, FailureReason.PATH_OUTSIDE_TABLE) if refuses else (Outcome.SUCCEEDED, None)
    assert (result.outcome, result.reason) == expected, result
