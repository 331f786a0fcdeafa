"""Which columns have types that Spark writes or reads otherwise, and which services do not start because of them.

After apache/hudi#9884, #11803 (timestamp-millis), #13233 (a renamed unit) and incubator-xtable#672 (local times).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import Service
from hudi_jobs.contract.table.facts import REWRITING, consequences, facts_of
from hudi_jobs.contract.table.schema_history import ColumnType, foreign_types

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}


def schema(**columns: Any) -> str:
    fields: list[dict[str, Any]] = [{"name": "_hoodie_commit_time", "type": ["null", "string"]}]
    fields += [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "r", "namespace": "x", "fields": fields})


ITEM = {"type": "record", "name": "item", "fields": [{"name": "at", "type": MILLIS}]}
KINDS: list[tuple[Any, list[tuple[str, str]]]] = [
    *((kind, []) for kind in ("int", "long", "float", "double", "boolean", "string", "bytes")),
    (MICROS, []),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, []),
    ({"type": "int", "logicalType": "date"}, []),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, []),
    ({"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}, []),
    (MILLIS, [("c", "timestamp-millis")]),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, [("c", "local-timestamp-millis")]),
    ({"type": "string", "logicalType": "uuid"}, [("c", "uuid")]),
    ({"type": "int", "logicalType": "time-millis"}, [("c", "time-millis")]),
    ({"type": "long", "logicalType": "time-micros"}, [("c", "time-micros")]),
    ({"type": "long", "logicalType": "timestamp-nanos"}, [("c", "timestamp-nanos")]),
    ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, [("c", "decimal of bytes")]),
    ({"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}, [("c", "duration")]),
    ({"type": "fixed", "name": "f", "size": 4}, [("c", "fixed")]),
    ({"type": "array", "items": ["null", MILLIS]}, [("c.element", "timestamp-millis")]),
    ({"type": "map", "values": MILLIS}, [("c.value", "timestamp-millis")]),
    (ITEM, [("c.at", "timestamp-millis")]),
    ({"type": "array", "items": ITEM}, [("c.element.at", "timestamp-millis")]),
    ({"type": {"type": "long", "logicalType": "timestamp-millis"}}, [("c", "timestamp-millis")]),
]


@pytest.mark.parametrize(("kind", "found"), KINDS)
def test_every_type_that_spark_does_not_write_is_found_with_the_path_of_its_column(
    kind: Any, found: list[tuple[str, str]]
) -> None:
    assert [(one.column, one.kind) for one in foreign_types([schema(id="int", c=kind)])] == found


def test_a_union_of_several_types_and_a_type_that_refers_to_another_are_found() -> None:
    union = {"name": "u", "type": ["null", "string", "long"]}
    fields = [union, {"name": "a", "type": ITEM}, {"name": "b", "type": "item"}, {"name": "c", "type": "unknown"}]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    assert [(one.column, one.kind) for one in foreign_types([text])] == [
        ("u", "a union of several types"),
        ("a.at", "timestamp-millis"),
        ("b.at", "timestamp-millis"),
        ("c", "unknown"),
    ]


def test_a_type_that_holds_itself_ends() -> None:
    node = {"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]}
    assert [one.kind for one in foreign_types([schema(c=node)])] != []


@pytest.mark.parametrize("newest", [MILLIS, MICROS])
def test_a_unit_of_time_that_differs_between_commits_is_in_doubt_whichever_is_newer(newest: Any) -> None:
    other = MICROS if newest is MILLIS else MILLIS
    (found,) = foreign_types([schema(at=newest), schema(at=other)])
    assert found == ColumnType(column="at", kind=newest["logicalType"], unit_changed=True)
    assert not found.is_rewritten


@pytest.mark.parametrize(
    "text", ["{", "[]", "1", '{"type": "record"}', '{"type": "record", "fields": [1]}', "[" * 90_000]
)
def test_a_schema_that_cannot_be_read_is_not_taken_for_one_of_plain_types(text: str) -> None:
    (found,) = consequences(facts_of(schemas=[text], is_marked=False, history=None), declared_zone=None, ingests=False)
    assert found.refuses == REWRITING
    assert found.found == "a schema that cannot be read"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda part: (
            st.lists(part)
            | st.dictionaries(st.sampled_from(["type", "fields", "name", "items", "values", "logicalType"]), part)
        ),
    )
)
def test_no_schema_raises_an_error(content: Any) -> None:
    foreign_types([json.dumps({"type": "record", "name": "r", "fields": [{"name": "c", "type": content}]})])


def test_times_of_milliseconds_refuse_ingestion_alone() -> None:
    facts = facts_of(schemas=[schema(at=MILLIS)], is_marked=False, history=None)
    assert list(consequences(facts, declared_zone=None, ingests=False)) == []
    (found,) = consequences(facts, declared_zone=None, ingests=True)
    assert (found.key, found.found) == ("column at", "timestamp-millis")
    assert found.refuses == frozenset({Service.INGESTION})


def test_a_column_that_spark_cannot_read_refuses_what_rewrites_rows_and_no_deletion_of_files() -> None:
    facts = facts_of(schemas=[schema(at={"type": "int", "logicalType": "time-millis"})], is_marked=False, history=None)
    (found,) = consequences(facts, declared_zone=None, ingests=False)
    assert found.refuses == REWRITING
    assert Service.CLEANING not in found.refuses
