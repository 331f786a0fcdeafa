"""A compaction that completed before it was requested, by the time of its file: told before any run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_jobs.contract import Location
from hudi_jobs.contract.table.facts import SLICES_FIELD
from hudi_operator.adoption.draft import draft_of
from hudi_operator.adoption.evidence import Evidence, read_evidence
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import CleanSummary, TimelineReader
from hudi_operator.timeline.facts import read_facts
from hudi_operator.timeline.files.times import FileTimes, completed_before_request

INSTANT, MOMENT = "20260102030405500", 1767323045500
HOUR = 3_600_000
KOLKATA = 5 * HOUR + HOUR // 2


@pytest.mark.parametrize(
    ("requested", "completed", "in_utc", "early"),
    [
        (100, 900, True, False),
        (100, 0, True, False),
        # A store with whole seconds.
        (-500, -500, True, True),
        (-500, 500, True, False),
        # The clock of the store was set back meanwhile.
        (100, -2000, True, True),
        # The zone of a table in local time is that which the requested file shows.
        (KOLKATA - 500, KOLKATA - 500, False, True),
        (KOLKATA - 500, KOLKATA + 500, False, False),
        # A table in UTC has no zone: its store is behind by so much.
        (-HOUR, -HOUR, True, True),
        # A copy in local time shows no zone, and archival takes requested files: the driver asks the names.
        (77 * HOUR + 1, 77 * HOUR + 1, False, False),
        (None, -500, False, False),
        (None, -500, True, True),
        (100, None, True, False),
    ],
)
def test_completion_is_compared_with_the_request_as_hudi_does(
    requested: int | None, completed: int | None, in_utc: bool, early: bool
) -> None:
    at = [None if offset is None else MOMENT + offset for offset in (requested, completed)]
    times = FileTimes(time=INSTANT, requested=at[0], completed=at[1])
    assert completed_before_request(times, in_utc=in_utc) is early


def test_instant_that_is_no_time_is_never_early() -> None:
    assert not completed_before_request(FileTimes(time="7", requested=1, completed=0), in_utc=True)


@pytest.fixture(params=["0.14.0-mor-compaction", "0.15.0-mor-compaction"])
def fast_compaction(request: pytest.FixtureRequest, real_table: Callable[[str], Path], tmp_path: Path) -> Path:
    """A table of an older tool on a store with whole seconds, whose compaction took less than one."""
    base = tmp_path / "table"
    shutil.copytree(real_table(request.param), base)
    requested = {path.name: path.stat().st_mtime for path in (base / ".hoodie").glob("*.requested")}
    for path in [*(base / ".hoodie").iterdir()]:
        if ".clean" in path.name:
            path.unlink()
        elif path.is_file():
            os.utime(path, (int(path.stat().st_mtime), int(path.stat().st_mtime)))
    (commit,) = (base / ".hoodie").glob("*.commit")
    plan = commit.with_name(commit.name.replace(".commit", ".compaction.requested"))
    second = round(requested[plan.name] - int(commit.stem[14:17]) / 1000)
    os.utime(commit, (second, second))
    return base


def evidence(base: Path) -> Evidence:
    found = read_evidence(LocalFileSystem(), Location.parse(str(base)), base_path="s3a://lake/team/flights")
    assert isinstance(found, Evidence)
    return found


def test_compaction_within_one_second_is_a_fact_and_adopt_writes_a_comment(fast_compaction: Path) -> None:
    (commit,) = (fast_compaction / ".hoodie").glob("*.commit")
    found = evidence(fast_compaction)
    assert found.facts.early_compaction == commit.stem
    assert [one.file for one in found.timeline.problems if "before it was requested" in one.reason] == [
        f".hoodie/{commit.name}"
    ]
    (reason,) = (one for one in draft_of(found, taken=()).reasons if SLICES_FIELD in one)
    assert commit.stem in reason
    assert "hoodie.cleaner.fileversions.retained=1" in reason


@pytest.mark.parametrize(
    ("at", "retained", "is_doubtful"),
    [
        ("29991231000000000", "", False),
        ("29991231000000000", "29991230000000000", False),
        ("29991231000000000", "19991230000000000", True),
        ("29991231000000000", "the compaction", True),
        ("19991231000000000", "", True),
    ],
)
def test_clean_that_leaves_no_older_slice_ends_the_doubt(
    at: str, retained: str, is_doubtful: bool, fast_compaction: Path
) -> None:
    """A clean by versions names no commit; a clean by commits also keeps the slice before the earliest commit."""
    found = evidence(fast_compaction)
    earliest = found.facts.early_compaction if retained == "the compaction" else retained
    assert earliest is not None
    clean = CleanSummary(last_completed_commit="29991230000000000", earliest_retained=earliest)
    counters = replace(found.timeline.counters, last_clean=at, clean=clean)
    reader = TimelineReader(LocalFileSystem())
    facts = read_facts(
        reader, Location.parse(str(fast_compaction)), replace(found.timeline, counters=counters), found.commits
    )
    assert (facts.early_compaction is not None) is is_doubtful


def test_unchanged_table_of_an_older_tool_has_no_early_compaction(real_table: Callable[[str], Path]) -> None:
    assert evidence(real_table("0.15.0-mor-compaction")).facts.early_compaction is None


def test_bulk_insert_within_one_second_is_no_compaction(real_table: Callable[[str], Path], tmp_path: Path) -> None:
    base = tmp_path / "table"
    shutil.copytree(real_table("0.15.0-mor-bulk-insert"), base)
    for path in (base / ".hoodie").glob("*.commit*"):
        os.utime(path, (int(path.stat().st_mtime) - 2, int(path.stat().st_mtime) - 2))
    assert evidence(base).facts.early_compaction is None
