"""Of rows with one key in one batch the driver leaves what Hudi would, and then spares Hudi the same work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs.contract import Outcome
from hudi_jobs.ingestion import row_checks, run, write

pytestmark = [pytest.mark.spark, pytest.mark.streams]

SCHEMA = "id BIGINT, name STRING, part STRING, num INT, day DATE, at BIGINT, time TIMESTAMP, v STRING"
TABLES: dict[str, dict[str, Any]] = {
    "by ordering": {"type": "MergeOnRead", "orderingFields": ["at"], "partitionBy": ["num"]},
    "by arrival": {"type": "CopyOnWrite", "recordKey": ["name"], "partitionBy": ["day"]},
    "in all partitions": {"type": "MergeOnRead", "orderingFields": ["at"], "partitionBy": ["part"]},
    "by time": {"type": "CopyOnWrite", "orderingFields": ["time"]},
}
LEFT_TO_HUDI: dict[str, dict[str, Any]] = {
    "a key of two columns": {"recordKey": ["id", "name"]},
    "two partition columns": {"partitionBy": ["part", "num"]},
    "a text for the ordering": {"orderingFields": ["v"]},
    "two ordering columns": {"orderingFields": ["at", "num"]},
}


@pytest.fixture
def combined(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each write so far had Hudi combine rows."""
    found: list[bool] = []
    original = write.write_commit

    def noted(spark: Any, frame: Any, table: Any, options: dict[str, str], notes: dict[str, str]) -> str:
        found.append(options.get(write.COMBINES) != "false")
        return original(spark, frame, table, options, notes)

    monkeypatch.setattr(run, "write_commit", noted)
    return found


@pytest.mark.parametrize("table", sampled(*TABLES, few=2))
def test_the_table_is_what_hudi_makes_of_the_same_batches(
    stream: Any, combined: list[bool], monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    stream.source["value"] = {"schemaDdl": SCHEMA}
    stream.create()
    root, made = stream.lake.root, []
    batches = [list(messages(random.Random(seed))) for seed in range(8 if ALL else 2)]
    for left_to_hudi in (False, True):
        stream.lake.root, stream.lake.table = f"{root}/{left_to_hudi}", TABLES[table]
        stream.lake.spec = {"index": {"type": "GlobalSimple" if table == "in all partitions" else "Simple"}}
        if left_to_hudi:
            monkeypatch.setattr(row_checks, "leaves_one_of_each", lambda *_: False)
        for number, batch in enumerate(batches):
            if not left_to_hudi:
                stream.send(batch)
            result = stream.ingest(maxRecords=len(batch))
            assert result.outcome is Outcome.SUCCEEDED, (number, result)
        found = stream.lake.spark.read.format("hudi").load(stream.lake.base_path)
        made.append(sorted(map(repr, found.drop(*found.columns[:5]).collect())))
    assert made[0] == made[1]
    assert combined == [True] + [False] * (len(batches) - 1) + [True] * len(batches)


def messages(numbers: random.Random) -> Iterator[dict[str, Any]]:
    for _ in range(200):
        at = numbers.randrange(-2, 8)
        yield {
            "id": numbers.randrange(12),
            "name": numbers.choice(["a", "A", "a ", "ä", "null", "__null__", "a/b", "a:1"]),
            "part": numbers.choice(["x", "y", "", None]),
            "num": numbers.choice([1, -1, None]),
            "day": numbers.choice(["2026-11-25", "1969-12-31", None]),
            "at": at,
            "time": f"2026-11-25T10:00:0{at % 10}Z",
            "v": str(numbers.random()),
        }


@pytest.mark.parametrize("table", LEFT_TO_HUDI)
def test_uncertain_order_is_left_to_hudi(stream: Any, combined: list[bool], table: str) -> None:
    ingest_twice(stream, **LEFT_TO_HUDI[table])
    assert combined == [True, True]


def test_declared_parallelism_of_the_search_is_kept(stream: Any, combined: list[bool]) -> None:
    stream.lake.options = {"hoodie.upsert.shuffle.parallelism": "4"}
    ingest_twice(stream)
    assert combined == [True, True]


def test_deletes_beside_ordering_values_are_left_to_hudi(stream: Any, combined: list[bool]) -> None:
    stream.source |= {"tombstones": "Delete", "columns": {"offset": "offset"}}
    ingest_twice(stream, orderingFields=["offset"])
    assert combined == [True, True]


def ingest_twice(stream: Any, **table: Any) -> None:
    stream.lake.table = table
    stream.source["value"] = {"schemaDdl": SCHEMA}
    stream.create()
    row = {"id": 1, "name": "a", "part": "x", "num": 1, "day": None, "at": 5, "time": None, "v": "v"}
    for _ in range(2):
        stream.send([row], key="id")
        assert stream.ingest().outcome is Outcome.SUCCEEDED
