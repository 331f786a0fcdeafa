"""Whatever happens to the operator and its calls, what a resource asks for is done once, and goes as it says.

Such are operations of each kind, erasures that go on to other tables, and savepoints. What happens before there is such
a resource is left to the sweeps of a whole life.
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
from tests.faults.cascading import CASCADES
from tests.faults.changes import CHANGES
from tests.faults.lifecycle import EndState
from tests.faults.operation import OPERATIONS, lives
from tests.faults.rules import Call, Fault, WatchFaults, fits, sometimes
from tests.faults.savepoint import LONG, SAVEPOINTS
from tests.faults.skew import skews
from tests.faults.sweep import Point, differences, sweep, sweep_each, undisturbed
from tests.faults.test_api_faults import ANSWERS, WATCHES

from hudi_operator.planning.facts.operations.kinds.operation_registry import KINDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(7200)]

Reference: TypeAlias = tuple[EndState, list[Call]]
Lived: TypeAlias = Callable[[str], Reference]

LIVES = {**lives(), **CASCADES, **SAVEPOINTS}
EVERY = pytest.mark.parametrize("life", LIVES)
FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST_REPLY, Fault.CONFLICT, Fault.SERVER_ERROR)
WRITES = range(14, 36)
WRITES_OF_MANY = range(25, 75)
"""Between which writes of a life faults are drawn where not all are swept: about those of one operation, and of three.
"""

DRAWN = 6
"""Kinds of which one life is lived where not all are swept."""

ASKED_FOR = ("hudioperations", "hudisavepoints")


def test_each_kind_has_a_life() -> None:
    assert KINDS.keys() == OPERATIONS.keys() == CHANGES.keys()


@pytest.fixture(scope="module")
def lived(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> Lived:  # noqa: ARG001 - it must be there
    """The end of a life without faults, and the writes on the way."""

    @cache
    def live(life: str) -> Reference:
        found = asyncio.run(undisturbed(LIVES[life], tmp_path_factory.mktemp("reference") / "undisturbed"))
        assert not found[0].wrong(), found[0].wrong()
        return found

    return live


@pytest.mark.usefixtures("cluster")
def test_requested_operation_is_done_once_whatever_write_fails(tmp_path: Path, seed: int, *, full: bool) -> None:
    if full:
        pytest.skip("all writes of all kinds are swept")
    draw, apart = random.Random(seed), skews(full=full, start=seed)
    short = sorted(LIVES.keys() - LONG)
    kinds = {life.partition(":")[0]: life for life in draw.sample(short, len(short))}
    drawn = draw.sample([*kinds.values()], DRAWN)
    points = [
        (LIVES[life], Point(write=draw.choice(writes), fault=draw.choice(FAULTS), skew=next(apart)))
        for life in drawn
        for writes in [WRITES_OF_MANY if life in CASCADES else WRITES]
    ]
    told = [f"{life} {point}" for life, (_, point) in zip(drawn, points, strict=True)]
    print("; ".join(told))  # noqa: T201 - shown with a failure

    swept = asyncio.run(sweep_each(points, tmp_path))

    assert not swept.wrong, "\n\n".join(swept.wrong)


@EVERY
def test_a_write_that_fails_or_at_which_the_operator_is_killed_changes_nothing_in_the_end(
    life: str, lived: Lived, tmp_path: Path, seed: int, *, full: bool
) -> None:
    if not full:
        pytest.skip("one write of a few kinds is enough when not everything is swept")
    reference, writes = lived(life)
    first = next(number for number, call in enumerate(writes, 1) if call.target.startswith(ASKED_FOR))
    numbers = range(first, len(writes) + 1)
    places = [(number, fault) for number in numbers for fault in FAULTS if fits(fault, writes[number - 1])]
    apart = skews(full=full, start=seed)
    points = [Point(write=number, fault=fault, skew=next(apart)) for number, fault in places]
    print(f"{len(points)} points: {', '.join(map(str, points))}")  # noqa: T201 - shown with a failure

    swept = asyncio.run(sweep(LIVES[life], points, tmp_path, reference=reference))

    assert not swept.wrong, "\n\n".join(swept.wrong)
    assert not swept.unmet


@EVERY
@pytest.mark.parametrize("number", range(5))
def test_calls_that_fail_now_and_then_change_nothing_in_the_end(
    life: str, number: int, lived: Lived, tmp_path: Path, seed: int, *, full: bool
) -> None:
    if not full:
        pytest.skip("single faults are enough when not everything is swept")
    rule = sometimes(ANSWERS, probability=0.1, seed=seed + number)

    async def live() -> EndState:
        async with arena(tmp_path / "disturbed", seed=seed, skew=next(skews(full=full, start=seed))) as place:
            place.proxy.rule = rule
            return await LIVES[life](place)

    assert not differences(lived(life)[0], asyncio.run(live()))


@EVERY
@pytest.mark.parametrize("faults", WATCHES.values(), ids=WATCHES)
def test_watches_that_cannot_be_trusted_change_nothing_in_the_end(
    life: str, faults: WatchFaults, lived: Lived, tmp_path: Path, seed: int, *, full: bool
) -> None:
    if not full:
        pytest.skip("watches of all kinds are alike, and those of tables are tried")

    async def live() -> EndState:
        async with arena(tmp_path / "disturbed", seed=seed, skew=next(skews(full=full, start=seed))) as place:
            place.proxy.watch_faults = faults
            return await LIVES[life](place)

    assert not differences(lived(life)[0], asyncio.run(live()))
