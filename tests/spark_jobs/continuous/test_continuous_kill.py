"""A continuous driver that dies at any moment of any batch: the next one leaves every input row in the table once."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.continuous.test_continuous import QUICK, progress_file
from tests.spark_jobs.trials import IN_FULL, LEASE
from tests.spark_jobs.writers.test_kill import ROWS, appeared, csv, extent, unfinished

from hudi_jobs.contract import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PHASES = ("read", "recorded", "after-commit", "between-batches")
MOMENTS = (*PHASES, "writing", "committing")
NOT_THERE = "-1,AA\n"


@IN_FULL  # otherwise `tests/e2e/test_continuous.py` kills one, and `writers/test_kill.py` drivers of one batch
@pytest.mark.parametrize(
    ("operation", "table_type"), [("BulkInsert", "MergeOnRead"), ("Upsert", "MergeOnRead"), ("Insert", "CopyOnWrite")]
)
def test_every_row_is_in_the_table_once_after_a_kill_at_each_moment_of_a_later_batch(
    lake: Any, program: Callable[..., Any], operation: str, table_type: str
) -> None:
    lake.table, lake.metadata_table, lake.lease = {"type": table_type}, True, LEASE
    for number, moment in enumerate(MOMENTS):
        kill_in_the_second_batch(moment, lake, program, operation, first=2 * number)

    assert lake.ingest(operation=operation).outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
    rows = 2 * len(MOMENTS) * ROWS
    assert extent(lake) == (rows, rows, 0, rows - 1)


@IN_FULL  # as the test before
@pytest.mark.parametrize("table_type", ["CopyOnWrite", "MergeOnRead"])
def test_what_batches_delete_may_come_back_although_the_driver_is_killed_at_each_moment_of_a_later_one(
    lake: Any, program: Callable[..., Any], table_type: str
) -> None:
    """A delete that were done twice would delete a row that has come since; one of no row is no failure."""
    lake.table, lake.metadata_table, lake.lease = {"type": table_type}, True, LEASE
    files = 2 * len(MOMENTS)
    lake.put("all.csv", csv(0, files * ROWS + 1))
    assert lake.ingest(operation="BulkInsert").outcome is Outcome.SUCCEEDED
    back: list[tuple[str]] = []
    for number, moment in enumerate(MOMENTS):
        kill_in_the_second_batch(moment, lake, program, "Delete", first=2 * number, more=NOT_THERE)
        committed = (2 * number, 2 * number + 1) if moment in {"after-commit", "between-batches"} else (2 * number,)
        back += [(str(one * ROWS),) for one in committed]
        lake.put(f"../back/{number}.csv", "id,carrier\n" + "".join(f"{one * ROWS},AA\n" for one in committed))
        assert lake.ingest(files={"path": f"{lake.root}/back"}).outcome is Outcome.SUCCEEDED

    assert lake.ingest(operation="Delete").outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
    assert lake.rows("id") == sorted([*back, (str(files * ROWS),)])


def kill_in_the_second_batch(
    moment: str, lake: Any, program: Callable[..., Any], operation: str, *, first: int, more: str = ""
) -> None:
    """Have a driver read one file and then another one, and kill it at its own phase or when Hudi's files show it."""
    lake.put(f"{first}.csv", csv(first * ROWS) + more, at=first)
    # What the run before has left is in the first batch, together with the new file.
    pause = {"HUDI_JOB_PAUSE_AT": f"{moment}:2"} if moment in PHASES else {}
    running = program(lake.request(operation=operation, continuous={**QUICK, "min_interval_seconds": 0.1}), **pause)
    running.wait_until(committed_by(lake, f"run-{lake.runs}"))
    lake.put(f"{first + 1}.csv", csv((first + 1) * ROWS) + more, at=first + 1)
    if moment in PHASES:
        running.wait_until(running.has_stopped)
    else:
        running.wait_until(lambda: appeared(moment, lake))
    running.kill()
    assert not running.outcome_file.exists()
    if moment in {"writing", "committing"}:
        assert unfinished(lake)


def committed_by(lake: Any, run: str) -> Callable[[], bool]:
    """Whether a run has said that it has committed a batch."""
    return lambda: (found := progress_file(lake)) is not None and found.run == run and found.batches >= 1


def said_by(lake: Any, run: str) -> Callable[[], bool]:
    """Whether a run has said anything: it holds the lease and has begun its first batch."""
    return lambda: (found := progress_file(lake)) is not None and found.run == run
