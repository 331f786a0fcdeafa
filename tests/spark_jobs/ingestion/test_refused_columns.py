"""Hudi shows why each refused use of a column is refused: it fails, or the values do not come back.

Rows are written with the operator's own options and without its checks. A test that fails here, with a later release of
Hudi, says that a type may be allowed.
"""

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from tests.spark_jobs.trials import IN_FULL, sampled

from hudi_jobs.contract import Outcome, Service
from hudi_jobs.table_services import clustering

pytestmark = pytest.mark.spark

FAILURES = (Py4JJavaError, PySparkException)


def write(lake: Any, query: str, operation: str = "upsert") -> None:
    """Write the rows of a query as Hudi does."""
    options = {**lake.request().tasks[0].hudi_options, "hoodie.datasource.write.operation": operation}
    lake.spark.sql(query).write.format("hudi").options(**options).mode("append").save(lake.base_path)


def read(lake: Any, *columns: str) -> list[tuple[Any, ...]]:
    """Read the table as another session does."""
    rows = lake.spark.newSession().read.format("hudi").load(lake.base_path).select(*columns).collect()
    return sorted((tuple(row) for row in rows), key=str)


@pytest.mark.parametrize("operation", sampled("upsert", "bulk_insert"))
@pytest.mark.parametrize(
    "value",
    sampled(
        "map(1, 'a')",
        "NULL",
        "named_struct('a', NULL)",
        "array()",
        "array(struct())",
        "map('a', NULL)",
        "map(DATE'2026-01-01', 'a')",
        "INTERVAL '1' DAY",
        "INTERVAL '1' YEAR",
    ),
)
def test_hudi_cannot_write_the_value(lake: Any, value: str, operation: str) -> None:
    with pytest.raises(FAILURES):
        write(lake, f"SELECT '1' AS id, {value} AS c", operation)


@IN_FULL
def test_a_bulk_insert_cannot_write_bytes(lake: Any) -> None:
    with pytest.raises(FAILURES):
        write(lake, "SELECT '1' AS id, CAST(1 AS TINYINT) AS c", "bulk_insert")


@pytest.mark.parametrize(
    "value",
    sampled(
        "TIMESTAMP'2026-03-01 12:00:00'",
        "TIMESTAMP_NTZ'2026-03-01 12:00:00'",
        "X'6162'",
        "array('a')",
        "map('a', 'b')",
        "named_struct('a', 1)",
    ),
)
def test_readers_do_not_get_the_partition_back(lake: Any, value: str) -> None:
    lake.table = {"partitionBy": ["c"]}
    query = f"SELECT '1' AS id, {value} AS c, 1 AS v"
    try:
        write(lake, query)
        found = read(lake, "id", "c")
    except FAILURES:
        return
    assert found != [tuple(row) for row in lake.spark.sql(query).select("id", "c").collect()]


@pytest.mark.parametrize(
    ("one", "other"),
    sampled(
        ("array('a, b')", "array('a', 'b')"),
        ("array('null')", "array(CAST(NULL AS STRING))"),
        ("map('a', '1, b=2')", "map('a', '1', 'b', '2')"),
    ),
)
def test_two_keys_become_one(lake: Any, one: str, other: str) -> None:
    lake.table = {"recordKey": ["c"]}
    write(lake, f"SELECT {one} AS c, 1 AS v")
    write(lake, f"SELECT {other} AS c, 2 AS v")
    assert read(lake, "v") == [(2,)]


@IN_FULL
@pytest.mark.parametrize("value", ["X'6162'", "TIMESTAMP'2026-03-01 12:00:00.123456'", "named_struct('a', 1)"])
def test_a_bulk_insert_makes_another_key_than_an_upsert(lake: Any, value: str) -> None:
    lake.table = {"recordKey": ["c"]}
    write(lake, f"SELECT {value} AS c, 1 AS v")
    try:
        write(lake, f"SELECT {value} AS c, 2 AS v", "bulk_insert")
    except FAILURES:
        return
    first, second = read(lake, "_hoodie_record_key")
    assert first != second


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    sampled(
        ("CopyOnWrite", "DATE'2026-01-01'", "DATE'2026-01-02'"),
        ("CopyOnWrite", "CAST(1 AS DECIMAL(10, 2))", "CAST(2 AS DECIMAL(10, 2))"),
        ("CopyOnWrite", "X'7F'", "X'FF'"),
        ("CopyOnWrite", "array(1)", "array(2)"),
        ("CopyOnWrite", "map('a', 1)", "map('a', 2)"),
        ("MergeOnRead", "X'7F'", "X'FF'"),
        ("MergeOnRead", "named_struct('a', 1)", "named_struct('a', 2)"),
    ),
)
def test_hudi_cannot_compare_the_ordering_field(lake: Any, kind: str, low: str, high: str) -> None:
    lake.table = {"orderingFields": ["c"], "type": kind}
    try:
        write(lake, f"SELECT '1' AS id, {low} AS c, 1 AS v")
        write(lake, f"SELECT '1' AS id, {high} AS c, 2 AS v")
        found = read(lake, "v")
    except FAILURES:
        return
    assert found != [(2,)]


@IN_FULL
@pytest.mark.parametrize(
    ("value", "layout"),
    [
        ("map('a', 1)", "linear"),
        ("array(map('a', 1))", "linear"),
        ("named_struct('m', map('a', 1))", "linear"),
        *((value, layout) for value in ("array(1)", "named_struct('a', 1)") for layout in ("zorder", "hilbert")),
        ("TIMESTAMP_NTZ'2026-03-01 12:00:00'", "zorder"),
    ],
)
def test_hudi_cannot_sort_by_the_column(lake: Any, monkeypatch: pytest.MonkeyPatch, value: str, layout: str) -> None:
    monkeypatch.setattr(clustering, "require_order", lambda *_: None)
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}}
    for number in range(2):
        write(lake, f"SELECT '{number}' AS id, {value} AS c, 1 AS v", "insert")
    columns = "c" if layout == "linear" else "c,v"
    options = {"hoodie.clustering.plan.strategy.sort.columns": columns, "hoodie.layout.optimize.strategy": layout}
    assert lake.serve(Service.CLUSTERING, options=options).outcome is Outcome.FAILED


def test_spark_reads_no_table_with_fields_that_differ_in_case_only(lake: Any) -> None:
    write(lake, "SELECT '1' AS id, named_struct('a', 1, 'A', 2) AS c", "bulk_insert")
    with pytest.raises(FAILURES):
        read(lake, "id", "c")


def test_a_column_with_a_name_of_hudis_own_loses_its_values(lake: Any) -> None:
    write(lake, "SELECT '1' AS id, 'mine' AS _hoodie_file_name")
    assert read(lake, "_hoodie_file_name") != [("mine",)]
