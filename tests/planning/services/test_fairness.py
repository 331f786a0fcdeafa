"""No service starves: each that is due starts after a bounded number of others, whatever is requested or fails."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tests.planning.services.test_order import launched, world
from tests.planning.world import memory, plan_for

from hudi_jobs.contract import Service
from hudi_operator.planning.order.budget import PATIENCE
from hudi_operator.services.registry import SERVICES

REQUEST = {"hudi-operator.io/requested-at": "2026-03-10T11:59:30Z"}
BOUND = PATIENCE + len(SERVICES)
OPTIMISTIC: dict[str, Any] = {
    "index": {"type": "Bucket"},
    "concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}},
}


def turns(reconciles: int, commits: int, **changes: Any) -> list[str]:
    """Return what starts, one after the other, while every service stays due and ingestion is requested again."""
    started: list[str] = []
    remembered: dict[str, Any] = {}
    for _ in range(reconciles):
        plan = plan_for(world(commits, annotations=REQUEST, remembered=remembered, **changes))
        started += launched(plan)
        counts = {service: plan.services.of(service).passed_over for service in SERVICES}
        remembered = {service.lower(): memory(due=True, passed_over=count) for service, count in counts.items()}
    return started


@pytest.mark.parametrize("commits", [20, 60], ids=["just due", "far behind"])
@pytest.mark.parametrize("changes", [{}, OPTIMISTIC], ids=["serialized", "optimistic"])
def test_every_due_service_starts_after_a_bounded_number_of_others_whatever_is_requested(
    commits: int, changes: dict[str, Any]
) -> None:
    due = [service for service in SERVICES if plan_for(world(commits, **changes)).services.of(service).due]
    assert len(due) >= 4
    started = turns(4 * BOUND, commits, **changes)
    for service in due:
        lane = [one for one in started if not changes or (one == Service.INGESTION) == (service is Service.INGESTION)]
        places = [place for place, other in enumerate(lane) if other == service]
        assert max(later - earlier for earlier, later in pairwise([-1, *places, len(lane)])) <= BOUND, service
    assert started.count(Service.INGESTION) >= len(started) // len(due)


def behind(commits: int = 60, **remembered: int) -> list[str]:
    """What starts where a request is open and services were passed over this often."""
    counted = {service: memory(due=True, passed_over=number) for service, number in remembered.items()}
    return launched(plan_for(world(commits, annotations=REQUEST, remembered=counted)))


@pytest.mark.parametrize(
    ("started", "remembered"),
    [
        ("Ingestion", {}),
        ("Compaction", {"compaction": 1}),
        ("Cleaning", {"compaction": 1, "cleaning": 2}),
        ("Ingestion", {"compaction": 1, "ingestion": 1}),
        ("Ingestion", {"compaction": PATIENCE - 1, "ingestion": PATIENCE}),
        ("Archival", {"compaction": PATIENCE, "archival": PATIENCE + 1}),
    ],
)
def test_a_request_takes_turns_with_services_that_are_far_behind(started: str, remembered: dict[str, int]) -> None:
    assert behind(**remembered) == [started]


def test_a_service_that_is_just_due_waits_for_requests_only_so_often() -> None:
    assert behind(20, compaction=PATIENCE - 1) == ["Ingestion"]
    assert behind(20, compaction=PATIENCE) == ["Compaction"]


def test_being_passed_over_is_counted_where_a_service_could_have_been_started() -> None:
    plan = plan_for(world(annotations=REQUEST))
    assert [plan.services.of(service).passed_over for service in SERVICES] == [0, 0, 0, 1, 1, 1, 0, 0]
    beside = plan_for(world(annotations=REQUEST, **OPTIMISTIC))
    assert [beside.services.of(service).passed_over for service in SERVICES] == [0, 0, 0, 0, 1, 1, 0, 0]
    resting = plan_for(world(annotations=REQUEST, suspend=True))
    assert [resting.services.of(service).passed_over for service in SERVICES] == [0] * len(SERVICES)


def test_a_lane_that_the_limit_of_the_class_closes_is_passed_over_too() -> None:
    plan = plan_for(world(annotations=REQUEST, classes={"jobQuota": {"runningJobs": 1}}, **OPTIMISTIC))
    assert launched(plan) == ["Ingestion"]
    assert plan.services.compaction.passed_over == 1


def test_count_of_a_service_that_is_no_longer_due_begins_anew() -> None:
    before = {"compaction": memory(due=True, passed_over=7)}
    plan = plan_for(world(19, ingested=True, remembered=before))
    assert plan.services.compaction.passed_over == 0
