"""What the status says of a long run: when it is asked for, when it changes, and when it goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    ago,
    at,
    job,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status,
    status_of,
    table,
)

from hudi_jobs.contract import Service
from hudi_jobs.contract.run_progress import RunProgress
from hudi_operator.api.status.runs import ActiveJob, LiveStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.runs.shown_progress import leases_to_read
from hudi_operator.planning.model import Observation

COMPACTING = {"run": JOB, "phase": "Compacting", "unit": "FileGroups", "total": 480, "seconds": 60}


def running(*, since: float = 5, **changes: Any) -> ActiveJob:
    return active(**{"service": "Compaction", "running_since": at(NOW - minutes(since)), **changes})


def told(*found: dict[str, Any], known: ActiveJob | None = None) -> Observation:
    """A table with a compaction at work, and what the leases say."""
    reported = tuple(RunProgress.model_validate(one) for one in found)
    seen = snapshot(("earlier", ago(9)), run_progress=reported)
    found_job = job(service=Service.COMPACTION, started_at=NOW - minutes(5))
    remembered = status(ingestion=memory(last_run=run()), active_jobs=(known or running(),), observed_generation=1)
    return observe(table(status=remembered), jobs=(found_job,), snapshot=seen)


def line(after: HudiTableStatus) -> str | None:
    (one,) = after.jobs
    return one.progress


def test_a_long_run_shows_how_far_it_is() -> None:
    after = status_of(told(COMPACTING | {"done": 120}))

    assert line(after) == "Compacting: 120 of 480 file groups, about 3m left"
    assert after.active_jobs[0].progress_at == at(NOW)
    assert after.message == "Compaction is running. Compacting: 120 of 480 file groups, about 3m left."
    assert after.to_document()["jobs"][0]["progress"] == line(after)


def test_progress_changes_a_minute_after_the_last_change() -> None:
    observation = told(COMPACTING | {"done": 120})
    first = status_of(observation)
    later = again(told(COMPACTING | {"done": 240}), first)

    assert status_of(later, now=NOW + minutes(0.9)).jobs == first.jobs
    assert line(status_of(later, now=NOW + minutes(1))) == "Compacting: 240 of 480 file groups, about 60s left"


def test_equal_progress_changes_nothing() -> None:
    first = status_of(told(COMPACTING))
    later = again(told(COMPACTING), first)

    assert line(first) == "Compacting"
    assert status_of(later, now=NOW + minutes(10)).active_jobs == first.active_jobs


def test_progress_of_another_run_shows_nothing() -> None:
    assert line(status_of(told(COMPACTING | {"run": "another"}))) is None


def test_progress_goes_where_the_driver_reports_no_phase_any_more() -> None:
    known = running(progress="Compacting", progress_at=at(NOW - minutes(2)))

    assert line(status_of(told(known=known))) is None


def test_progress_stays_while_the_leases_are_not_read() -> None:
    known = running(progress="Compacting", progress_at=at(NOW - minutes(2)))
    observation = told(known=known)

    unread = observe(observation.table, jobs=observation.jobs, snapshot=snapshot(("earlier", ago(9))))
    assert line(status_of(unread)) == "Compacting"


@pytest.mark.parametrize(
    ("jobs", "leases"),
    [
        ((), ()),
        ((running(),), ("services.json",)),
        ((running(since=0.9),), ()),
        ((running(running_since=None),), ()),
        ((running(progress="Compacting", progress_at=at(NOW - minutes(0.9))),), ()),
        ((running(progress="Compacting", progress_at=at(NOW - minutes(1))),), ("services.json",)),
        # The time of the last change is in the future, as after a change of the API server's clock.
        ((running(progress="Compacting", progress_at=at(NOW + minutes(9))),), ("services.json",)),
        ((running(), running(service="Ingestion")), ("ingestion.json", "services.json")),
        ((running(), running(service="Operation")), ("services.json",)),
        ((running(service=None),), ()),
        ((running(service="Ingestion", live=LiveStatus()),), ()),
    ],
)
def test_leases_are_read_for_runs_of_a_minute_or_more(jobs: tuple[ActiveJob, ...], leases: tuple[str, ...]) -> None:
    assert leases_to_read(jobs, now=NOW) == leases
