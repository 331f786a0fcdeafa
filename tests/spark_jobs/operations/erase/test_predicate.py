"""Predicates: what may be asked of a row is answered, and what the time of day decides is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark_jobs.operations.erase import predicates
from tests.spark_jobs.trials import ALL

from hudi_jobs.operations.erase.selection import FUNCTIONS, matching
from hudi_jobs.spark.failures import TaskFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark]

COLUMNS = """
'a' AS s, 'b' AS s2, 1 AS i, 2L AS l, 1.5D AS f, 1.5BD AS d, true AS b, DATE '2026-01-01' AS dt, X'00' AS bin,
TIMESTAMP '2026-01-01 00:00:00' AS ts, TIMESTAMP_NTZ '2026-01-01' AS ntz, array('a') AS arr, map('k', 'v') AS m,
named_struct('x', 1) AS st, array(named_struct('x', 1)) AS ast, INTERVAL '1' DAY AS ivd, INTERVAL '1' YEAR AS ivy
"""

AT_ONCE = 30


def rows(lake: Any) -> DataFrame:
    found: DataFrame = lake.spark.sql(f"SELECT {COLUMNS}")
    return found


def test_predicates_of_values_columns_and_every_function_are_allowed(lake: Any) -> None:
    called = {name for each in predicates.ALLOWED for name in re.findall(r"(\w+)\(", each)}
    assert called >= FUNCTIONS
    asked = rows(lake)
    for place in range(0, len(predicates.ALLOWED), AT_ONCE):
        together = " AND ".join(f"({each})" for each in predicates.ALLOWED[place : place + AT_ONCE])
        assert matching(lake.spark, asked, together).columns == asked.columns


@pytest.mark.parametrize("asked", predicates.BY_THE_CLOCK if ALL else predicates.BY_THE_CLOCK[::3])
def test_a_predicate_that_the_time_of_day_decides_is_refused(lake: Any, asked: str) -> None:
    with pytest.raises(TaskFailed, match="predicate") as failure:
        matching(lake.spark, rows(lake), asked)
    assert "today" not in failure.value.message, "it is not quoted"
