"""A clustering to which writers come in the way again and again has an Optimistic table to itself, by turns."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.continuous_world import LOCK, a_table, launches, live, progress, running, seen, stops
from tests.planning.world import (
    JOB,
    NOW,
    active,
    ago,
    at,
    done,
    job,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    snapshot,
    status,
    story,
    table,
)

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.model import Observation
from hudi_operator.planning.order.slots import ATTEMPTS_BESIDE
from hudi_operator.planning.outcome.plan import Plan

CLUSTERING: dict[str, Any] = {"clustering": {"mode": "Async", "trigger": {"commits": 2}}}
DUE = story(*(done("commit", 30 - one) for one in range(3)))


def beaten(times: int) -> ServiceStatus:
    last = run(service="Clustering", outcome=Outcome.CONFLICT, reason="Conflict", finished_at=at(NOW - minutes(90)))
    return memory(conflicts=times, failures_generation=1, last_run=last)


def followed(times: int, *, since: int = 45, **changes: Any) -> Observation:
    """A table whose driver has run for so many minutes, and whose clustering has given way so often."""
    known = running(live=live(running_since=at(NOW - minutes(since)), polled_at=at(NOW)))
    return seen(
        a_table(**CLUSTERING, **LOCK),
        known=known,
        shows=snapshot((JOB, ago(2)), timeline=DUE, progress=progress()),
        memories={"clustering": beaten(times)},
        **changes,
    )


def started(plan: Plan) -> list[Service | None]:
    return [one.service for one in launches(plan)]


@pytest.mark.parametrize("times", [0, ATTEMPTS_BESIDE - 1, ATTEMPTS_BESIDE + 1, 2 * ATTEMPTS_BESIDE])
def test_clustering_runs_beside_the_driver_as_long_as_it_may_win(times: int) -> None:
    plan = plan_for(followed(times))
    assert (started(plan), stops(plan)) == ([Service.CLUSTERING], [])


@pytest.mark.parametrize("times", [ATTEMPTS_BESIDE, 2 * ATTEMPTS_BESIDE + 1])
def test_driver_ends_for_a_beaten_clustering_between_two_batches(times: int) -> None:
    plan = plan_for(followed(times))
    assert (started(plan), stops(plan)) == ([], ["Draining"])
    assert "Clustering is due, and gave way to writers again and again" in plan.active_jobs[0].message


def test_a_driver_has_its_own_turn_first() -> None:
    plan = plan_for(followed(ATTEMPTS_BESIDE, since=1))
    assert (started(plan), stops(plan)) == ([], [])


def test_no_driver_ends_for_a_service_that_waits_for_another() -> None:
    observation = followed(ATTEMPTS_BESIDE)
    other = active("flights-cleaning-0123456789", service="Cleaning")
    state = observation.table.status.copy_with(active_jobs=(*observation.table.status.active_jobs, other))
    beside = observe(
        observation.table.copy_with(status=state),
        jobs=(*observation.jobs, job(other.name, service="Cleaning")),
        snapshot=observation.snapshot,
    )
    assert stops(plan_for(beside)) == []


@pytest.mark.parametrize(
    ("times", "expected"),
    [(ATTEMPTS_BESIDE, [Service.CLUSTERING]), (ATTEMPTS_BESIDE - 1, [Service.INGESTION, Service.CLUSTERING])],
)
def test_clustering_goes_first_and_alone_once_the_driver_has_ended(times: int, expected: list[Service]) -> None:
    one = a_table(**CLUSTERING, **LOCK)
    state = status(clustering=beaten(times))
    plan = plan_for(observe(one.copy_with(status=state), snapshot=snapshot((JOB, ago(2)), timeline=DUE)))
    assert started(plan) == expected


def test_a_scheduled_ingestion_waits_for_it_too() -> None:
    one = table(ingestion={"schedule": {"every": "1m"}}, compaction={"mode": "Disabled"}, **CLUSTERING, **LOCK)
    state = status(
        clustering=beaten(ATTEMPTS_BESIDE), active_jobs=(active("flights-clustering-1", service="Clustering"),)
    )
    observation = observe(
        one.copy_with(status=state),
        jobs=(job("flights-clustering-1", service="Clustering"),),
        snapshot=snapshot((JOB, ago(2)), timeline=DUE),
    )
    plan = plan_for(observation)
    assert plan.services.ingestion.due
    assert started(plan) == []


@pytest.mark.parametrize(("is_running", "counted"), [(True, 2), (False, 0)])
def test_the_plan_that_its_own_run_has_made_does_not_end_the_count(is_running: bool, counted: int) -> None:
    """Hudi counts commits from a pending clustering on, so that none is due while one is rewritten."""
    one = a_table(**CLUSTERING, **LOCK)
    running_now = (active("flights-clustering-1", service="Clustering"),) if is_running else ()
    observation = observe(
        one.copy_with(status=status(clustering=beaten(2), active_jobs=running_now)),
        jobs=tuple(job(known.name, service="Clustering") for known in running_now),
        snapshot=snapshot((JOB, ago(2)), timeline=story(done("commit", 1))),
    )
    plan = plan_for(observation)
    assert plan.services.clustering.reason == "BelowThreshold"
    assert plan.services.clustering.conflicts == counted
