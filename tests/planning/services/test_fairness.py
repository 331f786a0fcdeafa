"""No service starves: each that is due starts after a bounded number of others, whatever is requested or fails."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.services.test_order import launched, world
from tests.planning.simulation import Simulation
from tests.planning.world import at, memory, plan_for

from hudi_jobs.contract import Service
from hudi_operator.planning.order.slots import PATIENCE
from hudi_operator.services.registry import SERVICES

REQUEST = {"hudi-operator.io/requested-at": "2026-03-10T11:59:30Z"}
BOUND = PATIENCE + len(SERVICES)
SPEC: dict[str, Any] = {
    "type": "MergeOnRead",
    "ingestion": {"schedule": {"every": "1m"}},
    "cleaning": {"retainCommits": 2},
    "archival": {"minCommits": 4, "maxCommits": 6},
}
OPTIMISTIC: dict[str, Any] = {
    "index": {"type": "Bucket"},
    "concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}},
}


class Crowded(Simulation):
    """A table whose ingestion is requested again at every reconcile."""

    waited: dict[Service, int]
    """How many runs had been started when a service was first seen to be due and to wait."""
    longest = 0

    def reconcile(self) -> None:
        self.annotations = {"hudi-operator.io/requested-at": at(self.now)}
        super().reconcile()
        running = {run.decided.service for run in self.living}
        for service in SERVICES:
            if self.status.services.of(service).due and service not in running:
                since = self.waited.setdefault(service, self.rivals(service))
                self.longest = max(self.longest, self.rivals(service) - since)
            else:
                self.waited.pop(service, None)

    def rivals(self, service: Service) -> int:
        """How many runs have been started in the place of this one; beside ingestion a service may run all the same."""
        alone = self.spec.get("concurrency") is None
        mine = service is Service.INGESTION
        return sum(1 for run in self.launched if alone or (run.service is Service.INGESTION) == mine)


def crowded(seed: int, *, reconciles: int, luck: float, has_input: bool, **changes: Any) -> Crowded:
    simulation = Crowded(Random(seed), {**SPEC, **changes}, luck=luck, has_input=has_input)
    simulation.waited = {}
    for _ in range(reconciles):
        simulation.now += timedelta(seconds=30)
        simulation.reconcile()
        simulation.progress()
    return simulation


@given(
    seed=st.integers(0, 2**32),
    luck=st.sampled_from([1.0, 0.9]),
    has_input=st.booleans(),
    delta_commits=st.sampled_from([1, 2, 5]),
    commits=st.sampled_from([1, 3]),
    mode=st.sampled_from([{}, OPTIMISTIC]),
)
@settings(max_examples=4, deadline=None)
def test_every_due_service_starts_after_a_bounded_number_of_others_whatever_is_requested(
    seed: int, luck: float, delta_commits: int, commits: int, mode: dict[str, Any], *, has_input: bool
) -> None:
    triggers = {
        "compaction": {"trigger": {"deltaCommits": delta_commits}},
        "clustering": {"mode": "Async", "trigger": {"commits": commits}},
    }
    found = crowded(seed, reconciles=150, luck=luck, has_input=has_input, **triggers, **mode)
    assert found.longest <= BOUND


def test_where_all_is_well_every_service_and_ingestion_get_their_turns() -> None:
    triggers = {
        "compaction": {"trigger": {"deltaCommits": 2}},
        "clustering": {"mode": "Async", "trigger": {"commits": 3}},
    }
    found = crowded(1, reconciles=150, luck=1.0, has_input=True, **triggers)
    runs = [one.service for one in found.launched]
    assert set(runs) == set(SERVICES) - {Service.SAVEPOINT, Service.OPERATION}
    assert runs.count(Service.INGESTION) >= len(runs) // 3


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
    assert [plan.services.of(service).passed_over for service in SERVICES] == [0, 0, 0, 1, 1, 1, 0]
    beside = plan_for(world(annotations=REQUEST, **OPTIMISTIC))
    assert [beside.services.of(service).passed_over for service in SERVICES] == [0, 0, 0, 0, 1, 1, 0]
    resting = plan_for(world(annotations=REQUEST, suspend=True))
    assert [resting.services.of(service).passed_over for service in SERVICES] == [0] * len(SERVICES)


def test_a_lane_that_the_limit_of_the_class_closes_is_passed_over_too() -> None:
    plan = plan_for(world(annotations=REQUEST, classes={"jobQuota": {"runningJobs": 1}}, **OPTIMISTIC))
    assert launched(plan) == ["Ingestion"]
    assert plan.services.compaction.passed_over == 1


def test_what_is_no_longer_due_begins_anew() -> None:
    before = {"compaction": memory(due=True, passed_over=7)}
    plan = plan_for(world(19, ingested=True, remembered=before))
    assert plan.services.compaction.passed_over == 0
