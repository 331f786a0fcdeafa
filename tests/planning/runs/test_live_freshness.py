"""What a continuous ingestion says of how far it has come, while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import NOW, at, minutes, observe, snapshot, spec, table

from hudi_jobs.contract import Progress, ProgressState
from hudi_operator.api.status.runs import ActiveJob, LiveStatus
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.planning.facts.runs.freshness import freshness_while_running
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import source_of

RUN = "flights-ingestion-1"
COMMIT = "20260310115900000"


def known(ago: float, **figures: Any) -> FreshnessStatus:
    """What is known: everything up to so many minutes ago is in the table."""
    source = source_of(spec(ingestion={"freshness": "10m"}))
    return FreshnessStatus(complete_up_to=at(NOW - minutes(ago)), source=source, **figures)


def seen(ago: float, *, run: str = RUN, instant: str | None = COMMIT, records: int | None = None) -> Observation:
    """A table whose driver says that everything up to so many minutes ago is in it."""
    said = Progress(
        run=run,
        sequence=7,
        state=ProgressState.WAITING,
        written_at=at(NOW),
        instant=instant,
        complete_up_to=at(NOW - minutes(ago)),
        backlog_records=records,
    )
    found = replace(snapshot((RUN, COMMIT)), progress=said)
    return observe(table(ingestion={"freshness": "10m"}), snapshot=found)


def job(*, generation: int = 1, live: LiveStatus | None = LiveStatus()) -> ActiveJob:  # noqa: B008 - a frozen value
    return ActiveJob(name=RUN, attempt=1, started_at=at(NOW), generation=generation, live=live)


def after(before: FreshnessStatus | None, observation: Observation, *jobs: ActiveJob) -> FreshnessStatus | None:
    return freshness_while_running(before, observation, jobs or (job(),), now=NOW)


def test_a_running_ingestion_says_how_far_it_is_before_it_ends() -> None:
    assert after(None, seen(2, records=5)) == known(2, backlog_records=5)
    assert after(known(5), seen(2)) == known(2)


def test_a_time_that_is_hardly_later_is_no_write_of_the_status() -> None:
    assert after(known(2.5), seen(2, records=5)) == known(2.5)


def test_a_table_that_is_behind_is_told_at_once_that_it_is_not_any_more() -> None:
    assert after(known(10.5), seen(9.9)) == known(9.9)


@pytest.mark.parametrize(
    ("observation", "active"),
    [
        (seen(0, run="another"), job()),
        (seen(0, instant="20260310115959001"), job()),
        (seen(0), job(generation=0)),
        (seen(0), job(live=None)),
    ],
    ids=["another run's", "a commit that the timeline lacks", "an earlier spec", "no continuous run"],
)
def test_freshness_of_another_run_or_without_its_commits_is_not_believed(
    observation: Observation, active: ActiveJob
) -> None:
    assert after(known(5), observation, active) == known(5)
