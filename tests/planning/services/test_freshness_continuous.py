"""A continuous driver of a table that misses its freshness: for which services it ends, when, and what starts then."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.planning.continuous_world import (
    DUE_FOR_CLEANING,
    LOCK,
    VERSION,
    a_table,
    launches,
    live,
    progress,
    running,
    seen,
    stops,
)
from tests.planning.world import (
    JOB,
    NOW,
    again,
    ago,
    at,
    done,
    ended,
    job,
    memory,
    minutes,
    plan_for,
    run,
    snapshot,
    status_of,
    story,
)

from hudi_jobs.contract import Service
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.planning.model import JobPhase, Observation
from hudi_operator.planning.model.times import source_of
from hudi_operator.planning.order.budget import PATIENCE

CLEANING: dict[str, Any] = {"type": "CopyOnWrite", "cleaning": {"retainCommits": 2}}
TURN = 30
"""Minutes of a driver's turn."""


def driven(
    age: float = 120,
    *,
    since: float = TURN,
    services: str = "Alternating",
    takes: bool | None = None,
    memories: dict[str, Any] | None = None,
    timeline: Any = DUE_FOR_CLEANING,
    **changes: Any,
) -> Observation:
    """A table so many minutes behind a freshness of ten, whose driver runs and whose cleaning is due."""
    one = a_table(continuous={"services": services, "progressDeadline": "168h"}, **{**CLEANING, **changes})
    ingestion = one.spec.ingestion
    assert ingestion is not None
    asked = one.spec.copy_with(ingestion=ingestion.copy_with(freshness="10m"))
    one = one.copy_with(spec=asked)
    freshness = FreshnessStatus(complete_up_to=at(NOW - minutes(age)), source=source_of(asked))
    remembered = {"ingestion": memory(freshness=freshness), **(memories or {})}
    known = running(live=live(running_since=at(NOW - minutes(since)), polled_at=at(NOW), takes=takes))
    shows = snapshot((JOB, ago(11)), timeline=timeline, progress=progress(takes=bool(takes)))
    return seen(one, known=known, shows=shows, memories=remembered)


def later(observation: Observation, *, now: datetime) -> Observation:
    """The table as it is seen after what was decided at that time."""
    return again(observation, status_of(observation, now=now))


def after_driver(
    observation: Observation, *, age: float = 120, annotations: dict[str, str] | None = None
) -> Observation:
    """The table after its driver has ended as it was asked to; it is so far behind by then."""
    found = later(observation, now=NOW)
    services = found.table.status.services
    known = services.ingestion.freshness
    assert known is not None
    behind = known.copy_with(complete_up_to=at(NOW - minutes(age)))
    services = services.copy_with(ingestion=services.ingestion.copy_with(freshness=behind))
    metadata = found.table.metadata.copy_with(annotations=annotations or {})
    stored = found.table.status.copy_with(services=services)
    table = found.table.copy_with(status=stored, metadata=metadata)
    shows = replace(found.snapshot, progress=None)
    over = ended(class_version=found.jobs[0].class_version, generation=1)
    return replace(found, table=table, snapshot=shows, jobs=(over,))


def started(observation: Observation, *, now: datetime = NOW) -> list[Service | None]:
    return [one.service for one in launches(plan_for(observation, now=now))]


def test_a_driver_does_not_end_for_a_service_that_ingestion_would_go_before() -> None:
    plan = plan_for(driven())
    assert (stops(plan), launches(plan)) == ([], [])
    assert plan.services.cleaning.passed_over == 1
    assert plan.services.cleaning.reason == "IngestionFirst"
    assert "this service was skipped once and goes first after 10" in plan.services.cleaning.message
    assert stops(plan_for(driven(age=5))) == ["Draining"], "a table that is fresh enough gives way"


def test_a_service_is_passed_over_once_in_a_turn_and_the_status_is_written_no_more_often() -> None:
    observation = later(driven(), now=NOW)
    for minute in (1, 2, TURN - 1):
        found = plan_for(observation, now=NOW + minutes(minute))
        assert (found.services.cleaning.passed_over, stops(found)) == (1, [])
    between = later(observation, now=NOW + minutes(1))
    assert between.table.status == observation.table.status
    assert plan_for(observation, now=NOW + minutes(TURN)).services.cleaning.passed_over == 2


def test_driver_ends_once_for_a_service_that_was_passed_over_for_long() -> None:
    observation, now, turns = driven(), NOW, 0
    while not stops(plan_for(observation, now=now)):
        assert turns <= PATIENCE
        observation, now, turns = later(observation, now=now), now + minutes(TURN), turns + 1
    assert turns == PATIENCE
    waited = driven(memories={"cleaning": memory(due=True, passed_over=PATIENCE)})
    following = after_driver(waited)
    assert started(following) == [Service.CLEANING]
    assert plan_for(following).services.cleaning.passed_over == 0


def test_service_that_a_driver_ended_for_starts_although_freshness_is_missed() -> None:
    plan = plan_for(driven(age=9))
    [told] = [one.live for one in plan.active_jobs]
    assert told is not None
    assert (stops(plan), told.ends_for) == (["Draining"], Service.CLEANING)
    following = after_driver(driven(age=9))
    assert started(following) == [Service.CLEANING]
    last = plan_for(following).services.ingestion.last_run
    assert last is not None
    assert (last.reason, last.ended_for) == ("Drained", Service.CLEANING)


def test_service_that_a_driver_ended_for_starts_before_a_later_request() -> None:
    request = {"hudi-operator.io/requested-at": "2026-03-10T11:59:30Z"}
    assert started(after_driver(driven(age=1), age=1, annotations=request)) == [Service.CLEANING]


def rested(last: RunStatus, cleaned: RunStatus | None = None, **changes: Any) -> Observation:
    """A table that misses its freshness without a driver, whose last one has ended like this."""
    one = driven(**changes)
    services = one.table.status.services
    services = services.copy_with(
        ingestion=services.ingestion.copy_with(last_run=last),
        cleaning=services.cleaning.copy_with(last_run=cleaned),
    )
    state = one.table.status.copy_with(services=services, active_jobs=())
    shows = replace(one.snapshot, progress=None)
    return replace(one, table=one.table.copy_with(status=state), jobs=(), snapshot=shows)


@pytest.mark.parametrize(
    ("ended_for", "cleaned", "expected"),
    [
        (Service.CLEANING, None, Service.CLEANING),
        (Service.CLEANING, run(service="Cleaning", started_at=at(NOW - minutes(9))), Service.CLEANING),
        # It has had its turn.
        (Service.CLEANING, run(service="Cleaning", started_at=at(NOW - minutes(2))), Service.INGESTION),
        # It is not due any more.
        (Service.ARCHIVAL, None, Service.INGESTION),
        # The driver has ended for something else, or what is stored makes no sense.
        (None, None, Service.INGESTION),
        (Service.INGESTION, None, Service.INGESTION),
        (Service.DELETION, None, Service.INGESTION),
    ],
)
def test_only_the_service_that_the_driver_ended_for_goes_before_ingestion_once(
    ended_for: Service | None, cleaned: RunStatus | None, expected: Service
) -> None:
    last = run(reason="Drained", finished_at=at(NOW - minutes(3)), ended_for=ended_for)
    assert started(rested(last, cleaned)) == [expected]


def test_a_driver_that_has_ended_for_the_spec_gives_no_service_a_turn() -> None:
    observation = driven(age=9)
    newer = observation.table.metadata.copy_with(generation=2)
    plan = plan_for(replace(observation, table=observation.table.copy_with(metadata=newer)))
    [told] = [one.live for one in plan.active_jobs]
    assert told is not None
    assert (stops(plan), told.ends_for) == (["Draining"], None)


def test_a_service_inside_the_driver_does_not_stop_ingestion_and_does_not_wait_for_it() -> None:
    plan = plan_for(driven(services="Inside", takes=True))
    [asked] = launches(plan)
    assert (asked.service, asked.inside, stops(plan)) == (Service.CLEANING, JOB, [])
    assert plan.services.cleaning.passed_over == 0


def test_a_pending_clustering_for_which_updates_would_fail_ends_the_driver_at_once() -> None:
    commits = (done("commit", 60 - one) for one in range(9))
    pending = story(*commits, f"{ago(45.5)}.clustering.requested", clusterings=[ago(45.5)])
    observation = driven(timeline=pending, clustering={"mode": "Async"}, cleaning={"mode": "Disabled"})
    state = observation.table.status.copy_with(left_behind=(ago(45.5),))
    plan = plan_for(replace(observation, table=observation.table.copy_with(status=state)))
    assert plan.services.clustering.due
    assert stops(plan) == ["Draining"]


def test_a_compaction_that_an_optimistic_driver_ends_for_waits_its_turns_too() -> None:
    deltas = story(*(done("deltacommit", 30 - one) for one in range(9)))
    one = {**LOCK, "type": "MergeOnRead", "cleaning": {"mode": "Disabled"}, "compaction": {"mode": "Async"}}
    plan = plan_for(driven(timeline=deltas, **one))
    assert (stops(plan), plan.services.compaction.passed_over) == ([], 1)
    assert stops(plan_for(driven(age=5, timeline=deltas, **one))) == ["Draining"]


def test_a_driver_that_has_not_started_is_no_turn() -> None:
    observation = replace(driven(), jobs=(job(class_version=VERSION, generation=1, phase=JobPhase.STARTING),))
    assert plan_for(observation).services.cleaning.passed_over == 0
