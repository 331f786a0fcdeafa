"""What Hudi's own incremental query shows: why the driver reads a snapshot instead."""

from typing import Any

import pytest

pytestmark = pytest.mark.spark


def test_an_incremental_query_shows_an_update_that_lost_against_the_row(upstream: Any) -> None:
    upstream.kind = "MERGE_ON_READ"
    upstream.write([(1, "d", "high", 10)])
    [first] = [one.name.partition("_")[2].partition(".")[0] for one in upstream.timeline.glob("2*_*")]
    upstream.write([(1, "d", "late", 5)])

    reader = upstream.lake.spark.read.format("hudi").option("hoodie.datasource.query.type", "incremental")
    found = reader.option("hoodie.datasource.read.begin.instanttime", first).load(upstream.path)

    assert [tuple(row) for row in found.select("v", "at").collect()] == [("late", 5)]
    assert upstream.rows() == [(1, "d", "high", 10)]
