"""Operations on tables with rows, by real drivers, while the operator is killed: done once, and no row is lost.

`test_operations.py` has more faults, with drivers without Spark; drivers are killed in `spark_jobs/operations/kills`.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import count, product
from pathlib import Path
from typing import TypeAlias

import pytest
from pyspark.sql import SparkSession
from tests.faults.arena import arena
from tests.faults.on_tables import ON_TABLES, Bench, OnTable
from tests.faults.rows import RowTable, driving
from tests.faults.rules import KILLS, Fault
from tests.spark_jobs.operations.shapes import SHAPES, Shape
from tests.spark_jobs.writers.test_optimistic import zookeeper

from hudi_operator.planning.facts.operations.kinds.operation_registry import KINDS
from toolkit.shares import share

__all__ = ["zookeeper"]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

WRITES = range(1, 21)
"""Which write after the request for an operation is drawn where not all are swept: about those until it is gone."""

TOGETHER = 4
"""Writes that are met on the same table: one with a longer story takes longer to read."""

Point: TypeAlias = tuple[int, Fault]
"""Which write after the request for an operation the operator is killed at, and whether before or after."""

Lived: TypeAlias = Callable[[OnTable, Shape, Sequence[Point]], Awaitable[int]]

LIVES = list(dict.fromkeys(ON_TABLES.values()))


def test_each_kind_is_done_on_a_table() -> None:
    assert KINDS.keys() == ON_TABLES.keys()


def forms(number: int) -> tuple[Shape, Shape]:
    """Two shapes of tables that have nothing in common; those of the lives differ, as far as there are any."""
    return SHAPES[number], SHAPES[-1 - number]


SWEPT = [(life, shape) for number, life in enumerate(LIVES) for shape in forms(number)]


@pytest.fixture
def lived(
    cluster: None,  # noqa: ARG001 - it must be there
    tmp_path: Path,
    spark: SparkSession,
    zookeeper: str,
) -> Lived:
    """Do operations on one table, each with the operator killed at one point; return how many points were met.

    The first one that is not met is behind the last write.
    """

    async def live(life: OnTable, shape: Shape, points: Sequence[Point]) -> int:
        async with arena(tmp_path / f"from-{points[0][0]}") as place:
            place.node.work = driving(spark)
            bench = Bench(RowTable(place, spark, "bench"), shape)
            await bench.create({"zookeeper": {"connect": zookeeper}})
            met = 0
            for write, fault in points:
                bench.write, bench.fault, bench.is_met = write, fault, False
                try:
                    await life(bench)
                except (AssertionError, pytest.fail.Exception) as failure:
                    raise AssertionError(f"write {write} {fault}: {failure}") from failure
                if not bench.is_met:
                    break
                met += 1
            assert place.node.overlaps == []
            assert place.unexpected() == []
            return met

    return live


async def test_an_operation_is_done_once_on_a_table_whatever_write_the_operator_is_killed_at(
    lived: Lived, seed: int, *, full: bool
) -> None:
    if full:
        pytest.skip("all writes are swept")
    draw = random.Random(seed)
    life, shape = draw.choice(SWEPT)
    point = (draw.choice(WRITES), draw.choice(KILLS))
    print(f"{life.__name__} {shape} {point}")  # noqa: T201 - shown with a failure
    await lived(life, shape, [point])


@pytest.mark.parametrize(
    ("life", "shape"), [pytest.param(life, shape, id=f"{life.__name__}-{shape}") for life, shape in share(SWEPT)]
)
async def test_operations_are_done_once_on_a_table_when_the_operator_is_killed_before_and_after_each_write(
    life: OnTable, shape: Shape, lived: Lived, *, full: bool
) -> None:
    if not full:
        pytest.skip("one write of one operation is enough when not everything is swept")
    met = 0
    for first in count(1, TOGETHER):
        points = list(product(range(first, first + TOGETHER), KILLS))
        met += (found := await lived(life, shape, points))
        if found < len(points):
            break
    print(f"{life.__name__} {shape}: the operator was killed {met} times")  # noqa: T201 - how much was swept
    assert met
