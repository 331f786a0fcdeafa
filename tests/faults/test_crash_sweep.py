"""The operator is killed just before and just after its writes take effect, and a new one takes over.

The clocks of all programs are ten minutes apart, in another way for each point.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.faults.conftest import Reference
from tests.faults.lifecycle import Scenario, delete_while_running, live
from tests.faults.rules import KILLS
from tests.faults.skew import skews
from tests.faults.sweep import Point, sweep

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(7200)]

BOUNDED = {"live": 4, "delete_while_running": 2}
"""How many points are drawn where not all are swept."""


@pytest.mark.parametrize("scenario", [live, delete_while_running], ids=lambda scenario: scenario.__name__)
async def test_killed_at_any_write_the_operator_comes_to_the_same_end(
    scenario: Scenario, references: dict[Scenario, Reference], tmp_path: Path, seed: int, *, full: bool
) -> None:
    reference, writes = references[scenario]
    assert not reference.wrong(), reference.wrong()
    places = [(number, fault) for number in range(1, len(writes) + 1) for fault in KILLS]
    if not full:
        places = random.Random(seed).sample(places, BOUNDED[scenario.__name__])
    apart = skews(full=full, start=seed)
    points = [Point(write=number, fault=fault, skew=next(apart)) for number, fault in places]
    print(f"{len(points)} of {2 * len(writes)} points: {', '.join(map(str, points))}")  # noqa: T201 - shown with a failure

    swept = await sweep(scenario, points, tmp_path, reference=reference)

    assert not swept.wrong, "\n\n".join(swept.wrong)
    assert not swept.unmet
