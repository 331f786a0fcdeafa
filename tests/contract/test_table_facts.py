"""What a table says outside of its properties, and which services do not start because of it.

Inputs after public reports: apache/hudi#7040 (a dropped name is given to another column), #11803 (a renamed column
reads null), #7421 (the option was set and nothing but additions was done), #5452 (columns were added by a DataFrame).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import Service
from hudi_jobs.contract.instants import InstantFile
from hudi_jobs.contract.table.facts import ZONE_FIELD, TableFacts, consequences, facts_of
from hudi_jobs.contract.table.schema_history import Evolution, evolution_of, newest_history_file
from hudi_jobs.contract.table.zone import ShownZone, shown_zone

BEFORE = {0: ("id", "int"), 1: ("note", "string"), 2: ("price", "double"), 3: ("ts", "long")}
NEWEST = 1_767_355_200_000
"""2026-01-02T12:00:00Z in milliseconds."""


def field(number: int, name: str, kind: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "optional": True, "type": kind}


def history(*versions: dict[int, tuple[str, Any]]) -> str:
    """What Hudi writes, the newest version first."""
    schemas = [
        {
            "max_column_id": max(columns),
            "version_id": number,
            "type": "record",
            "fields": [field(column, *rest) for column, rest in columns.items()],
        }
        for number, columns in enumerate(versions)
    ]
    return json.dumps({"schemas": schemas[::-1]})


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "fields": list(fields)}


def array(number: int, element: Any) -> dict[str, Any]:
    return {"type": "array", "element_id": number, "element": element, "element_optional": True}


ITEM = struct(field(5, "sku", "string"))
RENAMED_ITEM = struct(field(5, "article", "string"))
CHANGES: list[tuple[str, tuple[dict[int, tuple[str, Any]], ...], tuple[str, ...]]] = [
    ("a rename", (BEFORE, BEFORE | {1: ("remark", "string")}), ("note was renamed to remark",)),
    ("a drop", (BEFORE, {key: BEFORE[key] for key in (0, 1, 3)}), ("price was dropped",)),
    (
        "a drop and a rename to its name",
        (BEFORE, {0: BEFORE[0], 1: ("price", "string"), 3: BEFORE[3]}),
        ("note was renamed to price", "price was dropped", "price is the name of another column than before"),
    ),
    (
        "a drop and a new column of its name",
        (BEFORE, {key: BEFORE[key] for key in (0, 1, 3)}, {**{key: BEFORE[key] for key in (0, 1, 3)}, 4: BEFORE[2]}),
        ("price was dropped", "price is the name of another column than before"),
    ),
    (
        "a rename and back",
        (BEFORE, BEFORE | {1: ("remark", "string")}, BEFORE),
        ("note was renamed to remark", "remark was renamed to note"),
    ),
    ("a wider type", (BEFORE, BEFORE | {0: ("id", "long")}), ("id was int and is long",)),
    ("another type", (BEFORE, BEFORE | {3: ("ts", "string")}), ("ts was long and is string",)),
    ("an addition", (BEFORE, BEFORE | {4: ("extra", "string")}), ()),
    (
        "two additions and another order",
        (BEFORE, {4: ("a", "int"), **BEFORE}, {4: ("a", "int"), 5: ("b", "int"), **BEFORE}),
        (),
    ),
    ("no change", (BEFORE,), ()),
    (
        "a rename in a struct",
        (BEFORE | {4: ("item", ITEM)}, BEFORE | {4: ("item", RENAMED_ITEM)}),
        ("item.sku was renamed to item.article",),
    ),
    (
        "a rename in an array",
        (BEFORE | {4: ("items", array(6, ITEM))}, BEFORE | {4: ("items", array(6, RENAMED_ITEM))}),
        ("items.element.sku was renamed to items.element.article",),
    ),
    (
        "an addition in a struct",
        (BEFORE | {4: ("item", ITEM)}, BEFORE | {4: ("item", struct(*ITEM["fields"], field(6, "size", "int")))}),
        (),
    ),
    (
        "a column that became a struct",
        (BEFORE, BEFORE | {1: ("note", ITEM)}),
        ("note was string and is record",),
    ),
]


@pytest.mark.parametrize(("versions", "changes"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_columns_that_were_only_added_are_read_by_name_and_every_other_change_is_named(
    versions: tuple[dict[int, tuple[str, Any]], ...], changes: tuple[str, ...]
) -> None:
    assert evolution_of(is_marked=True, history=history(*versions)) == Evolution(is_marked=True, changes=changes)


@pytest.mark.parametrize("is_marked", [True, False])
def test_renamed_columns_count_whether_or_not_the_newest_commits_are_marked(is_marked: bool) -> None:
    """A writer without the option leaves commits without the mark behind one that has it."""
    found = evolution_of(is_marked=is_marked, history=history(BEFORE, BEFORE | {1: ("remark", "string")}))
    assert found.changes == ("note was renamed to remark",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schemas": {}}',
        '{"schemas": [{"version_id": "x", "type": "record", "fields": []}]}',
        '{"schemas": [{"version_id": 0, "type": "union"}]}',
        '{"schemas": [{"version_id": 0, "type": "record", "fields": [{"id": {}, "name": "a", "type": "int"}]}]}',
        '{"schemas": [{"version_id": 0, "type": "record", "fields": ['
        + '{"id":1,"name":"a","type":{"type":"record","fields":[' * 500,
        "[" * 100_000,
        '{"schemas": [{"version_id": ' + "9" * 5_000 + "}]}",
    ],
)
def test_a_history_that_cannot_be_read_refuses(text: str) -> None:
    (found,) = consequences(facts_of(schemas=[], is_marked=False, history=text), declared_zone=None, ingests=False)
    assert "nothing can be read" in found.found


def test_a_marked_table_without_its_history_is_refused() -> None:
    assert evolution_of(is_marked=True, history=None).changes == ("nothing can be read",)
    assert evolution_of(is_marked=False, history=None) == Evolution()


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.floats(),
        lambda part: (
            st.lists(part)
            | st.dictionaries(
                st.sampled_from(["schemas", "fields", "type", "id", "name", "version_id"]) | st.text(), part
            )
        ),
    )
)
def test_no_history_raises_an_error(content: Any) -> None:
    evolution_of(is_marked=False, history=json.dumps(content))


def test_many_changes_are_counted() -> None:
    many = {number: (f"column_{number}", "int") for number in range(40)}
    found = evolution_of(is_marked=True, history=history(many, {number: (f"c{number}", "int") for number in range(40)}))
    assert found.changes[-1] == "and 35 more changes"


def test_the_newest_file_of_a_history_is_chosen_by_its_instant() -> None:
    names = [
        "20260101000000000.schemacommit",
        "20260101000000001_20260101000000900.schemacommit",
        "20260101000000002.schemacommit.inflight",
        "20260101000000003.schemacommit.requested",
        ".20260101000000004.schemacommit.crc",
        "x.schemacommit",
    ]
    assert newest_history_file(names) == names[1]
    assert newest_history_file(names[2:]) is None


def test_a_renamed_column_refuses_every_service_and_says_what_would_happen() -> None:
    facts = facts_of(schemas=[], is_marked=True, history=history(BEFORE, BEFORE | {1: ("remark", "string")}))
    (found,) = consequences(facts, declared_zone=None, ingests=False)
    assert found.refuses == frozenset(Service)
    assert (found.key, found.found) == ("hoodie.schema.on.read.enable", "a history in which note was renamed to remark")
    assert "would become null" in found.advice


ZONES: list[tuple[timedelta | None, str | None, str | None]] = [
    (None, None, "instants in a local time"),
    (None, "Asia/Tokyo", None),
    (timedelta(hours=9), None, None),
    (timedelta(hours=9), "Asia/Tokyo", None),
    (timedelta(hours=9), "America/New_York", "UTC+09:00, while America/New_York was UTC-05:00"),
    (timedelta(0), "Europe/Paris", "UTC+00:00, while Europe/Paris was UTC+01:00"),
    (timedelta(hours=9), "Nowhere/Land", None),
]


@pytest.mark.parametrize(("offset", "declared", "part"), ZONES)
def test_the_zone_of_a_table_in_local_time_is_known_from_its_files_before_any_job(
    offset: timedelta | None, declared: str | None, part: str | None
) -> None:
    facts = TableFacts(zone=ShownZone(offset=offset, newest_ms=NEWEST))
    found = list(consequences(facts, declared_zone=declared, ingests=False))
    assert [one.key for one in found] == ([] if part is None else [ZONE_FIELD])
    assert part is None or part in found[0].found


def test_a_copied_table_shows_no_zone_and_one_without_instants_needs_none() -> None:
    copied = [InstantFile(f"2026010211{minute:02}00000.commit.requested", NEWEST) for minute in range(10)]
    assert shown_zone("", copied) == ShownZone(offset=None, newest_ms=NEWEST)
    assert shown_zone("", []) is None
    moments = [datetime(2026, 1, 2, 12, minute, tzinfo=UTC) for minute in range(0, 40, 5)]
    own = [InstantFile(f"{one:%Y%m%d%H%M%S}000.commit.requested", int(one.timestamp() * 1000)) for one in moments]
    assert shown_zone("", own) == ShownZone(offset=timedelta(0), newest_ms=own[-1].written_ms)
