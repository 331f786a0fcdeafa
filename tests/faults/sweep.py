"""A scenario again and again, each time with one fault at another place."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest
from tests.faults.arena import arena
from tests.faults.lifecycle import EndState, Scenario
from tests.faults.rules import Call, Fault, at_write
from tests.faults.skew import NO_SKEW, Skew

from toolkit.shares import share

AT_ONCE = int(os.environ.get("FAULTS_AT_ONCE", "3"))
"""Scenarios that run at the same time: they mostly wait."""

ATTEMPTS = 5
"""How often a life is lived for one fault: by its timing a life may save the very write that the fault was put at."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One place for a fault: a write, by its number, and what happens there, while the clocks are apart."""

    write: int
    fault: Fault
    skew: Skew = NO_SKEW

    def __str__(self) -> str:
        return f"write {self.write} {self.fault} ({self.skew})"


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What came of a sweep: which faults were not met, and what was wrong."""

    unmet: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


async def undisturbed(scenario: Scenario, folder: Path, *, skew: Skew = NO_SKEW) -> tuple[EndState, list[Call]]:
    """Run a scenario without any fault; return its end and its writes."""
    async with arena(folder, skew=skew) as place:
        end = await scenario(place)
        return end, [write.call for write in place.proxy.writes]


async def sweep(
    scenario: Scenario, points: Iterable[Point], folder: Path, *, reference: EndState, stall_seconds: float = 30.0
) -> Swept:
    """Run a scenario for each point of this share; a fault that a life has ended before moves to its last write."""
    lives = [(scenario, point) for point in share(points)]
    return await sweep_each(lives, folder, reference=reference, stall_seconds=stall_seconds)


async def sweep_each(
    lives: Iterable[tuple[Scenario, Point]],
    folder: Path,
    *,
    reference: EndState | None = None,
    stall_seconds: float = 30.0,
) -> Swept:
    """Run each scenario with its point; without a reference an end is only seen to have nothing wrong."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, scenario: Scenario, point: Point) -> Swept:
        async with room:
            at = point
            for attempt in range(ATTEMPTS):
                place = folder / f"{number}-{point.write}-{point.fault.name.lower()}-{attempt}"
                writes, swept = await _disturbed(scenario, at, place, reference=reference, stall_seconds=stall_seconds)
                if swept.wrong or not swept.unmet:
                    break
                at = replace(point, write=writes)
            return swept

    found = await asyncio.gather(*(one(number, *life) for number, life in enumerate(lives)))
    return Swept(
        unmet=tuple(point for one in found for point in one.unmet),
        wrong=tuple(sentence for one in found for sentence in one.wrong),
    )


async def _disturbed(
    scenario: Scenario, point: Point, folder: Path, *, reference: EndState | None, stall_seconds: float
) -> tuple[int, Swept]:
    """Run a scenario with one fault; return the number of its writes as well."""
    async with arena(folder, stall_seconds=stall_seconds, skew=point.skew) as place:
        place.proxy.rule = at_write(point.write, point.fault)
        try:
            end = await scenario(place)
        except pytest.fail.Exception as failure:
            return len(place.proxy.writes), Swept(wrong=(f"{point}: {failure}",))
        hit = [str(write.call) for write in place.proxy.writes if write.fault]
        found = end.wrong() if reference is None else differences(reference, end)
        wrong = tuple(f"{point} ({hit}): {sentence}" for sentence in found)
        return len(place.proxy.writes), Swept(unmet=() if hit else (str(point),), wrong=wrong)


def differences(reference: EndState, end: EndState) -> list[str]:
    """Return in which respects an end differs from the undisturbed one."""
    found = []
    for field in fields(EndState):
        expected, got = getattr(reference, field.name), getattr(end, field.name)
        if field.name == "statuses":
            found += [_changed_lines(one, other) for one, other in zip(expected, got, strict=True) if one != other]
        elif expected != got:
            found.append(f"{field.name} is {got} and not {expected}")
    return found


def _changed_lines(expected: str, got: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), got.splitlines(), lineterm="", n=2)
    return "\n".join(("a status differs:", *lines))
