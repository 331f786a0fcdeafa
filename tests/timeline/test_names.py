"""The file-name grammar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.timeline import Action, Layout, State
from hudi_operator.timeline.files.names import FAMILIES, file_name, parse_name

T = "20260102030405678"
C = "20260102030409999"


@pytest.mark.parametrize(
    ("name", "layout", "expected"),
    [
        (f"{T}.commit.requested", Layout.ONE, (T, None, Action.COMMIT, State.REQUESTED)),
        (f"{T}.inflight", Layout.ONE, (T, None, Action.COMMIT, State.INFLIGHT)),
        (f"{T}.commit", Layout.ONE, (T, None, Action.COMMIT, State.COMPLETED)),
        (f"{T}.inflight", Layout.TWO, (T, None, Action.COMMIT, State.INFLIGHT)),
        (f"{T}_{C}.commit", Layout.TWO, (T, C, Action.COMMIT, State.COMPLETED)),
        (f"{T}.commit", Layout.TWO, (T, None, Action.COMMIT, State.COMPLETED)),
        (f"{T}_{C}.replacecommit", Layout.TWO, (T, C, Action.REPLACE_COMMIT, State.COMPLETED)),
        (f"{T}.clustering.requested", Layout.TWO, (T, None, Action.CLUSTERING, State.REQUESTED)),
        (f"{T}.compaction.inflight", Layout.ONE, (T, None, Action.COMPACTION, State.INFLIGHT)),
        (f"{T}.logcompaction.requested", Layout.TWO, (T, None, Action.LOG_COMPACTION, State.REQUESTED)),
        (f"{T}.savepoint.inflight", Layout.TWO, (T, None, Action.SAVEPOINT, State.INFLIGHT)),
        (f"{T}_{C}.savepoint", Layout.TWO, (T, C, Action.SAVEPOINT, State.COMPLETED)),
        (f"{T}.restore.requested", Layout.ONE, (T, None, Action.RESTORE, State.REQUESTED)),
        (f"{T}_{C}.indexing", Layout.TWO, (T, C, Action.INDEXING, State.COMPLETED)),
        (f"{T}.schemacommit", Layout.ONE, (T, None, Action.SCHEMA_COMMIT, State.COMPLETED)),
        ("20260102030405.commit", Layout.ONE, ("20260102030405", None, Action.COMMIT, State.COMPLETED)),
        ("00000000000000001.deltacommit.requested", Layout.TWO,
         ("00000000000000001", None, Action.DELTA_COMMIT, State.REQUESTED)),
    ],
)  # fmt: skip
def test_a_file_of_the_timeline_is_taken_apart(
    name: str, layout: Layout, expected: tuple[str, str | None, Action, State]
) -> None:
    parsed = parse_name(name, layout)
    assert parsed is not None
    assert (parsed.time, parsed.completed_at, parsed.kind.action, parsed.kind.state) == expected


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("hoodie.properties", Layout.ONE),
        ("", Layout.TWO),
        (f".{T}.commit.crc", Layout.ONE),
        (f"{T}", Layout.TWO),
        (f"{T}.commit.crc", Layout.TWO),
        (f"{T}.commit.tmp", Layout.ONE),
        (f"{T}.compaction", Layout.TWO),
        (f"{T}_{C}.compaction", Layout.TWO),
        (f"{T}_{C}.clustering", Layout.TWO),
        (f"{T}.clustering.requested", Layout.ONE),
        (f"{T}_{C}.commit", Layout.ONE),
        (f"{T}.savepoint.requested", Layout.TWO),
        (f"{T}.vacuum.requested", Layout.TWO),
        (f"{T}.commit.inflight", Layout.TWO),
        (f"{T}_.commit", Layout.TWO),
        (f"_{C}.commit", Layout.TWO),
        (f"{T}_{C}_{C}.commit", Layout.TWO),
        ("٢٠٢٦٠١٠٢.commit", Layout.TWO),
        ("²0260102.commit", Layout.ONE),
        (f"{T}.COMMIT", Layout.ONE),
        ("history", Layout.TWO),
    ],
)
def test_a_file_that_hudi_ignores_is_none(name: str, layout: Layout) -> None:
    assert parse_name(name, layout) is None


TIMES = st.text("0123456789", min_size=1, max_size=20)


@given(
    time=TIMES,
    completed_at=TIMES,
    action=st.sampled_from(Action),
    state=st.sampled_from(State),
    layout=st.sampled_from(Layout),
)
def test_a_spelt_name_is_read_back(time: str, completed_at: str, action: Action, state: State, layout: Layout) -> None:
    if (action is Action.SAVEPOINT and state is State.REQUESTED) or (
        action is Action.CLUSTERING and layout is Layout.ONE and state is not State.COMPLETED
    ):
        return
    given_completion = completed_at if layout is Layout.TWO and state is State.COMPLETED else None
    name = file_name(time=time, completed_at=given_completion, action=action, state=state, layout=layout)
    parsed = parse_name(name, layout)
    assert parsed is not None
    spelt = FAMILIES.get(action, action) if state is State.COMPLETED else action
    assert (parsed.time, parsed.completed_at, parsed.kind.action, parsed.kind.state) == (
        time,
        given_completion,
        spelt,
        state,
    )


@given(st.text(max_size=60), st.sampled_from(Layout))
def test_any_text_is_a_name_or_none(name: str, layout: Layout) -> None:
    parsed = parse_name(name, layout)
    assert parsed is None or name.startswith(parsed.time)
