"""A continuous driver that dies at any moment of any batch: the next one leaves every input row in the table once."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.continuous.test_continuous import QUICK, progress_file
from tests.spark_jobs.trials import ALL, IN_FULL, LEASE
from tests.spark_jobs.writers.test_kill import ROWS, appeared, csv, unfinished

from hudi_jobs.contract import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PHASES = ("read", "recorded", "after-commit", "between-batches")
MOMENTS = (*PHASES, "writing", "committing")


@pytest.mark.parametrize(
    ("operation", "table_type", "moments"),
    [
        ("BulkInsert", "MergeOnRead", MOMENTS if ALL else ("committing",)),
        pytest.param("Upsert", "MergeOnRead", MOMENTS, marks=IN_FULL),
        pytest.param("Insert", "CopyOnWrite", MOMENTS, marks=IN_FULL),
    ],
)
def test_every_row_is_in_the_table_once_after_a_kill_at_each_moment_of_a_later_batch(
    lake: Any, program: Callable[..., Any], operation: str, table_type: str, moments: tuple[str, ...]
) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": table_type}, True, LEASE
    for number, moment in enumerate(moments):
        first, second = 2 * number, 2 * number + 1
        lake.put(f"{first}.csv", csv(first * ROWS), at=first)
        # What the run before has left is in the first batch, together with the new file.
        pause = {"HUDI_JOB_PAUSE_AT": f"{moment}:2"} if moment in PHASES else {}
        running = program(lake.request(operation=operation, continuous={**QUICK, "min_interval_seconds": 0.1}), **pause)
        running.wait_until(committed_by(lake, f"run-{lake.runs}"))
        lake.put(f"{second}.csv", csv(second * ROWS), at=second)
        if moment in PHASES:
            running.wait_until(running.has_stopped)
        else:
            running.wait_until(lambda moment=moment: appeared(moment, lake))
        running.kill()
        assert not running.outcome_file.exists()
        if moment in {"writing", "committing"}:
            assert unfinished(lake)

    assert lake.ingest(operation=operation).outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
    found = lake.spark.read.format("hudi").load(lake.base_path).selectExpr("count(*)", "count(DISTINCT id)").first()
    assert tuple(found) == (2 * len(moments) * ROWS, 2 * len(moments) * ROWS)


def committed_by(lake: Any, run: str) -> Callable[[], bool]:
    """Whether a run has said that it has committed a batch."""
    return lambda: (found := progress_file(lake)) is not None and found.run == run and found.batches >= 1


def said_by(lake: Any, run: str) -> Callable[[], bool]:
    """Whether a run has said anything: it holds the lease and has begun its first batch."""
    return lambda: (found := progress_file(lake)) is not None and found.run == run
