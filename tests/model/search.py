"""The checker: every history of a scenario with few deviations, then random ones with more, and the shortest told.

Without a deviation a history goes one way. The search lets every deviation happen in every state of it, then a second
one in every state of those histories, and so on: what is rare in a real cluster is what costs depth here, so that the
first history that is found to be wrong is one of the shortest. A state that was met before with as few deviations is
not played on from.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import process_time

from tests.model import happenings
from tests.model.happenings import Deviation
from tests.model.play import advance, begin, is_over, play
from tests.model.world import Scenario, World

History = tuple[tuple[int, Deviation], ...]
"""At which step which deviation happens, in their order."""


@dataclass
class Report:
    """What a search saw."""

    scenario: str
    states: int = 0
    histories: int = 0
    depth: int = 0
    """The most deviations of a history that was played."""
    steps: int = 0
    """The most steps of a history."""
    is_complete: bool = True
    """Whether the budget was enough for all histories with so many deviations."""
    seconds: float = 0.0
    broken: tuple[str, ...] = ()
    history: History = ()

    def sentence(self) -> str:
        told = "; ".join(f"step {step}: {name} {index}" for step, (name, index) in self.history)
        return f"{self.scenario}: {self.broken[0] if self.broken else 'nothing'} after [{told}]"


@dataclass
class _Search:
    scenario: Scenario
    budget: int
    only: str | None
    report: Report
    met: set[int] = field(default_factory=set)

    def is_found(self, world: World) -> bool:
        return any(self.only is None or self.only in one for one in world.broken)

    def is_spent(self) -> bool:
        return self.report.states >= self.budget

    def play_on(self, world: World) -> Iterator[World]:
        """Yield the states of the history that continues from here by itself, until one was met or it is over."""
        self.report.histories += 1
        while not self.is_spent():
            key = world.key
            if key in self.met:
                return
            self.met.add(key)
            over = is_over(world)
            yield world
            if over:
                return
            advance(world)
            self.report.states += 1
            self.report.steps = max(self.report.steps, world.ticks)


def search(scenario: Scenario, *, deviations: int, budget: int, only: str | None = None, seed: int = 0) -> Report:
    """Play all histories with up to so many deviations, within a budget of states; stop at the first that is wrong.

    `only` is a part of the sentence that says what is wrong: anything else is passed over. What does not fit in the
    budget is left out evenly, by lot.
    """
    began, dice = process_time(), random.Random(seed)
    run = _Search(scenario, budget, only, Report(scenario.name))
    wave: Iterable[tuple[World, History]] = [_first(scenario)]
    for depth in range(deviations + 1):
        run.report.depth = depth
        following: list[tuple[World, History, Deviation]] = []
        for start, history in wave:
            for world in run.play_on(start):
                if run.is_found(world):
                    return _told(run.report, world, history, began)
                if world.broken:
                    break
                if depth < deviations:
                    snapshot = world.clone()
                    following += [(snapshot, history, one) for one in happenings.possible(world)]
        dice.shuffle(following)
        wave = _changed(following)
        run.report.is_complete = not run.is_spent()
    run.report.seconds = process_time() - began
    return run.report


def _first(scenario: Scenario) -> tuple[World, History]:
    """The state after the deviations that every history of the scenario begins with."""
    world = begin(scenario)
    for step, deviation in scenario.prefix:
        while world.ticks < step:
            advance(world)
        happenings.apply(world, deviation)
    return world, scenario.prefix


def _changed(following: list[tuple[World, History, Deviation]]) -> Iterator[tuple[World, History]]:
    for snapshot, history, deviation in following:
        world = snapshot.clone()
        happenings.apply(world, deviation)
        yield world, (*history, (world.ticks, deviation))


def _told(report: Report, world: World, history: History, began: float) -> Report:
    report.broken, report.history, report.seconds = world.broken, history, process_time() - began
    return report


def wander(scenario: Scenario, *, seed: int, deviations: int, within: int) -> tuple[World, History]:
    """Play one random history with so many deviations in its first steps."""
    dice = random.Random(seed)
    when = sorted(dice.randrange(within) for _ in range(deviations))
    world, history = _first(scenario)
    done = list(history)
    for moment in when:
        while world.ticks < moment and not is_over(world):
            advance(world)
        if world.broken:
            break
        possible = sorted(happenings.possible(world))
        if possible:
            deviation = dice.choice(possible)
            happenings.apply(world, deviation)
            done.append((world.ticks, deviation))
    while not is_over(world):
        advance(world)
    return world, tuple(done)


def shrink(scenario: Scenario, history: History, broken: str) -> History:
    """Leave out every deviation without which the same goes wrong."""
    for one in history:
        fewer = tuple(other for other in history if other is not one)
        if broken in play(scenario, by_step(fewer)).broken:
            return shrink(scenario, fewer, broken)
    return history


def by_step(history: History) -> dict[int, tuple[Deviation, ...]]:
    return {step: tuple(one for when, one in history if when == step) for step, _ in history}
