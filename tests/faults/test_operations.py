"""Whatever happens to the operator and its calls, an operation is carried out once, and goes as its resource asks.

What happens before there is an operation is left to the sweeps of a whole life.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.faults.arena import arena
from tests.faults.lifecycle import EndState, Scenario
from tests.faults.operation import approve_and_succeed, delete_what_has_begun
from tests.faults.rules import Call, Fault, WatchFaults, fits, sometimes
from tests.faults.skew import skews
from tests.faults.sweep import Point, differences, sweep, undisturbed
from tests.faults.test_api_faults import ANSWERS, WATCHES

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(7200)]

Reference: TypeAlias = tuple[EndState, list[Call]]
Lived: TypeAlias = Callable[[Scenario], Reference]

EVERY = pytest.mark.parametrize("scenario", [approve_and_succeed, delete_what_has_begun], ids=lambda one: one.__name__)
FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST_REPLY, Fault.CONFLICT, Fault.SERVER_ERROR)
DRAWN = 1
"""How many points are drawn where not all are swept."""


@pytest.fixture(scope="module")
def lived(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> Lived:  # noqa: ARG001 - it must be there
    """The end of a scenario without faults, and the writes on the way."""

    @cache
    def live(scenario: Scenario) -> Reference:
        found = asyncio.run(undisturbed(scenario, tmp_path_factory.mktemp("reference") / "undisturbed"))
        assert not found[0].wrong(), found[0].wrong()
        return found

    return live


@EVERY
def test_a_write_that_fails_or_at_which_the_operator_is_killed_changes_nothing_in_the_end(
    scenario: Scenario, lived: Lived, tmp_path: Path, seed: int, *, full: bool
) -> None:
    if not full and scenario is approve_and_succeed:
        pytest.skip("the other one is enough when not everything is swept")
    reference, writes = lived(scenario)
    first = next(number for number, call in enumerate(writes, 1) if call.target.startswith("hudioperations"))
    numbers = range(first, len(writes) + 1)
    places = [(number, fault) for number in numbers for fault in FAULTS if fits(fault, writes[number - 1])]
    drawn = places if full else random.Random(seed).sample(places, DRAWN)
    apart = skews(full=full, start=seed)
    points = [Point(write=number, fault=fault, skew=next(apart)) for number, fault in drawn]
    print(f"{len(points)} of {len(places)} points: {', '.join(map(str, points))}")  # noqa: T201 - shown with a failure

    swept = asyncio.run(sweep(scenario, points, tmp_path, reference=reference))

    assert not swept.wrong, "\n\n".join(swept.wrong)
    assert not swept.unmet


@EVERY
@pytest.mark.parametrize("number", range(5))
def test_calls_that_fail_now_and_then_change_nothing_in_the_end(
    scenario: Scenario, number: int, lived: Lived, tmp_path: Path, seed: int, *, full: bool
) -> None:
    if not full:
        pytest.skip("single faults are enough when not everything is swept")
    rule = sometimes(ANSWERS, probability=0.1, seed=seed + number)

    async def live() -> EndState:
        async with arena(tmp_path / "disturbed", seed=seed, skew=next(skews(full=full, start=seed))) as place:
            place.proxy.rule = rule
            return await scenario(place)

    assert not differences(lived(scenario)[0], asyncio.run(live()))


@EVERY
@pytest.mark.parametrize("faults", WATCHES.values(), ids=WATCHES)
def test_watches_that_cannot_be_trusted_change_nothing_in_the_end(
    scenario: Scenario, faults: WatchFaults, lived: Lived, tmp_path: Path, seed: int, *, full: bool
) -> None:
    if not full:
        pytest.skip("watches of all kinds are alike, and those of tables are tried")

    async def live() -> EndState:
        async with arena(tmp_path / "disturbed", seed=seed, skew=next(skews(full=full, start=seed))) as place:
            place.proxy.watch_faults = faults
            return await scenario(place)

    assert not differences(lived(scenario)[0], asyncio.run(live()))
