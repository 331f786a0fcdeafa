"""The whole operator under fire: a hostile tenant changes its objects, pods and files at random, round after round.

`FUZZ_SECONDS` is how much processor time is spent; `make fuzz` spends an hour.
"""

from __future__ import annotations

import os
import resource
import tarfile
import time
from pathlib import Path
from random import Random

import pytest
from tests.fuzz.arena import Arena

TABLE = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables" / "1.2.0-mor-compaction.tar.gz"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "4"))
ROUNDS = 40
RECONCILE_SECONDS = 5.0
"""Most that one reconcile may cost, in processor seconds; a good one costs some milliseconds."""
GROWTH = 400 << 20
"""Bytes by which the process may grow: what a reconcile holds at most, with the fragments that stay."""


@pytest.mark.timeout(3 * SECONDS + 600)
async def test_a_hostile_tenant_neither_crashes_the_operator_nor_changes_anything_for_another(
    tmp_path: Path,
) -> None:
    source = tmp_path / "source"
    with tarfile.open(TABLE) as archive:
        archive.extractall(source, filter="data")
    alone = Arena(tmp_path / "alone", source)
    for _ in range(ROUNDS):
        await alone.round()
    before = _peak()
    began, seed = time.process_time(), int(os.environ.get("FUZZ_SEED", "0"))
    while time.process_time() - began < SECONDS:
        arena, dice = Arena(tmp_path / "both", source), Random(seed)
        try:
            for number in range(ROUNDS):
                arena.strike(dice)
                await arena.round()
                assert arena.seen[number] == alone.seen[number], "the good table's owner sees something else"
                assert arena.longest < RECONCILE_SECONDS
                assert _peak() - before < GROWTH
        except BaseException as error:
            error.add_note(f"FUZZ_SEED={seed}, round {len(arena.seen)}")
            raise
        seed += 1


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
