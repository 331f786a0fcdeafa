"""Values of partition columns: none leads out of the table, and every row comes back as it was or is set aside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Outcome
from hudi_jobs.ingestion.rules.columns import PartitionStyle, any_of, misplaced

pytestmark = pytest.mark.spark

JSON = {"files": {"format": "json", "options": {}}}
HOSTILE: list[str | None] = [
    *("/../../../hostile-b/t/part=p1", "../../climb", "a/../../../b", "a/..", "a/./b", "./a", "../a", "a/."),
    *("/abs", "a//b", "a/", "//", "/", "s3a://lake/team-b", "file:/tmp/x", "a:b", "12:00", ":"),
    *("a/.hoodie/b", "a/.hoodie", "a/.hoodie_partition_metadata", "a/.hudi-operator/x"),
    *("a%2Fb", "%2e%2e", "a%41b", "__HIVE_DEFAULT_PARTITION__", "x" * 241, "é" * 121),
    *("a\nb", "a\u0000b", "a\u0001", "\u007f", "a\u0085b", "\t"),
]
ODD = [
    *(
        "p1",
        "a/b",
        "2026/01/02",
        "a b",
        " lead",
        "trail ",
        "a=b",
        "a,b",
        "a;b",
        "é",
        "日本",
        "..",
        ".",
        "...",
        ".hoodie",
    ),
    *("a{b}", "[a]", "a*", "a?b", "#h", "a'b", '"q"', "a\\b", "a%zz", "100%", "_hidden", ".dot", "a/.dot/b", "null"),
    *("x" * 200, "a/b:c", "a/b=c", "a/part=c", "$(id)", "`id`", "NULL", "default"),
]
ALONE = [".", "..", ".hoodie", ".hoodie_partition_metadata", ".hudi-operator"]


def put(lake: Any, name: str, values: list[str | None], *, first: int = 0, at: float = 0) -> dict[str, str | None]:
    """Write one row for each value; return the value of each key."""
    rows = {str(number): value for number, value in enumerate(values, first)}
    lake.put(name, "".join(json.dumps({"id": key, "part": part}) + "\n" for key, part in rows.items()), at=at)
    return rows


def around(lake: Any) -> set[Path]:
    """Every file that is neither in the source nor in the table's own folder."""
    ours = {lake.folder / "in", lake.folder / "table", lake.folder / "bad"}
    return {path for path in lake.folder.rglob("*") if not ours & {path, *path.parents}}


def found(lake: Any) -> dict[str, str | None]:
    return dict(lake.rows("id", "part"))


@pytest.mark.parametrize(
    ("style", "bad", "good"),
    [
        (PartitionStyle(), HOSTILE, [*ODD, None, ""]),
        (PartitionStyle(named=False), [*HOSTILE, *ALONE], [*[v for v in ODD if v not in ALONE], None, ""]),
        (PartitionStyle(encoded=True), ["a\u0000b", "x" * 241], [*ODD, *HOSTILE[:24], None, ""]),
        (PartitionStyle(named=False, slashed=True), ["2026/01/02", "2026-1-2", "p1", ""], ["2026-01-02", None]),
        (PartitionStyle(named=False, encoded=True), ["a\u0000b", *ALONE], ["a/b", "../x", None]),
    ],
)
def test_a_value_is_misplaced_when_it_makes_no_folder_of_its_own(
    spark: Any, style: PartitionStyle, bad: list[str], good: list[str | None]
) -> None:
    frame = spark.createDataFrame([(value,) for value in [*bad, *good]], "part STRING")
    wrong = frame.where(any_of(misplaced(frame.schema, ["part"], style))).collect()
    assert sorted(row["part"] for row in wrong) == sorted(bad)


def test_a_colon_is_taken_for_a_scheme_only_in_the_first_partition(spark: Any) -> None:
    frame = spark.createDataFrame([("a", "12:00"), ("12:00", "a")], "part STRING, time STRING")
    wrong = frame.where(any_of(misplaced(frame.schema, ["part", "time"], PartitionStyle()))).collect()
    assert [tuple(row) for row in wrong] == [("12:00", "a")]


@pytest.mark.parametrize(
    ("style", "wrong"),
    [
        (PartitionStyle(), [2, 3]),
        (PartitionStyle(named=False), [1, 2, 3]),
        (PartitionStyle(encoded=True), []),
        (PartitionStyle(named=False, encoded=True), []),
    ],
)
def test_of_several_partitions_none_may_look_like_two(spark: Any, style: PartitionStyle, wrong: list[int]) -> None:
    rows = [(0, "a=b", "c", 1), (1, "a/b", "c", 1), (2, "a/c=b", "c", 1), (3, "a", "b=c/d/e=1", 1), (4, None, "", None)]
    frame = spark.createDataFrame(rows, "nth INT, p STRING, c STRING, e INT")
    assert [
        row["nth"] for row in frame.where(any_of(misplaced(frame.schema, ["p", "c", "e"], style))).collect()
    ] == wrong


def test_numbers_and_dates_are_never_misplaced(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS a, DATE'2026-01-01' AS b, true AS c, 1.5 AS d")
    assert misplaced(frame.schema, ["a", "b", "c", "d"], PartitionStyle()) == {}


def test_a_hostile_partition_value_fails_the_run_before_anything_is_written(lake: Any) -> None:
    lake.table = {"partitionBy": ["part"]}
    put(lake, "good.json", ["p1"])
    assert lake.ingest(**JSON).outcome is Outcome.SUCCEEDED
    before = {*around(lake), *(lake.folder / "table").rglob("*.parquet"), *(lake.folder / "table/.hoodie").rglob("*")}
    put(lake, "hostile.json", [*HOSTILE, "p1"], first=100, at=1)
    result = lake.ingest(**JSON)
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.BAD_RECORDS), result
    assert f"{len(HOSTILE)} of {len(HOSTILE) + 1} rows have a value in a partition column" in result.message
    after = {*around(lake), *(lake.folder / "table").rglob("*.parquet"), *(lake.folder / "table/.hoodie").rglob("*")}
    assert {path for path in after if OPERATOR_FOLDER not in path.parts} == before


@pytest.mark.parametrize("operation", sampled("Upsert", "BulkInsert", "Insert", few=2))
def test_hostile_partition_values_are_set_aside_and_all_others_come_back_as_they_were(
    lake: Any, operation: str
) -> None:
    lake.table = {"partitionBy": ["part"]}
    expected = put(lake, "odd.json", [*ODD, None])
    put(lake, "hostile.json", HOSTILE, first=1000)
    bad = {"badRecords": "Quarantine", "quarantinePath": f"{lake.root}/bad"}
    result = lake.ingest(**JSON, operation=operation, **bad)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert result.rows_quarantined == len(HOSTILE)
    assert found(lake) == expected
    assert around(lake) == set()
    set_aside = [
        json.loads(row.value) for row in lake.spark.read.text(f"{lake.root}/bad/run-1/flights/no-partition").collect()
    ]
    assert sorted(json.loads(one["record"])["part"] for one in set_aside) == sorted(map(str, HOSTILE))
    assert {(one["column"], one["reason"]) for one in set_aside} == {("part", "no partition inside the table")}
    assert all(one["source_file"].endswith("/in/hostile.json") for one in set_aside)


def test_a_table_that_encodes_its_partitions_keeps_every_value(lake: Any) -> None:
    lake.table = {"partitionBy": ["part"]}
    options = lake.request().tasks[0].hudi_options | {"hoodie.datasource.write.partitionpath.urlencode": "true"}
    first = lake.spark.createDataFrame([("0", "a/b")], "id STRING, part STRING")
    first.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    values = [
        value for value in HOSTILE if value not in {"__HIVE_DEFAULT_PARTITION__", "x" * 241, "é" * 121, "a\u0000b"}
    ]
    expected = put(lake, "odd.json", values, first=1)
    result = lake.ingest(**JSON)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert found(lake) == {"0": "a/b", **expected}
    assert around(lake) == set()
