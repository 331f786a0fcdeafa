"""Which delta commits of layout 1 completed after a compaction was requested, by the times of their files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import Location
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import Bounds, Timeline, TimelineReader
from hudi_operator.timeline.files.times import FileTimes, clock_shift, completed_after
from hudi_operator.timeline.output import timeline_table

DELTA, COMPACTION = "20260102030404000", "20260102030405000"
EPOCH = 1767323045000  # 2026-01-02T03:04:05Z
SECOND = 1000
HOUR = 3600 * SECOND
NEW_YORK, KOLKATA = -5 * HOUR, 5 * HOUR + HOUR // 2


@pytest.mark.parametrize("zone", [0, NEW_YORK, KOLKATA])
@pytest.mark.parametrize(
    ("delta", "compaction", "answer"),
    [
        # The requested and completed file, milliseconds after the compaction's instant time.
        ((-900, 50), (100, 9000), True),
        ((-900, -500), (100, 9000), False),
        # Planning the compaction took longer than a requested file takes.
        ((-900, 50), (60 * SECOND, 90 * SECOND), True),
        # Archival has taken the requested files.
        ((-900, 50), (None, 9000), True),
        ((None, -500), (100, 9000), False),
        ((None, 50), (100, 9000), True),
        ((None, 50), (None, 9000), None),
        # A copy was made before the compaction: what is in it had completed.
        ((-500, -400), (100, 9000), False),
        # Times that are no zone away from the instant are those of a copy.
        ((77 * HOUR, 77 * HOUR), (77 * HOUR, 77 * HOUR), None),
        ((HOUR // 7, HOUR // 7), (HOUR // 7, HOUR // 7), None),
        ((77 * HOUR, 77 * HOUR), (100, 9000), None),
        # No file is written before its instant is requested, nor completed before it is requested.
        ((-900, -20 * SECOND), (100, 9000), None),
        ((None, -20 * SECOND), (100, 9000), None),
        ((-900, -950), (100, 9000), None),
        # Two instants do not complete in the same millisecond.
        ((-900, 9000), (100, 9000), None),
        ((-900, None), (100, 9000), None),
    ],
)
def test_file_times_are_compared_in_the_zone_of_the_writer_if_they_can_be_true(
    zone: int,
    delta: tuple[int | None, int | None],
    compaction: tuple[int | None, int | None],
    answer: bool | None,
) -> None:
    assert completed_after(times(DELTA, delta, zone), times(COMPACTION, compaction, zone)) is answer


def times(time: str, written: tuple[int | None, int | None], zone: int) -> FileTimes:
    requested, completed = (None if at is None else EPOCH + zone + at for at in written)
    return FileTimes(time=time, requested=requested, completed=completed)


def test_instant_times_that_are_no_dates_cannot_be_compared() -> None:
    odd = FileTimes(time="7", requested=EPOCH, completed=EPOCH)
    known = times(COMPACTION, (100, 9000), 0)
    assert completed_after(odd, known) is None
    assert completed_after(known, odd) is None


MINUTE = 60 * SECOND
SKEWS = [-10 * MINUTE, -11 * SECOND, 10 * MINUTE]


def history(*, every: int, shift: int, number: int = 6) -> list[FileTimes]:
    """Instants at equal distances, whose requested files were written a little later by a clock that is ahead."""
    moments = [EPOCH + every * step for step in range(number)]
    return [
        FileTimes(time=instant_at(moment), requested=moment + shift + 20 * step, completed=None)
        for step, moment in enumerate(moments)
    ]


def instant_at(moment: int) -> str:
    when = datetime.fromtimestamp(moment / 1000, UTC)
    return f"{when:%Y%m%d%H%M%S}{moment % 1000:03d}"


@pytest.mark.parametrize("zone", [0, NEW_YORK, KOLKATA])
@pytest.mark.parametrize("skew", SKEWS)
def test_a_clock_that_is_apart_makes_all_requested_files_early_or_late_by_the_same(skew: int, zone: int) -> None:
    apart = history(every=MINUTE, shift=zone + skew)
    one_was_slow = replace(apart[2], requested=(apart[2].requested or 0) + MINUTE)
    assert (clock_shift([*apart, one_was_slow]) - skew) % (HOUR // 4) == 0
    assert clock_shift([*apart, one_was_slow]) != 0


@pytest.mark.parametrize(
    "times",
    [
        history(every=MINUTE, shift=0),
        history(every=MINUTE, shift=KOLKATA),
        [],
        # Too short or too few to be told from a copy.
        history(every=10 * SECOND, shift=10 * MINUTE),
        history(every=MINUTE, shift=10 * MINUTE, number=2),
        # A copy: all written at once, an hour after the first instant.
        [replace(one, requested=EPOCH + HOUR // 7) for one in history(every=MINUTE, shift=0)],
    ],
)
def test_clocks_that_agree_and_copies_show_no_difference_of_clocks(times: list[FileTimes]) -> None:
    assert clock_shift(times) == 0


@pytest.mark.parametrize("skew", [0, *SKEWS])
def test_delta_commits_are_counted_although_the_store_has_another_time_than_the_writers(
    skew: int, make_table: Any
) -> None:
    times = {}
    for step in range(6):
        action = "compaction" if step == 3 else "deltacommit"
        moment = EPOCH + step * 5 * MINUTE
        completed = f"{instant_at(moment)}.commit" if action == "compaction" else f"{instant_at(moment)}.deltacommit"
        times[f"{instant_at(moment)}.{action}.requested"] = moment + skew + 30
        times[completed] = moment + skew + MINUTE
    table = make_table([*times], **LAYOUT_1)
    table.times = {f"/t/.hoodie/{name}": moment for name, moment in times.items()}
    timeline = TimelineReader(table).read(Location.parse("/t"))
    assert timeline.counters.delta_commits_since_compaction == 2
    assert not timeline.problems


DAYS_LATER = 2_000_000_000
"""Seconds since the epoch, in 2033: no time zone explains the distance to any instant of a fixture."""

LAYOUT_1 = {"table_version": "6", "timeline_layout_version": "1"}
NAMES = [f"{DELTA}.deltacommit.requested", f"{DELTA}.deltacommit", f"{COMPACTION}.compaction.requested"]


def look(make_table: Any, *names: str) -> Timeline:
    """Read a table whose files all have the same, impossible time."""
    return TimelineReader(make_table([*NAMES, *names], **LAYOUT_1)).read(Location.parse("/t"))


def test_a_count_that_rests_on_impossible_file_times_is_unknown_and_says_why(make_table: Any) -> None:
    timeline = look(make_table, f"{COMPACTION}.commit")
    assert timeline.counters.delta_commits_since_compaction is None
    (problem,) = [one for one in timeline.problems if "is unknown" in one.reason]
    assert problem.file == f".hoodie/{DELTA}.deltacommit"
    assert f"before or after compaction {COMPACTION}" in problem.reason
    assert "as after a copy" in problem.reason
    assert "Delta commits since compaction          ? (between 0 and 1, " in timeline_table("/t", timeline)


def test_commit_requested_after_the_compaction_counts_in_a_copy(make_table: Any) -> None:
    older = [f"2026010203040{number}000.deltacommit" for number in range(3)]
    newer = [f"2026010203040{number}000.deltacommit" for number in range(6, 10)]
    timeline = look(make_table, f"{COMPACTION}.commit", *older, *newer)
    assert timeline.counters.delta_commits_since_compaction is None
    assert timeline.counters.delta_commits_since_compaction_bounds == Bounds(4, 8)
    # One of the older ones says it for all.
    assert len([one for one in timeline.problems if "is unknown" in one.reason]) == 1


@pytest.mark.parametrize(
    ("names", "count"),
    [
        # Without a compaction all delta commits count.
        (["20260102030406000.deltacommit"], 2),
        # The newest compaction has no older delta commit that is still in the active timeline.
        (["20260102030403000.commit"], 1),
        # The metadata table's compaction is named after the delta commit that ran it.
        ([f"{DELTA}001.commit"], 1),
        (["20260102030404500.deltacommit", "20260102030404500001.commit"], 1),
    ],
)
def test_a_count_that_every_order_of_completion_gives_needs_no_file_times(
    names: list[str], count: int, make_table: Any
) -> None:
    timeline = look(make_table, *names)
    assert timeline.counters.delta_commits_since_compaction == count
    assert not [one for one in timeline.problems if "is unknown" in one.reason]


def same_time(path: Path) -> None:
    os.utime(path, (EPOCH / 1000, EPOCH / 1000))


def same_time_if_completed(path: Path) -> None:
    if path.suffix in {".deltacommit", ".commit"}:
        same_time(path)


def before_the_instant(path: Path) -> None:
    os.utime(path, (0, 0))


def days_later(path: Path) -> None:
    os.utime(path, (DAYS_LATER, DAYS_LATER + path.stat().st_size % 7))


@pytest.mark.parametrize("change", [same_time, same_time_if_completed, before_the_instant, days_later])
@pytest.mark.parametrize("name", ["0.14.0-mor-compaction", "0.15.0-mor-compaction"])
def test_a_copied_table_has_no_count_that_is_a_guess(
    name: str, change: Callable[[Path], None], real_table: Callable[[str], Path], tmp_path: Path
) -> None:
    original = TimelineReader(LocalFileSystem()).read(Location.parse(str(real_table(name))))
    copy = tmp_path / "copy"
    shutil.copytree(real_table(name), copy)
    for path in (copy / ".hoodie").iterdir():
        change(path)
    timeline = TimelineReader(LocalFileSystem()).read(Location.parse(str(copy)))
    assert timeline.counters.delta_commits_since_compaction is None
    bounds, true_count = timeline.counters.delta_commits_since_compaction_bounds, original.counters
    assert bounds is not None
    assert bounds.at_least <= (true_count.delta_commits_since_compaction or 0) <= bounds.at_most
    assert timeline.instants == original.instants
    requested = timeline.counters.delta_commits_since_compaction_request
    assert requested == original.counters.delta_commits_since_compaction_request
