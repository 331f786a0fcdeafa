"""Clocks are ten minutes apart: those of the API server, the operator, the drivers and the store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.faults.conftest import Reference
from tests.faults.lifecycle import Scenario, delete_while_running, live
from tests.faults.skew import ALL, COVERING, Skew
from tests.faults.sweep import AT_ONCE, differences, undisturbed

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(7200)]


@pytest.mark.parametrize("scenario", [live, delete_while_running], ids=lambda scenario: scenario.__name__)
async def test_clocks_that_are_apart_change_nothing_in_the_end(
    scenario: Scenario, references: dict[Scenario, Reference], tmp_path: Path, *, full: bool
) -> None:
    if scenario is not live and not full:
        pytest.skip("they are apart in the sweep of crashes as well")
    reference, _ = references[scenario]
    room = asyncio.Semaphore(AT_ONCE)

    async def wrong(number: int, skew: Skew) -> list[str]:
        async with room:
            end, _ = await undisturbed(scenario, tmp_path / f"apart-{number}", skew=skew)
        return [f"{skew}: {sentence}" for sentence in (*end.wrong(), *differences(reference, end))]

    found = await asyncio.gather(*(wrong(*one) for one in enumerate(ALL if full else COVERING)))
    sentences = [sentence for one in found for sentence in one]
    assert not sentences, "\n\n".join(sentences)


def test_every_two_clocks_are_apart_in_every_way_in_one_of_the_four() -> None:
    pairs = {
        (first, getattr(skew, first), second, getattr(skew, second))
        for skew in COVERING
        for first, second in (("operator", "drivers"), ("drivers", "store"), ("operator", "store"))
    }
    assert (len(COVERING), len(pairs)) == (4, 12)
