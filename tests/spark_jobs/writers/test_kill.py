"""A driver that dies at any moment: the next run leaves every input row in the table exactly once, by every operation.

Without `HUDI_JOBS_TRIALS=all` only some moments are tried; the end-to-end tests try two more, one after the commit.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE

from hudi_jobs.contract import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 5_000
PHASES = ("listed", "read", "recorded", "after-commit", "before-outcome")
MOMENTS = (*PHASES, "writing", "committing")


def csv(first: int, rows: int = ROWS) -> str:
    return "id,carrier\n" + "".join(f"{number},AA\n" for number in range(first, first + rows))


def extent(lake: Any) -> tuple[int, ...]:
    """How many rows the table has, how many keys, and the least and the greatest of them."""
    read = lake.spark.newSession().read.format("hudi").load(lake.base_path)
    row = read.selectExpr("count(*)", "count(DISTINCT id)", "min(CAST(id AS INT))", "max(CAST(id AS INT))").first()
    return tuple(row)


def kill_at(moment: str, lake: Any, program: Callable[..., Any], operation: str) -> None:
    """Run the driver on what is new and kill it at its own phase, or when Hudi's files show the moment."""
    request = lake.request(operation=operation)
    if moment in PHASES:
        running = program(request, HUDI_JOB_PAUSE_AT=moment)
        running.wait_until(running.has_stopped)
    else:
        running = program(request)
        before = unfinished(lake)
        running.wait_until(lambda: appeared(moment, lake) and unfinished(lake) != before)
    running.kill()
    assert not running.outcome_file.exists()


def kill_and_recover(moment: str, lake: Any, program: Callable[..., Any], operation: str) -> None:
    """Kill a driver at a moment, and have the next run do what is left."""
    kill_at(moment, lake, program, operation)
    committed = moment in {"after-commit", "before-outcome"}
    assert (moment in {"writing", "committing"}) == bool(unfinished(lake))
    recovered = lake.ingest(operation=operation)
    assert recovered.outcome is (Outcome.NOTHING_TO_DO if committed else Outcome.SUCCEEDED), recovered


def appeared(moment: str, lake: Any) -> bool:
    """Hudi writes the data first, then the metadata table, and completes the table's own instant last."""
    inflight = next(iter(unfinished(lake)), None)
    if inflight is None:
        return False
    if moment == "writing":
        return any((lake.folder / "table").glob(f"*{inflight}*"))
    metadata = lake.folder / "table/.hoodie/metadata/.hoodie/timeline"
    return any(metadata.glob(f"{inflight}.deltacommit.inflight"))


def unfinished(lake: Any) -> set[str]:
    """Instants that have begun to write and have not completed."""
    timeline: Path = lake.folder / "table/.hoodie/timeline"
    begun = {path.name.partition(".")[0] for path in timeline.glob("[0-9]*inflight")}
    return begun - {path.name.partition("_")[0] for path in timeline.glob("[0-9]*_*")}


@pytest.mark.parametrize(
    ("operation", "table_type", "moments"),
    [
        ("Upsert", "MergeOnRead", MOMENTS if ALL else ("writing",)),
        pytest.param("Insert", "CopyOnWrite", MOMENTS, marks=IN_FULL),
        pytest.param("BulkInsert", "MergeOnRead", MOMENTS, marks=IN_FULL),
    ],
)
def test_every_row_is_in_the_table_once_after_a_kill_at_each_moment(
    lake: Any, program: Callable[..., Any], operation: str, table_type: str, moments: tuple[str, ...]
) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": table_type}, True, LEASE
    for number, moment in enumerate(moments):
        lake.put(f"{number}.csv", csv(number * ROWS), at=number)
        kill_and_recover(moment, lake, program, operation)
        rows = (number + 1) * ROWS
        assert extent(lake) == (rows, rows, 0, rows - 1), moment
        assert not unfinished(lake)
    assert lake.ingest(operation=operation).outcome is Outcome.NOTHING_TO_DO


@IN_FULL
@pytest.mark.parametrize("table_type", ["CopyOnWrite", "MergeOnRead"])
@pytest.mark.parametrize("operation", ["Delete", "InsertOverwrite"])
def test_rows_are_deleted_or_replaced_although_the_driver_is_killed_at_each_moment(
    lake: Any, program: Callable[..., Any], operation: str, table_type: str
) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": table_type}, True, LEASE
    rows = (len(MOMENTS) + 1) * ROWS
    lake.put("all.csv", csv(0, rows))
    assert lake.ingest(operation="BulkInsert").outcome is Outcome.SUCCEEDED
    for number, moment in enumerate(MOMENTS):
        lake.put(f"{number}.csv", csv(number * ROWS), at=number)
        kill_and_recover(moment, lake, program, operation)
        left = range(number * ROWS, rows)[:ROWS] if operation == "InsertOverwrite" else range((number + 1) * ROWS, rows)
        assert extent(lake) == (len(left), len(left), left.start, left.stop - 1), moment
        assert not unfinished(lake)
    assert lake.ingest(operation=operation).outcome is Outcome.NOTHING_TO_DO
