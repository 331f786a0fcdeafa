"""To which file slices Hudi 1.2.0 counts log files of layout 1, and where their names say something else."""

import pytest

from hudi_jobs.contract.instants import store_behind
from hudi_jobs.contract.table.layout import Completions, Difference, FileGroups, Misplaced

FIRST, UPDATE, COMPACTION, LATER = (f"2026010203040{second}500" for second in (1, 3, 5, 7))


def groups(*names: str) -> FileGroups:
    found = FileGroups()
    for name in names:
        found.add("p", name)
    return found


def base(instant: str, group: str = "f-0") -> str:
    return f"{group}_0-19-19_{instant}.parquet"


def log(instant: str, group: str = "f-0") -> str:
    return f".{group}_{instant}.log.1_0-41-44"


def differences(names: list[str], completed: dict[str, str]) -> set[object]:
    times = Completions(completed, pending=frozenset(), first=min(completed, default=""))
    return {(one.kind, one.named, one.found) for one in groups(*names).misplaced(times)}


TWO_SLICES = [base(FIRST), log(FIRST), base(COMPACTION), log(COMPACTION)]
TRUE = {FIRST: "20260102030402100", UPDATE: "20260102030404100", COMPACTION: "20260102030406000"}


def test_true_times_agree_with_names() -> None:
    assert differences(TWO_SLICES, TRUE) == set()


def test_log_file_of_compaction_within_one_second_counts_to_the_slice_before() -> None:
    completed = {**TRUE, COMPACTION: "20260102030405000"}
    assert differences(TWO_SLICES, completed) == {(Difference.EARLIER, COMPACTION, FIRST)}


def test_difference_of_the_newest_slice_shows_before_it_has_a_log_file() -> None:
    completed = {**TRUE, COMPACTION: "20260102030405000"}
    assert differences([base(FIRST), base(COMPACTION)], completed) == {(Difference.EARLIER, COMPACTION, FIRST)}


def test_file_group_with_one_slice_needs_no_times() -> None:
    completed = {**TRUE, COMPACTION: "20260102030405000"}
    assert differences([base(COMPACTION), log(COMPACTION)], completed) == set()


def test_log_file_of_a_copy_counts_to_the_newest_slice() -> None:
    completed = dict.fromkeys(TRUE, "20260103000000000")
    assert differences(TWO_SLICES, completed) == {(Difference.LATER, FIRST, COMPACTION)}


def test_log_file_of_a_copy_counts_to_the_slice_of_a_pending_compaction() -> None:
    found = groups(base(FIRST), log(FIRST))
    times = Completions({FIRST: "20260103000000000"}, pending=frozenset(), first=FIRST, planned=frozenset({COMPACTION}))
    assert times.may_mislead
    assert not any(found.misplaced(times)), "the plan does not compact this file group"
    found.plan("p", "f-0", COMPACTION)
    assert [(one.kind, one.found) for one in found.misplaced(times)] == [(Difference.LATER, COMPACTION)]


def test_log_file_of_a_pending_compaction_belongs_to_it() -> None:
    found = groups(base(FIRST), log(FIRST), log(COMPACTION))
    found.plan("p", "f-0", COMPACTION)
    times = Completions({FIRST: TRUE[FIRST]}, pending=frozenset(), first=FIRST, planned=frozenset({COMPACTION}))
    assert not any(found.misplaced(times))


@pytest.mark.parametrize(("pending", "within"), [(UPDATE, True), (LATER, True), ("20260104000000000", False)])
def test_dead_write_from_before_a_copy_is_told_from_one_after_it(pending: str, within: bool) -> None:
    times = Completions(dict.fromkeys(TRUE, "20260103000000000"), pending=frozenset({pending}), first=FIRST)
    assert times.begun_within(groups(*TWO_SLICES).misplaced(times)) is within


def test_dead_write_beside_a_compaction_is_no_doubt() -> None:
    """It began before the compaction completed, whose log files are where their names say (apache/hudi#10803)."""
    times = Completions({**TRUE, COMPACTION: "20260102030409000"}, pending=frozenset({LATER}), first=FIRST)
    assert not any(groups(*TWO_SLICES).misplaced(times))


def test_archived_instant_counts_as_completed_when_it_was_requested() -> None:
    assert differences(TWO_SLICES, {LATER: "20260102030407900"}) == set()


def test_clocks_that_put_every_file_before_every_instant_lose_nothing() -> None:
    assert differences(TWO_SLICES, dict.fromkeys(TRUE, "19700101000000000")) == set()


def test_instants_to_the_second_are_compared_by_their_names() -> None:
    names = [base("20260102030401"), log("20260102030401"), base("20260102030405"), log("20260102030405")]
    completed = {"20260102030401": "20260102030409000", "20260102030405": "20260102030405000"}
    assert differences(names, completed) == set()


def test_files_that_are_no_part_of_a_file_group_are_passed_over() -> None:
    found = groups(".hoodie_partition_metadata", "readme.txt", ".f-0_x.log", "_SUCCESS", "a.parquet")
    assert list(found.misplaced(Completions({}, pending=frozenset(), first=""))) == []


def test_names_of_cdc_and_of_older_releases_are_read() -> None:
    names = [base(FIRST), base(COMPACTION), f".f-0_{COMPACTION}.log.1", f".f-0_{COMPACTION}.log.2_1-0-1-cdc"]
    completed = {**TRUE, COMPACTION: "20260102030405000"}
    assert differences(names, completed) == {(Difference.EARLIER, COMPACTION, FIRST)}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("20260102030405500", 0.0),
        ("20260102030406000", 0.0),
        ("20260102030405000", 1.0),
        ("20260102030404900", 1.1),
        ("20260102025405500", 600.5),
        (None, 0.0),
    ],
)
def test_store_that_is_behind_has_to_reach_the_next_second(written: str | None, seconds: float) -> None:
    assert store_behind(COMPACTION, written).total_seconds() == seconds


@pytest.mark.parametrize(
    ("completed", "may"),
    [
        (TRUE, False),
        ({**TRUE, COMPACTION: "20260102030405000"}, True),
        ({**TRUE, FIRST: "20260102030404500"}, True),
        (dict.fromkeys(TRUE, "20260103000000000"), True),
        ({}, False),
    ],
)
def test_timeline_alone_tells_where_names_have_to_be_looked_at(completed: dict[str, str], may: bool) -> None:
    assert Completions(completed, pending=frozenset(), first=min(completed, default="")).may_mislead is may


def test_misplaced_log_files_are_counted_by_file_group() -> None:
    found = groups(*TWO_SLICES, *(name.replace("f-0", "g-0") for name in TWO_SLICES))
    times = Completions({**TRUE, COMPACTION: "20260102030405000"}, pending=frozenset(), first=FIRST)
    assert [one.file for one in found.misplaced(times)] == [f"p/{log(COMPACTION)}", f"p/{log(COMPACTION, 'g-0')}"]
    assert all(isinstance(one, Misplaced) for one in found.misplaced(times))
