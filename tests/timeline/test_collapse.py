"""From names to instants: each instant once, in its highest state."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.timeline import Action, Instant, Layout, State
from hudi_operator.timeline.files.names import EXTENSIONS, FAMILIES, collapse, parse_name


@pytest.mark.parametrize(
    ("names", "layout", "expected"),
    [
        (
            ["1.commit.requested", "1.inflight", "1.commit"],
            Layout.ONE,
            [Instant("1", Action.COMMIT, State.COMPLETED)],
        ),
        (
            ["1.compaction.requested", "1.compaction.inflight", "1_2.commit"],
            Layout.TWO,
            [Instant("1", Action.COMMIT, State.COMPLETED, "2")],
        ),
        (
            ["1.compaction.requested", "1.compaction.inflight"],
            Layout.TWO,
            [Instant("1", Action.COMPACTION, State.INFLIGHT)],
        ),
        (
            ["1.logcompaction.requested", "1.deltacommit"],
            Layout.ONE,
            [Instant("1", Action.DELTA_COMMIT, State.COMPLETED)],
        ),
        (
            ["1.clustering.requested", "1.clustering.inflight", "1_3.replacecommit"],
            Layout.TWO,
            [Instant("1", Action.REPLACE_COMMIT, State.COMPLETED, "3")],
        ),
        (
            ["1.replacecommit.requested", "1.replacecommit.inflight"],
            Layout.ONE,
            [Instant("1", Action.REPLACE_COMMIT, State.INFLIGHT)],
        ),
        (
            ["5_6.savepoint", "5.savepoint.inflight", "5_6.commit", "5.inflight"],
            Layout.TWO,
            [Instant("5", Action.COMMIT, State.COMPLETED, "6"), Instant("5", Action.SAVEPOINT, State.COMPLETED, "6")],
        ),
        (
            ["3.clean.requested", "1.commit.requested", "2_9.rollback"],
            Layout.TWO,
            [
                Instant("1", Action.COMMIT, State.REQUESTED),
                Instant("2", Action.ROLLBACK, State.COMPLETED, "9"),
                Instant("3", Action.CLEAN, State.REQUESTED),
            ],
        ),
        ([], Layout.TWO, []),
    ],
)
def test_files_become_instants(names: list[str], layout: Layout, expected: list[Instant]) -> None:
    assert list(collapse(names, layout).instants) == expected


def test_an_instant_that_two_executors_completed_is_reported() -> None:
    collapsed = collapse(["1.clustering.requested", "1_5.replacecommit", "1_4.replacecommit"], Layout.TWO, folder="f/")
    assert collapsed.instants == (Instant("1", Action.REPLACE_COMMIT, State.COMPLETED, "4"),)
    assert [problem.file for problem in collapsed.problems] == ["f/1_5.replacecommit"]


NAMES = st.builds(
    lambda time, completed_at, extension: (
        f"{time}_{completed_at}.{extension}" if completed_at else f"{time}.{extension}"
    ),
    st.integers(1, 2).map(str),
    st.none() | st.integers(7, 9).map(str),
    st.sampled_from(sorted(EXTENSIONS[Layout.TWO])),
)


@given(st.lists(NAMES | st.text(max_size=10)), st.sampled_from(Layout), st.randoms())
def test_the_order_of_the_listing_does_not_matter(names: list[str], layout: Layout, random: Random) -> None:
    shuffled = list(dict.fromkeys(names))
    random.shuffle(shuffled)
    first, second = collapse(dict.fromkeys(names), layout), collapse(shuffled, layout)
    assert first.instants == second.instants
    assert sorted(first.problems) == sorted(second.problems)


@given(st.lists(NAMES, unique=True), st.sampled_from(Layout))
def test_every_file_belongs_to_one_instant_in_the_highest_state(names: list[str], layout: Layout) -> None:
    collapsed = collapse(names, layout)
    held = [name for entry in collapsed.entries for name in entry.files]
    assert sorted([*held, *collapsed.ignored]) == sorted(names)
    keys = [(one.time, FAMILIES.get(one.action, one.action)) for one in collapsed.instants]
    assert keys == sorted(set(keys))
    for entry in collapsed.entries:
        ranks = [parsed.kind.rank for name in entry.files if (parsed := parse_name(name, layout))]
        assert [State.REQUESTED, State.INFLIGHT, State.COMPLETED][max(ranks)] is entry.instant.state


@given(st.lists(NAMES, unique=True), NAMES, st.sampled_from(Layout))
def test_one_more_file_never_lowers_a_state(names: list[str], another: str, layout: Layout) -> None:
    order = list(State)
    before = {(one.time, FAMILIES.get(one.action, one.action)): one for one in collapse(names, layout).instants}
    after = {
        (one.time, FAMILIES.get(one.action, one.action)): one for one in collapse([*names, another], layout).instants
    }
    assert all(order.index(after[key].state) >= order.index(one.state) for key, one in before.items())
