"""A scenario again and again, each time with one fault at another place."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from tests.faults.arena import arena
from tests.faults.lifecycle import EndState, Scenario
from tests.faults.rules import Call, Fault, at_write

AT_ONCE = 3
"""Scenarios that run at the same time: they mostly wait."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One place for a fault: a write, by its number, and what happens there."""

    write: int
    fault: Fault

    def __str__(self) -> str:
        return f"write {self.write} {self.fault}"


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What came of a sweep: how many faults were met, for some lives make fewer writes, and what was wrong."""

    reached: int
    wrong: tuple[str, ...]


async def undisturbed(scenario: Scenario, folder: Path) -> tuple[EndState, list[Call]]:
    """Run a scenario without any fault; return its end and its writes."""
    async with arena(folder) as place:
        end = await scenario(place)
        return end, [write.call for write in place.proxy.writes]


def numbers(writes: list[Call], *, full: bool) -> range:
    """Return the numbers of the writes to put faults at: all, or only those that every life makes.

    By its timing a life may save a few of the writes, so that a fault at one of the last is not met.
    """
    return range(1, (len(writes) if full else len(writes) * 4 // 5) + 1)


async def sweep(
    scenario: Scenario, points: Iterable[Point], folder: Path, *, reference: EndState, stall_seconds: float = 30.0
) -> Swept:
    """Run a scenario once for each point."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(point: Point) -> Swept:
        async with room:
            return await _disturbed(scenario, point, folder, reference=reference, stall_seconds=stall_seconds)

    found = await asyncio.gather(*(one(point) for point in points))
    return Swept(
        reached=sum(one.reached for one in found), wrong=tuple(sentence for one in found for sentence in one.wrong)
    )


async def _disturbed(
    scenario: Scenario, point: Point, folder: Path, *, reference: EndState, stall_seconds: float
) -> Swept:
    async with arena(folder / f"{point.write}-{point.fault.name.lower()}", stall_seconds=stall_seconds) as place:
        place.proxy.rule = at_write(point.write, point.fault)
        try:
            end = await scenario(place)
        except pytest.fail.Exception as failure:
            return Swept(reached=1, wrong=(f"{point}: {failure}",))
        hit = [str(write.call) for write in place.proxy.writes if write.fault]
        wrong = tuple(f"{point} ({hit}): {sentence}" for sentence in differences(reference, end))
        return Swept(reached=len(hit), wrong=wrong)


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
