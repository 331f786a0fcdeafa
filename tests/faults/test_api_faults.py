"""The API server and the network misbehave, and every table still comes to the same end.

The clocks of all programs are ten minutes apart, in another way for each life of a table.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.faults.arena import arena
from tests.faults.conftest import Reference
from tests.faults.lifecycle import Scenario, live
from tests.faults.rules import Fault, Rule, WatchFaults, none, sometimes
from tests.faults.skew import Skew, skews
from tests.faults.sweep import Point, differences, sweep

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(7200)]

ANSWERS = (Fault.LOST_REPLY, Fault.CONFLICT, Fault.EXPIRED, Fault.THROTTLED, Fault.SERVER_ERROR)

WATCHES = {
    "cut every second": WatchFaults(cut_after_seconds=1.0),
    "events twice": WatchFaults(duplicate=1.0),
    "half of all events dropped": WatchFaults(drop=0.5),
    "no events at all": WatchFaults(drop=1.0),
    "half of all events late and out of order": WatchFaults(late=0.5),
    "410 Gone now and then": WatchFaults(expire=0.2),
    "everything at once": WatchFaults(cut_after_seconds=3.0, drop=0.2, duplicate=0.2, late=0.2, expire=0.1),
}
BOUNDED_WATCHES = ("cut every second", "no events at all", "everything at once")


@pytest.mark.parametrize("number", range(5))
async def test_refused_and_unanswered_calls_change_nothing_in_the_end(
    number: int, references: dict[Scenario, Reference], tmp_path: Path, seed: int, *, full: bool
) -> None:
    if number and not full:
        pytest.skip("one seed is enough when not everything is swept")
    skew = next(skews(full=full, start=seed + number))
    await check(references, tmp_path, seed=seed, skew=skew, rule=sometimes(ANSWERS, probability=0.1, seed=seed))


@pytest.mark.parametrize("kind", WATCHES)
async def test_watches_that_cannot_be_trusted_change_nothing_in_the_end(
    kind: str, references: dict[Scenario, Reference], tmp_path: Path, seed: int, *, full: bool
) -> None:
    if kind not in BOUNDED_WATCHES and not full:
        pytest.skip("the worst are enough when not everything is swept")
    skew = next(skews(full=full, start=seed + [*WATCHES].index(kind)))
    await check(references, tmp_path, seed=seed, skew=skew, watch_faults=WATCHES[kind])


async def test_a_write_that_takes_effect_without_an_answer_or_late_is_not_done_twice(
    references: dict[Scenario, Reference], tmp_path: Path, seed: int, *, full: bool
) -> None:
    end, writes = references[live]
    everywhere = range(1, len(writes) + 1)
    jobs = [number for number in everywhere if writes[number - 1].target == "jobs"]
    # A call that stalls for longer than the client waits takes effect after it has been given up.
    draw = random.Random(seed)
    stalled = everywhere if full else [draw.choice(jobs)]
    lost = everywhere if full else [draw.choice(jobs)]
    places = [(number, Fault.STALL) for number in stalled] + [(number, Fault.LOST_REPLY) for number in lost]
    apart = skews(full=full, start=seed)
    points = [Point(write=number, fault=fault, skew=next(apart)) for number, fault in places]
    print(f"{len(points)} points: {', '.join(map(str, points))}")  # noqa: T201 - shown with a failure

    swept = await sweep(live, points, tmp_path, reference=end, stall_seconds=30 if full else 12)

    assert not swept.wrong, "\n\n".join(swept.wrong)
    assert not swept.unmet


async def check(
    references: dict[Scenario, Reference],
    folder: Path,
    *,
    seed: int,
    skew: Skew,
    rule: Rule = none,
    watch_faults: WatchFaults | None = None,
) -> None:
    """Live through a whole life of a table with these faults, and compare its end with an undisturbed one."""
    async with arena(folder / "disturbed", seed=seed, skew=skew) as place:
        place.proxy.rule = rule
        if watch_faults is not None:
            place.proxy.watch_faults = watch_faults
        end = await live(place)
    wrong = differences(references[live][0], end)
    assert not wrong, "\n".join((*wrong, str(place.proxy.injected), str(skew)))
