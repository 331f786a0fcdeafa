"""Histories of whole tables under the checker: nothing goes wrong in any that the budget allows."""

from __future__ import annotations

from random import Random

import pytest
from tests.model import drivers, happenings, scenarios
from tests.model.budget import DEVIATIONS, STATES, WANDERINGS
from tests.model.play import advance, begin, is_over, play
from tests.model.search import by_step, search, shrink, wander
from tests.model.world import Run, Scenario, World
from tests.samples import sampled

from hudi_jobs.contract import RunMode, Service

EVERY = pytest.mark.parametrize("scenario", scenarios.EVERY, ids=lambda one: one.name)


@EVERY
def test_nothing_goes_wrong_in_histories_with_few_deviations(scenario: Scenario) -> None:
    report = search(scenario, deviations=DEVIATIONS, budget=STATES)
    assert not report.broken, report.sentence()


@EVERY
def test_nothing_goes_wrong_in_random_histories_with_many_deviations(scenario: Scenario) -> None:
    for seed in range(WANDERINGS):
        world, history = wander(scenario, seed=seed, deviations=5, within=60)
        if world.broken:
            shortest = shrink(scenario, history, world.broken[0])
            pytest.fail(f"{world.broken[0]} after {shortest}")
        if seed == 0:
            again = play(scenario, by_step(history))
            assert again.key == world.key, "a history played again goes the same way"


def test_what_one_history_does_leaves_its_siblings_alone() -> None:
    """Copies share what is not changed in place; a deviation in one must not be seen in the other."""
    for scenario in sampled(scenarios.EVERY, few=8):
        world = begin(scenario)
        for _ in range(25):
            advance(world)
        untouched, before = world.clone(), world.key
        dice = Random(0)
        for deviation in dice.choices(list(happenings.possible(world)), k=10):
            sibling = world.clone()
            happenings.apply(sibling, deviation)
            for _ in range(5):
                advance(sibling)
        assert world.key == before == untouched.key


def _services_that_succeeded(world: World) -> set[Service]:
    status = world.clusters[0].status
    return {run.service for run in status.history if run.service is not None and run.outcome == "Succeeded"}


def test_histories_are_worth_the_name() -> None:
    """Left alone, a table is ingested, compacted, clustered, cleaned, or what is found says little."""
    world = begin(scenarios.PROCESSES)
    while not is_over(world):
        advance(world)
    wanted = {Service.INGESTION, Service.COMPACTION, Service.CLUSTERING, Service.CLEANING}
    assert wanted <= _services_that_succeeded(world)


def _clusterings(world: World) -> list[Run]:
    return [one for one in world.runs if one.decided.service is Service.CLUSTERING]


@pytest.mark.parametrize("scenario", [scenarios.PROCESSES, scenarios.SHARED], ids=lambda one: one.name)
def test_plan_of_a_clustering_that_was_killed_is_rolled_back_by_the_next_run_of_its_service(scenario: Scenario) -> None:
    world = begin(scenario)
    while not any(one.step == "complete" for one in _clusterings(world)):
        advance(world)
    killed = _clusterings(world)[-1]
    drivers.kill(killed)
    while not any(one.decided.name != killed.decided.name for one in _clusterings(world)):
        advance(world)
    following = _clusterings(world)[-1].decided
    assert (following.run_mode, following.instant) == (RunMode.ROLL_BACK, killed.instant)
    while not is_over(world):
        advance(world)
    assert not world.broken
    assert Service.CLUSTERING in _services_that_succeeded(world)


@pytest.mark.parametrize("scenario", [scenarios.ERASURES, scenarios.WHAT_MAY_BE_LEFT], ids=lambda one: one.name)
def test_an_operation_of_another_kind_that_is_left_alone_is_finished_and_ingestion_goes_on(scenario: Scenario) -> None:
    world = begin(scenario)
    while not is_over(world):
        advance(world)
    entries = world.clusters[0].status.operations
    assert {one.state for one in entries} == {"Succeeded"}
    assert len(entries) == len(world.lake.journal) == len(scenario.operations)
    assert {record.phase for record in world.lake.journal.values()} == {"done"}
    assert world.acknowledged == set(range(1, world.arrived + 1))


def test_an_operation_that_is_left_alone_takes_the_table_back_and_has_its_input_read_again() -> None:
    world = begin(scenarios.OPERATIONS)
    while not is_over(world):
        advance(world)
    (record,) = world.lake.journal.values()
    (entry,) = world.clusters[0].status.operations
    assert (entry.state, record.phase, bool(record.removed)) == ("Succeeded", "done", True)
    assert not world.lake.entries.keys() & set(record.removed)
    assert world.acknowledged == set(range(1, world.arrived + 1))
