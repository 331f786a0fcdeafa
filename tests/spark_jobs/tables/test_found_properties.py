"""Tables that other tools have made stay what they are, whatever the operator's own defaults say."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, crossed, sampled

from hudi_jobs.contract import FailureReason, Outcome, Service

pytestmark = pytest.mark.spark

SCHEMA = "id STRING, part STRING, day STRING, at BIGINT, ts INT, v STRING"
JSON_FILES = {"format": "json", "options": {}, "schemaDdl": SCHEMA}
NOON = 1_767_355_200_000
"""Milliseconds of 2026-01-02T12:00:00Z."""
DAY = 86_400_000

WRITE = "hoodie.datasource.write."
TIME = "hoodie.keygen.timebased."
BY_TIME = {f"{WRITE}keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}
STYLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "plain": (["part"], {f"{WRITE}partitionpath.field": "part"}),
    "hive": (["part"], {f"{WRITE}partitionpath.field": "part", f"{WRITE}hive_style_partitioning": "true"}),
    "encoded": (["part"], {f"{WRITE}partitionpath.field": "part", f"{WRITE}partitionpath.urlencode": "true"}),
    "without partitions": ([], {}),
    "date": (
        ["day"],
        {
            **BY_TIME,
            f"{WRITE}partitionpath.field": "day",
            f"{TIME}timestamp.type": "DATE_STRING",
            f"{TIME}input.dateformat": "yyyy-MM-dd",
            f"{TIME}output.dateformat": "yyyy/MM/dd",
        },
    ),
    "epoch": (
        ["at"],
        {
            **BY_TIME,
            f"{WRITE}partitionpath.field": "at",
            f"{TIME}timestamp.type": "EPOCHMILLISECONDS",
            f"{TIME}output.dateformat": "yyyyMMdd",
            f"{TIME}timezone": "UTC",
        },
    ),
    "without meta fields": (["part"], {f"{WRITE}partitionpath.field": "part", "hoodie.populate.meta.fields": "false"}),
}
OF_TWO = {"complex": (["part", "day"], {f"{WRITE}partitionpath.field": "part,day"})}


def rows(count: int, value: str, *, first: int = 0, ts: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "id": str(number),
            "part": f"p{number % 2}",
            "day": f"2026-01-0{1 + number % 2}",
            "at": NOON + DAY * (number % 2),
            "ts": ts,
            "v": value,
        }
        for number in range(first, first + count)
    ]


def made(lake: Any, style: str, *, kind: str = "COPY_ON_WRITE", version: int = 9, **options: str) -> None:
    """Make a table as a DataFrame does that sets nothing but what it must."""
    partition_by, own = (STYLES | OF_TWO)[style]
    lake.table = {"partitionBy": partition_by, "type": "CopyOnWrite" if kind == "COPY_ON_WRITE" else "MergeOnRead"}
    lake.spec = {
        "compaction": {"trigger": {"deltaCommits": 1}},
        "cleaning": {"retainCommits": 1, "trigger": {"commits": 1}},
        "archival": {"minCommits": 2, "maxCommits": 3},
        "clustering": {"trigger": {"commits": 1}},
        "index": {"type": "Simple"},
        # New keys get files of their own, so that there is something to cluster.
        "fileSizing": {"smallFileLimit": "0"},
    }
    if kind == "COPY_ON_WRITE":
        del lake.spec["compaction"]
    found = {
        "hoodie.table.name": "flights",
        f"{WRITE}recordkey.field": "id",
        f"{WRITE}table.type": kind,
        f"{WRITE}operation": "upsert",
        "hoodie.write.table.version": str(version),
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        "hoodie.compact.inline": "false",
        **own,
        **options,
    }
    for value in ("one", "two", "three"):
        frame = lake.spark.createDataFrame([tuple(row.values()) for row in rows(6, value)], SCHEMA)
        frame.write.format("hudi").options(**found).mode("append").save(lake.base_path)


def properties(lake: Any, table: str = "table") -> dict[str, str]:
    text = (lake.folder / table / ".hoodie/hoodie.properties").read_text()
    lines = (line.partition("=") for line in text.splitlines() if line and not line.startswith("#"))
    return {key: value for key, _, value in lines}


def put(lake: Any, name: str, values: list[dict[str, Any]], *, at: float = 0) -> None:
    lake.put(name, "".join(json.dumps(row) + "\n" for row in values), at=at)


def read(lake: Any, *, metadata: bool) -> dict[str, str]:
    """The value of each key, once per row."""
    option = {"hoodie.metadata.enable": str(metadata).lower()}
    frame = lake.spark.newSession().read.format("hudi").options(**option).load(lake.base_path).select("id", "v")
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(dict(found)), "a key is there twice"
    return dict(found)


def managed(lake: Any) -> dict[str, str]:
    """Ingest, write files anew, ingest again, and clean and archive; in full every service each time.

    Return what must be read. What a clustering has replaced can be cleaned once there is a later commit.
    """
    expected, done = {row["id"]: "three" for row in rows(6, "")}, set()
    for number, at in enumerate((0, 10)):
        put(lake, f"{number}.json", rows(4, f"new {number}", first=4), at=at)
        result = lake.ingest(files=JSON_FILES, operation="Upsert")
        assert result.outcome is Outcome.SUCCEEDED, result
        expected |= {row["id"]: f"new {number}" for row in rows(4, "", first=4)}
        for service in services(lake):
            if not ALL and (service in {Service.CLEANING, Service.ARCHIVAL}) == (number == 0):
                continue
            result = lake.serve(service)
            assert result.outcome is not Outcome.FAILED, (service, result)
            done |= {service} if result.outcome is Outcome.SUCCEEDED else set()
    assert done >= {*services(lake)} - {Service.ARCHIVAL}
    return expected


def services(lake: Any) -> list[Service]:
    every = [Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL]
    return every if lake.table["type"] == "CopyOnWrite" else [Service.COMPACTION, *every]


def metadata_version(lake: Any) -> str | None:
    folder = lake.folder / "table/.hoodie/metadata/.hoodie"
    return properties(lake, "table/.hoodie/metadata").get("hoodie.table.version") if folder.exists() else None


KINDS = [("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 6), ("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 6)]
CASES = [(style, *kind) for style in STYLES for kind in KINDS]
ALSO_ELSEWHERE = ("plain", "hive", "encoded", "epoch", "without partitions")
"""Styles of the tables of other tests here, and of those of `tests/matrix`."""
SAMPLE = [(style, *KINDS[number % 2]) for number, style in enumerate(STYLES) if style not in ALSO_ELSEWHERE]


@pytest.mark.parametrize(("style", "kind", "version"), CASES if ALL else SAMPLE)
def test_a_table_of_a_dataframe_is_managed_and_stays_what_it_is(lake: Any, style: str, kind: str, version: int) -> None:
    made(lake, style, kind=kind, version=version)
    before = properties(lake), metadata_version(lake)
    expected = managed(lake)
    assert (properties(lake), metadata_version(lake)) == before
    for metadata in (True, False):
        assert read(lake, metadata=metadata) == expected


@crossed(
    ("asked", [{}, {"enabled": False}, {"enabled": True}]),
    ("found", ["none", "files", "files,bloom_filters"]),
)
def test_a_metadata_table_is_neither_widened_nor_removed(lake: Any, found: str, asked: dict[str, bool]) -> None:
    options: dict[str, Any] = {
        "hoodie.metadata.enable": str(found != "none").lower(),
        "hoodie.metadata.index.column.stats.enable": "false",
        "hoodie.metadata.index.bloom.filter.enable": str("bloom" in found).lower(),
    }
    made(lake, "plain", **options)
    lake.spec["metadataTable"] = asked
    put(lake, "a.json", rows(2, "new"))
    assert lake.ingest(files=JSON_FILES).outcome is Outcome.SUCCEEDED
    for service in services(lake):
        assert lake.serve(service).outcome is not Outcome.FAILED, service
    left = set(filter(None, properties(lake).get("hoodie.table.metadata.partitions", "").split(",")))
    expected = {"files"} if asked == {"enabled": True} else set()
    assert left == (expected if found == "none" else set(found.split(",")))


@crossed(
    ("of", sampled(("MERGE_ON_READ", 6), ("MERGE_ON_READ", 9), ("COPY_ON_WRITE", 6), few=2)),
    (
        "payload, declared, late_row_wins",
        [
            ("DefaultHoodieRecordPayload", ["ts"], False),
            ("OverwriteWithLatestAvroPayload", [], True),
            ("OverwriteWithLatestAvroPayload", ["ts"], None),
        ],
    ),
)
def test_ordering_is_honoured_or_refused(
    lake: Any, payload: str, declared: list[str], late_row_wins: bool | None, of: tuple[str, int]
) -> None:
    kind, version = of
    named = f"org.apache.hudi.common.model.{payload}"
    options = {f"{WRITE}precombine.field": "ts", f"{WRITE}payload.class": named}
    made(lake, "plain", kind=kind, version=version, **options)
    lake.table |= {"orderingFields": declared}
    put(lake, "late.json", rows(2, "late", ts=0))
    result = lake.ingest(files=JSON_FILES)
    if late_row_wins is None:
        assert result.reason is FailureReason.TABLE_MISMATCH, result
        assert "orderingFields: the spec declares ts" in result.message
        for service in services(lake):
            assert lake.serve(service).reason is FailureReason.TABLE_MISMATCH
        return
    assert result.outcome is Outcome.SUCCEEDED, result
    expected = {row["id"]: "three" for row in rows(6, "")}
    expected |= {row["id"]: "late" for row in rows(2, "")} if late_row_wins else {}
    assert read(lake, metadata=True) == expected
    for service in services(lake):
        assert lake.serve(service).outcome is not Outcome.FAILED
    assert read(lake, metadata=True) == expected


def test_a_table_of_spark_sql_is_managed_and_stays_what_it_is(lake: Any) -> None:
    made(lake, "plain")
    shutil.rmtree(lake.base_path)
    lake.spark.sql(
        f"CREATE TABLE flights ({SCHEMA}) USING hudi PARTITIONED BY (part) LOCATION '{lake.base_path}' "
        "TBLPROPERTIES (primaryKey = 'id', type = 'mor')"
    )
    try:
        lake.table["type"] = "MergeOnRead"
        lines = (f"('{row['id']}', '{row['day']}', {row['at']}, 1, 'three', '{row['part']}')" for row in rows(6, ""))
        lake.spark.sql(f"INSERT INTO flights VALUES {', '.join(lines)}")
    finally:
        lake.spark.sql("DROP TABLE flights")
    before = properties(lake)
    assert before["hoodie.datasource.write.hive_style_partitioning"] == "true"
    expected = managed(lake)
    assert properties(lake) == before
    assert read(lake, metadata=True) == expected
