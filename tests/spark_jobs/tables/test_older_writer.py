"""A writer of an older release continues with its table after the operator has ingested into it and served it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import DOWNGRADE, done, operate
from tests.spark_jobs.tables.test_found_properties import properties
from tests.spark_jobs.trials import IN_FULL, sampled

from hudi_jobs.contract import Outcome, Service
from toolkit.writers import COMPACTED_ELSEWHERE, Writer, WriterFailed

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

COLUMNS = ("id", "part", "word", "ts")
SCHEMA = "id string, part string, word string, ts long"
OPTIONS = {
    **COMPACTED_ELSEWHERE,
    "hoodie.table.name": "flights",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


def rows(word: str, ts: int, *, first: int = 0) -> list[tuple[str, str, str, int]]:
    return [(f"k{number}", f"p{number % 2}", word, ts) for number in range(first, first + 4)]


def ingest(lake: Any, new: list[tuple[str, str, str, int]], at: int) -> None:
    lines = "".join(",".join(map(str, row)) + "\n" for row in new)
    lake.put(f"{at}.csv", f"{','.join(COLUMNS)}\n{lines}", at=at)
    assert lake.ingest(files={"schemaDdl": SCHEMA}).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("rounds", sampled(1, 3))
def test_0_15_0_upserts_cleans_and_restores_after_our_services(lake: Any, rounds: int) -> None:
    table = lake.folder / "table"
    lake.table = {"type": "MergeOnRead", "partitionBy": ["part"], "orderingFields": ["ts"]}
    lake.spec = {
        "metadataTable": {},
        "fileSizing": {"smallFileLimit": "0"},
        "compaction": {"trigger": {"deltaCommits": 1}},
        "clustering": {"trigger": {"commits": 1}},
        "cleaning": {"retainCommits": 1, "trigger": {"commits": 1}},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
    with Writer("0.15.0") as writer:
        for ts in (1, 2, 3):
            writer.upsert(table, rows("theirs", ts), options=OPTIONS)
        before = properties(lake), properties(lake, "table/.hoodie/metadata")

        served = set()
        for ts in range(4, 4 + rounds):
            ingest(lake, rows("ours", ts, first=2), ts)
            for service in (Service.COMPACTION, Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL):
                result = lake.serve(service)
                assert result.outcome is not Outcome.FAILED, (service, result)
                served |= {service} if result.outcome is Outcome.SUCCEEDED else set()
        assert served >= {Service.COMPACTION, Service.CLUSTERING} | ({Service.CLEANING} if rounds > 1 else set())

        assert (properties(lake), properties(lake, "table/.hoodie/metadata")) == before
        expected = sorted([*rows("theirs", 3)[:2], *rows("ours", 3 + rounds, first=2)])
        for metadata in (True, False):
            assert writer.rows(table, *COLUMNS, metadata_table=metadata) == expected

        savepoint = writer.completed(table, "commit", "deltacommit", "replacecommit")[-1]
        writer.service(table, "savepoint", savepoint)
        writer.upsert(table, rows("theirs again", 6), options=OPTIONS)
        again = sorted([*rows("theirs again", 6), *expected[4:]])
        assert writer.rows(table, *COLUMNS) == again
        writer.service(table, "clean", options={"hoodie.clean.commits.retained": "1"})
        assert writer.rows(table, *COLUMNS) == again
        writer.service(table, "restore", savepoint)
        for metadata in (True, False):
            assert writer.rows(table, *COLUMNS, metadata_table=metadata) == expected
    assert lake.rows(*COLUMNS) == expected


@pytest.mark.parametrize("made_in", [6, pytest.param(9, marks=IN_FULL)])
def test_0_15_0_reads_what_we_make_in_version_6_and_what_we_downgrade_to_it(lake: Any, made_in: int) -> None:
    lake.table = {"type": "MergeOnRead", "partitionBy": ["part"], "orderingFields": ["ts"]}
    lake.spec, lake.metadata_table = {"tableVersion": made_in}, True
    for ts, first in ((1, 0), (2, 2)):
        ingest(lake, rows("ours", ts, first=first), ts)
    if made_in != 6:
        lake.spec.pop("tableVersion")
        done(operate(lake, None, DOWNGRADE, version=6))
    expected = sorted([*rows("ours", 1)[:2], *rows("ours", 2, first=2)])
    with Writer("0.15.0") as writer:
        for metadata in (True, False):
            assert writer.rows(lake.folder / "table", *COLUMNS, metadata_table=metadata) == expected
    assert lake.rows(*COLUMNS) == expected


@IN_FULL
def test_0_15_0_alone_restores_nothing_from_before_the_first_compaction_of_the_metadata_table(tmp_path: Path) -> None:
    table = tmp_path / "table"
    with Writer("0.15.0") as writer:
        for ts in range(10):
            writer.upsert(table, rows("theirs", ts), options=OPTIONS)
        savepoint = writer.completed(table, "deltacommit")[-2]
        writer.service(table, "savepoint", savepoint)
        writer.upsert(table, rows("theirs", 10), options=OPTIONS)
        assert writer.completed(table / ".hoodie/metadata", "commit"), "its metadata table was compacted"
        with pytest.raises(WriterFailed, match="base file in MDT"):
            writer.service(table, "restore", savepoint)
