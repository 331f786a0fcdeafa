"""A driver that dies at any moment, in both modes: the next one leaves the rows of the upstream table, all of them."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark_jobs.continuous.test_continuous import QUICK, has_committed, progress_of, sequences
from tests.spark_jobs.continuous.test_continuous_kill import committed_by
from tests.spark_jobs.trials import IN_FULL, LEASE
from tests.spark_jobs.writers.test_kill import PHASES, appeared, unfinished

from hudi_jobs.contract import Outcome

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 3_000
MOMENTS = (*PHASES, "writing", "committing")
LATER = ("read", "recorded", "after-commit", "between-batches")


def write(upstream: Any, number: int) -> None:
    """A commit with new rows, which also writes some rows of the commit before once more."""
    first = number * ROWS
    upstream.write(
        (one, f"d{one % 2}", f"by {number}", number) for one in range(max(first - ROWS // 3, 0), first + ROWS)
    )


@IN_FULL  # otherwise `writers/test_kill.py` and `kafka/test_kills.py` kill drivers, which all commit in one way
@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_all_rows_are_in_the_table_after_a_kill_at_each_moment(
    upstream: Any, program: Callable[..., Any], kind: str
) -> None:
    lake, upstream.kind = upstream.lake, kind
    # Without partitions, so that the moments of Hudi are seen.
    lake.table, lake.metadata_table, lake.lease = {"recordKey": ["id"]}, True, LEASE
    for number, moment in enumerate(MOMENTS):
        write(upstream, number)
        running = program(
            lake.request(**upstream.task()), **({"HUDI_JOB_PAUSE_AT": moment} if moment in PHASES else {})
        )
        before = unfinished(lake)
        if moment in PHASES:
            running.wait_until(running.has_stopped)
        else:
            running.wait_until(
                lambda moment=moment, before=before: appeared(moment, lake) and unfinished(lake) != before
            )
        running.kill()
        assert not running.outcome_file.exists()

        # What comes meanwhile makes the batch longer.
        upstream.write([(-1 - number, "d0", "meanwhile", number)])
        recovered = upstream.follow()
        assert recovered.outcome is Outcome.SUCCEEDED, recovered
        if moment in {"after-commit", "before-outcome"}:
            assert recovered.rows_read == 1
        assert upstream.followed() == upstream.rows(), moment
        assert not unfinished(lake)
    assert upstream.follow().outcome is Outcome.NOTHING_TO_DO


@IN_FULL
def test_all_rows_are_in_the_table_after_a_kill_in_a_later_batch(upstream: Any, program: Callable[..., Any]) -> None:
    lake = upstream.lake
    lake.metadata_table, lake.lease = True, LEASE
    for number, moment in enumerate(LATER):
        write(upstream, 2 * number)
        request = lake.request(**upstream.task(continuous={**QUICK, "min_interval_seconds": 0.1}))
        running = program(request, HUDI_JOB_PAUSE_AT=f"{moment}:2")
        running.wait_until(committed_by(lake, f"run-{lake.runs}"))
        write(upstream, 2 * number + 1)
        running.wait_until(running.has_stopped)
        running.kill()
    assert upstream.follow().outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
    assert upstream.followed() == upstream.rows()


def test_a_continuous_driver_commits_what_comes_and_makes_no_commit_while_nothing_does(
    upstream: Any, beside: Callable[..., Any]
) -> None:
    upstream.lake.lease = LEASE
    write(upstream, 0)
    running = beside(upstream.lake.request(**upstream.task(continuous=QUICK)))
    running.wait_until(has_committed(upstream.lake, 1))
    for number in (1, 2):
        write(upstream, number)
        running.wait_until(has_committed(upstream.lake, number + 1))
    polls, before = progress_of(upstream.lake).polls, upstream.lake.instants()
    running.wait_until(lambda: progress_of(upstream.lake).polls > polls + 2)
    result = running.end()

    assert (result.outcome, result.batches) == (Outcome.SUCCEEDED, 3)
    assert upstream.lake.instants() == before
    assert sequences(upstream.lake) == [1, 2, 3]
    assert upstream.followed() == upstream.rows()
