"""What must hold over any history of a table, however its runs end and whatever is lost on the way."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.simulation import Simulation

from hudi_jobs.contract import Outcome, Service
from hudi_operator.planning.facts.runs.failures import attempts
from hudi_operator.services.registry import SERVICES

SPEC: dict[str, Any] = {
    "type": "MergeOnRead",
    "ingestion": {"schedule": {"every": "10m"}},
    "compaction": {"trigger": {"deltaCommits": 2}},
    "clustering": {"mode": "Async", "trigger": {"commits": 3}},
    "cleaning": {"retainCommits": 2},
    "archival": {"minCommits": 4, "maxCommits": 6},
}
OPTIMISTIC = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
INLINE = {"clustering": {"mode": "Inline"}}
STEPS = 250
RECONCILES = 30

SEEDS = range(12)


def played(seed: int, **changes: Any) -> Simulation:
    """A history; every decision in it is checked by the simulation."""
    simulation = Simulation(Random(seed), {**SPEC, **changes})
    for _ in range(STEPS):
        simulation.step()
    return simulation


@cache
def some() -> tuple[Simulation, ...]:
    """The same histories for all tests that look at what was told of them."""
    return tuple(played(seed) for seed in SEEDS)


@given(st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_a_serialized_table_never_has_two_jobs_and_no_instant_two_runs(seed: int) -> None:
    played(seed)


@given(st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_a_table_with_a_lock_has_at_most_one_job_beside_its_ingestion(seed: int) -> None:
    played(seed, **OPTIMISTIC)


def test_the_end_of_every_job_is_reported_exactly_once() -> None:
    for simulation in some():
        told = [run.job for run in simulation.consumed if run.reason != "JobRefused"]
        assert len(told) == len(set(told))
        remembered = {one.name for one in simulation.status.active_jobs}
        assert {one.name for one in simulation.launched} <= set(told) | remembered


@given(st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_no_name_is_used_twice_however_often_a_failing_spec_is_edited(seed: int) -> None:
    """The simulation checks the names; a spec that has just failed is reset, and its count begins again."""
    simulation = Simulation(Random(seed), dict(SPEC), luck=0.6)
    for _ in range(STEPS):
        simulation.step()
        simulation.generation += bool(attempts(simulation.status.services.ingestion)) and simulation.dice.random() < 0.3


def test_what_is_told_of_a_run_is_what_the_timeline_holds() -> None:
    for simulation in some():
        for told in simulation.consumed:
            run = simulation.runs.get(told.job)
            if run is None or told.reason == "JobRefused":
                continue
            if run.completed and told.service is not Service.ARCHIVAL:
                assert (told.outcome, told.instant) == (Outcome.SUCCEEDED, run.instant)
            if told.outcome is Outcome.SUCCEEDED:
                assert run.completed


def test_histories_are_worth_the_name() -> None:
    """Every service succeeds in them, and runs of all kinds fail, or the properties above say little."""
    seen = {(run.service, run.outcome) for simulation in some() for run in simulation.consumed}
    played_services = set(SERVICES) - {Service.SAVEPOINT, Service.OPERATION}
    assert {(service, Outcome.SUCCEEDED) for service in played_services} <= seen
    assert {(service, Outcome.FAILED) for service in played_services - {Service.ARCHIVAL}} <= seen
    rejected = {(run.service, run.reason) for simulation in some() for run in simulation.consumed}
    assert (Service.INGESTION, "Conflict") in rejected


@pytest.mark.parametrize("changes", [{}, OPTIMISTIC], ids=["serialized", "optimistic"])
def test_a_table_that_is_left_in_peace_comes_to_rest(changes: dict[str, Any]) -> None:
    """After any history, with runs that succeed from now on, nothing stays pending and nothing is due."""
    for seed in range(2):
        simulation = played(seed, **changes)
        simulation.calm()
        assert not simulation.living
        assert not simulation.pending, seed
        statuses = simulation.status.services
        due = [service for service in SERVICES if service is not Service.INGESTION and statuses.of(service).due]
        assert due == [], seed


@pytest.mark.parametrize("changes", [{}, OPTIMISTIC, INLINE], ids=["serialized", "optimistic", "inline"])
def test_a_table_whose_ingestion_is_rejected_by_a_pending_clustering_comes_out_of_it(changes: dict[str, Any]) -> None:
    """After any history, with runs that succeed from now on, input is taken in again and again."""
    for seed in range(2):
        simulation = played(seed, **changes)
        left = simulation.time()
        simulation.files |= {f"{left}.clustering.{state}" for state in ("requested", "inflight")}
        simulation.has_input = True
        before = len(simulation.marks)
        simulation.calm(reconciles=RECONCILES)
        assert left not in simulation.pending, seed
        assert len(simulation.marks) - before > RECONCILES / 2, seed
