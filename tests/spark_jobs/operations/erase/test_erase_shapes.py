"""Erasures from tables of other tools: rows go whatever their partitions are made of, or nothing is written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import files, refusal, rows
from tests.spark_jobs.operations.erase.erasing import customer, erase, erased
from tests.spark_jobs.trials import sampled

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WRITE, TIME = "hoodie.datasource.write.", "hoodie.keygen.timebased."
MIDNIGHT = 1_767_312_000_000
"""Milliseconds of 2026-01-02T00:00:00Z."""


def write(lake: Any, frame: Any, generator: str, *, partition: str, **options: str) -> None:
    """Make a table as another tool does."""
    told = {
        "hoodie.table.name": "flights",
        f"{WRITE}recordkey.field": "id",
        f"{WRITE}partitionpath.field": partition,
        f"{WRITE}keygenerator.class": f"org.apache.hudi.keygen.{generator}",
        "hoodie.metadata.enable": "false",
        **options,
    }
    frame.coalesce(1).write.format("hudi").options(**told).mode("append").save(lake.base_path)


def unchanged(lake: Any) -> dict[str, tuple[int, int]]:
    return {path: seen for path, seen in files(lake).items() if ".hudi-operator" not in path}


@pytest.mark.parametrize("kind", sampled("MergeOnRead", "CopyOnWrite"))
def test_rows_go_from_partitions_that_are_made_of_times(lake: Any, kind: str) -> None:
    """A reader takes such a column from the path, of which Hudi can make no partition again."""
    lake.table = {"partitionBy": ["at"], "type": kind}
    options = {
        f"{TIME}timestamp.type": "EPOCHMILLISECONDS",
        f"{TIME}output.dateformat": "yyyy/MM/dd",
        f"{TIME}timezone": "UTC",
        f"{WRITE}table.type": "COPY_ON_WRITE" if kind == "CopyOnWrite" else "MERGE_ON_READ",
    }
    for value in ("old", "new"):  # the second time into log files
        frame = lake.spark.createDataFrame(
            [(customer(n), MIDNIGHT + n, value) for n in range(4)], "id STRING, at BIGINT, v STRING"
        )
        write(lake, frame, "TimestampBasedKeyGenerator", partition="at", **options)
    before = rows(lake)
    _, proof = erased(erase(lake, ids=(customer(1),)))
    assert proof.rows == 1
    assert rows(lake) == [row for row in before if row[0] != customer(1)]


def test_a_row_goes_whose_key_a_bulk_insert_has_made_of_a_time(lake: Any) -> None:
    """Other writes make another text of it."""
    frame = lake.spark.createDataFrame([(n,) for n in range(4)], "n INT").selectExpr(
        "timestamp_millis(1767312000000 + n * 1000) AS id", "n"
    )
    write(lake, frame, "NonpartitionedKeyGenerator", partition="", **{f"{WRITE}operation": "bulk_insert"})
    _, proof = erased(erase(lake, where="n = 1"))
    assert proof.rows == 1
    assert [row[1] for row in rows(lake)] == [0, 2, 3]


def test_keys_that_releases_of_hudi_write_in_two_ways_are_refused_before_anything_is_written(lake: Any) -> None:
    lake.table = {"partitionBy": ["p", "q"]}
    frame = lake.spark.createDataFrame([(customer(n), "a", "b") for n in range(4)], "id STRING, p STRING, q STRING")
    options = {
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.write.complex.keygen.validation.enable": "false",
    }
    write(lake, frame, "ComplexKeyGenerator", partition="p,q", **options)
    before = unchanged(lake)
    assert "Complex key generator" in refusal(erase(lake, ids=(customer(1),)))
    assert unchanged(lake) == before


def test_rows_with_maps_stay_what_they_are_where_hudi_writes_the_entries_in_another_order(lake: Any) -> None:
    lake.table = {"type": "CopyOnWrite"}
    campaign = "map('utm_campaign', 'spring', 'utm_source', id, 'utm_medium', 'mail')"
    frame = lake.spark.createDataFrame([(customer(n),) for n in range(4)], "id STRING").selectExpr(
        "id",
        f"{campaign} AS m",
        f"IF(id < '{customer(2)}', named_struct('inner', {campaign}, 'nothing', CAST(NULL AS STRING)), NULL) AS s",
        f"array({campaign}, map(id, NULL)) AS a",
        f"map('deep', {campaign}, 'none', NULL) AS mm",
    )
    write(lake, frame, "NonpartitionedKeyGenerator", partition="", **{f"{WRITE}operation": "bulk_insert"})
    before, orders = rows(lake), orders_of_maps(lake)
    _, proof = erased(erase(lake, ids=(customer(1),)))
    assert proof.rows == 1
    assert rows(lake) == [row for row in before if row[0] != customer(1)]
    assert orders_of_maps(lake) != orders, "of the copied rows the maps have another order"


def orders_of_maps(lake: Any) -> set[tuple[str, ...]]:
    read = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    return {tuple(row[0]) for row in read.selectExpr("map_keys(m)").collect()}
