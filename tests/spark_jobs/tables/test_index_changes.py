"""A table is never written to with an index that does not find the keys that are there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location, Outcome, Service, TaskResult
from hudi_operator.adoption.draft import draft_of
from hudi_operator.adoption.evidence import read_evidence
from hudi_operator.storage.local import LocalFileSystem

pytestmark = pytest.mark.spark

KINDS: dict[str, dict[str, Any]] = {
    **{kind: {"type": kind} for kind in ("Bloom", "Simple", "GlobalBloom", "GlobalSimple")},
    **{kind: {"type": kind} for kind in ("RecordLevel", "GlobalRecordLevel")},
    "Bucket/2": {"type": "Bucket", "buckets": 2},
    "Bucket/3": {"type": "Bucket", "buckets": 3},
}
SAFE = {frozenset({"Bloom", "Simple"}), frozenset({"GlobalBloom", "GlobalSimple"})}
PAIRS = [(found, declared) for found in KINDS for declared in KINDS if found != declared or ALL]
BY_DEFAULT = [
    ("Bucket/2", "Bucket/3"),
    ("Bucket/2", "Bloom"),
    ("Bloom", "Bucket/2"),
    ("Bloom", "Simple"),
    ("GlobalSimple", "GlobalBloom"),
    ("GlobalSimple", "Simple"),
]


class Table:
    """A partitioned table, and what its rows must be: the newest version of each key."""

    def __init__(self, lake: Any, kind: str) -> None:
        self.lake = lake
        lake.table = {
            "type": kind,
            "recordKey": ["id"],
            "partitionBy": ["part"],
            "orderingFields": ["v"],
        }
        self.expected: dict[str, int] = {}
        self._files = 0

    def write(self, index: str, keys: range, version: int) -> TaskResult:
        self.lake.spec = {"index": KINDS[index]}
        lines = (json.dumps({"id": f"k{key}", "part": f"p{key % 2}", "v": version}) for key in keys)
        self._files += 1
        self.lake.put(f"{self._files}.json", "\n".join(lines), at=self._files)
        result: TaskResult = self.lake.ingest(files={"format": "json", "options": {}})
        if result.outcome is Outcome.SUCCEEDED:
            self.expected |= {f"k{key}": version for key in keys}
        return result

    def is_exact(self) -> bool:
        return Counter(self.lake.rows("id", "v")) == Counter(self.expected.items())


@pytest.mark.parametrize(("found", "declared"), PAIRS if ALL else BY_DEFAULT)
@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"] if ALL else ["CopyOnWrite"])
def test_an_index_follows_another_only_where_it_finds_every_key(
    lake: Any, kind: str, found: str, declared: str
) -> None:
    table = Table(lake, kind)
    assert table.write(found, range(20), 1).outcome is Outcome.SUCCEEDED
    result = table.write(declared, range(10, 24), 2)
    if found == declared or frozenset({found, declared}) in SAFE:
        assert result.outcome is Outcome.SUCCEEDED
        assert table.is_exact()
        assert table.write(found, range(26), 3).outcome is Outcome.SUCCEEDED
    else:
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
        assert f"written with the index {found}, but {declared} is declared" in result.message
    assert table.is_exact()


def test_a_table_whose_commits_carry_no_note_is_known_by_its_files(lake: Any) -> None:
    table = Table(lake, "CopyOnWrite")
    lake.spec = {"index": KINDS["Bucket/3"]}
    write_as_another_tool(lake, lake.hudi_options(Service.INGESTION))
    table.expected = {f"k{key}": 1 for key in range(40)}

    for wrong in ("Bucket/2", "Bloom"):
        result = table.write(wrong, range(10), 2)
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
        assert "Bucket with 3 buckets or more" in result.message
    assert table.is_exact()
    assert table.write("Bucket/3", range(10), 2).outcome is Outcome.SUCCEEDED
    assert table.is_exact()


def by_consistent_hashing(lake: Any, options: dict[str, str]) -> None:
    consistent = "strategy.SparkConsistentBucketClustering"
    hashed = {
        "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
        "hoodie.clustering.plan.strategy.class": f"org.apache.hudi.client.clustering.plan.{consistent}PlanStrategy",
        "hoodie.clustering.execution.strategy.class": (
            f"org.apache.hudi.client.clustering.run.{consistent}ExecutionStrategy"
        ),
    }
    write_as_another_tool(lake, {**options, **hashed})


def by_partition(lake: Any, options: dict[str, str]) -> None:
    write_as_another_tool(lake, options)
    lake.spark.sql(f"CREATE TABLE by_partition USING hudi LOCATION '{lake.base_path}'")
    lake.spark.sql(
        "CALL partition_bucket_index_manager(table => 'by_partition', overwrite => '.*p1,5', rule => 'regex', "
        "bucket_number => 2, dry_run => false)"
    ).collect()
    lake.spark.sql("DROP TABLE by_partition")


def files(lake: Any) -> list[Path]:
    """Everything of the table but what is the operator's own, such as leases."""
    return sorted(path for path in (lake.folder / "table").rglob("*") if OPERATOR_FOLDER not in path.parts)


def write_as_another_tool(lake: Any, options: dict[str, str]) -> None:
    columns = ("concat('k', id) AS id", "concat('p', id % 2) AS part", "CAST(1 AS BIGINT) AS v")
    rows = lake.spark.range(40).selectExpr(*columns)
    unmarked = {key: value for key, value in options.items() if not key.startswith("hudi-operator.")}
    unmarked |= {"hoodie.datasource.write.operation": "upsert", "hoodie.write.rolling.metadata.keys": ""}
    rows.write.format("hudi").options(**unmarked).mode("append").save(lake.base_path)


@pytest.mark.parametrize("write", [by_consistent_hashing, pytest.param(by_partition, marks=IN_FULL)])
def test_a_table_with_a_number_of_buckets_that_varies_is_left_to_its_tool(
    lake: Any, write: Callable[[Any, dict[str, str]], None]
) -> None:
    table = Table(lake, "MergeOnRead")
    lake.spec = {"index": KINDS["Bucket/2"]}
    write(lake, lake.hudi_options(Service.INGESTION))
    table.expected = {f"k{key}": 1 for key in range(40)}
    before = files(lake)

    refused = [table.write(index, range(10), 2) for index in ("Bucket/2", "Bloom")]
    refused += [lake.serve(Service.COMPACTION), lake.serve(Service.CLUSTERING)]
    for result in refused:
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH), result
        assert "write its rows to another table" in result.message
    assert files(lake) == before
    assert table.is_exact()

    draft = draft_of(
        read_evidence(LocalFileSystem(), Location.parse(str(lake.folder / "table")), base_path=lake.base_path), taken=()
    )
    assert any("buckets whose number grows" in reason for reason in draft.reasons)


def test_a_service_does_not_touch_a_table_with_another_index(lake: Any) -> None:
    table = Table(lake, "CopyOnWrite")
    assert table.write("Bucket/2", range(4), 1).outcome is Outcome.SUCCEEDED
    lake.spec = {"index": KINDS["Bloom"]}
    result = lake.serve(Service.CLUSTERING)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)


def test_names_that_are_accepted_work_from_the_first_write_to_a_clustering(lake: Any) -> None:
    """Reserved words, underscores and capitals, as key, partition, ordering and sort columns."""
    lake.table = {
        "recordKey": ["select", "_x"],
        "partitionBy": ["order", "Date"],
        "orderingFields": ["timestamp"],
    }
    lake.spec = {
        "fileSizing": {"smallFileLimit": "0"},
        "clustering": {"mode": "Async", "execution": {"sortColumns": ["__", "Date", "group"]}},
    }
    columns = ("select", "_x", "order", "Date", "timestamp", "__", "group", "default")

    def put(version: int, keys: range) -> None:
        lines = (
            json.dumps(dict(zip(columns, (f"s{k}", k, "a b", f"d{k % 2}", version, k, "g", version), strict=True)))
            for k in keys
        )
        lake.put(f"{version}.json", "\n".join(lines), at=version)
        assert lake.ingest(files={"format": "json", "options": {}}).outcome is Outcome.SUCCEEDED

    put(1, range(6))
    put(2, range(3, 9))
    put(3, range(9, 12))
    assert lake.serve(Service.CLUSTERING).outcome is Outcome.SUCCEEDED
    put(4, range(2))
    expected = dict.fromkeys(range(3), 1) | dict.fromkeys(range(3, 9), 2) | dict.fromkeys(range(9, 12), 3)
    expected |= dict.fromkeys(range(2), 4)
    assert lake.rows("_x", "timestamp", "default") == [(key, version, version) for key, version in expected.items()]
