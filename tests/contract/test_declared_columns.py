"""Declared columns as values: the texts of types, the columns of a commit, and what a run changes."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from hudi_jobs.contract import Service
from hudi_jobs.contract.table.column_types import ColumnKind, StoredColumn, UnknownType, parse_type, stored_columns
from hudi_jobs.contract.table.columns import DeclaredColumn, DeclaredSchema, SchemaChange, schema_changes
from hudi_jobs.contract.table.facts import facts_of
from hudi_jobs.contract.table.properties import TableDefinition, differences


@pytest.mark.parametrize(
    "text",
    [
        "bigint",
        "decimal(38,38)",
        "array<struct<sku:string,sizes:array<int>>>",
        "map<string,decimal(10,2)>",
        "struct<a:struct<b:timestamp>>",
    ],
)
def test_a_type_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "varchar(3)",
        "BIGINT",
        "array <int>",
        "decimal(39,2)",
        "decimal(05,2)",
        "decimal(5,02)",
        "decimal(2,3)",
        "decimal",
        "map<int,string>",
        "struct<>",
        "struct<a:int",
        "struct<a:int,A:int>",
        "struct<a int>",
        "array<int>>",
        "timestamp_ntz",
        "int, `b` int",
        "array<" * 40 + "int" + ">" * 40,
    ],
)
def test_a_text_that_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(UnknownType):
        parse_type(text)
    with pytest.raises(ValidationError):
        DeclaredColumn(name="a", type=text)


def of(kinds: dict[str, str]) -> tuple[StoredColumn, ...]:
    return tuple(StoredColumn(name, parse_type(kind)) for name, kind in kinds.items())


def declared(kinds: dict[str, str], **fields: Any) -> DeclaredSchema:
    columns = [{"name": name, "type": kind} for name, kind in kinds.items()]
    return DeclaredSchema.model_validate({"columns": columns, **fields})


def problems(table: str, wanted: str, **fields: Any) -> list[tuple[str, bool]]:
    found = schema_changes(declared({"c": wanted}, **fields), of({"c": table}), {"key": "record key"})
    return [(one.path, one.problem is None) for one in found]


@pytest.mark.parametrize(
    ("table", "wanted", "found"),
    [
        ("int", "int", []),
        ("int", "bigint", [("c", True)]),
        ("float", "double", [("c", True)]),
        ("decimal(8,2)", "decimal(10,2)", [("c", True)]),
        ("decimal(8,2)", "decimal(10,3)", [("c", False)]),
        ("bigint", "int", [("c", False)]),
        ("int", "string", [("c", False)]),
        ("struct<a:int>", "struct<a:int,b:string>", [("c.b", True)]),
        ("struct<a:int,b:int>", "struct<a:int>", [("c.b", False)]),
        ("struct<a:int>", "struct<a:bigint>", [("c.a", False)]),
        ("array<int>", "array<bigint>", [("c.element", False)]),
        ("map<string,struct<a:int>>", "map<string,struct<a:int,b:int>>", [("c.value.b", True)]),
        ("array<int>", "map<string,int>", [("c", False)]),
    ],
)
def test_only_additions_and_lossless_widening_are_changes_of_a_run(
    table: str, wanted: str, found: list[tuple[str, bool]]
) -> None:
    assert problems(table, wanted) == found


def test_without_evolution_no_run_changes_a_column() -> None:
    assert problems("int", "bigint", evolution="None") == [("c", False)]
    found = schema_changes(declared({"c": "int", "d": "int"}, evolution="None"), of({"c": "int"}), {})
    assert [one.problem is None for one in found] == [False]


def test_a_column_that_the_spec_leaves_out_is_never_dropped() -> None:
    (found,) = schema_changes(declared({"a": "int"}), of({"a": "int", "b": "int"}), {})
    assert (found.path, found.declared, found.stored) == ("b", None, "int")
    assert "no run drops or renames" in str(found.problem)


@pytest.mark.parametrize(
    ("name", "kind"), [("größe", "int"), ("at", "timestamp_ntz"), ("at", "timestamp-millis"), ("at", "union")]
)
def test_a_column_that_no_declaration_can_have_is_not_advised_to_be_declared(name: str, kind: str) -> None:
    stored = (StoredColumn(name, ColumnKind(kind)), StoredColumn("id", ColumnKind("int")))
    (found,) = schema_changes(declared({"id": "int"}), stored, {})
    assert "remove schema.columns" in str(found.problem)


def test_a_type_that_no_declaration_can_have_is_not_advised_to_be_declared() -> None:
    (found,) = schema_changes(declared({"at": "timestamp"}), (StoredColumn("at", ColumnKind("timestamp-millis")),), {})
    assert "the type timestamp-millis: remove schema.columns" in str(found.problem)


def test_a_column_of_the_key_keeps_its_type() -> None:
    (found,) = schema_changes(declared({"id": "bigint"}), of({"id": "int"}), {"id": "record key"})
    assert "the record key column keeps its type" in str(found.problem)


def test_a_new_column_without_null_is_refused_for_the_rows_that_are_there() -> None:
    wanted = DeclaredSchema.model_validate(
        {"columns": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "nullable": False}]}
    )
    assert schema_changes(wanted, of({"a": "int"}), {}) == (
        SchemaChange(
            "b", "int", None, "rows that the table has would have no value in it: declare it with nullable true"
        ),
    )


AVRO = {
    "type": "record",
    "name": "flights_record",
    "namespace": "hoodie.flights",
    "fields": [
        {"name": "_hoodie_commit_time", "type": ["null", "string"]},
        {"name": "id", "type": ["null", "long"], "doc": "the flight"},
        {
            "name": "price",
            "type": [
                "null",
                {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2},
            ],
        },
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {
            "name": "legs",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": [
                        "null",
                        {"type": "record", "name": "leg", "fields": [{"name": "from", "type": "string"}]},
                    ],
                },
            ],
        },
        {"name": "tags", "type": ["null", {"type": "map", "values": ["null", "leg"]}]},
    ],
}


def test_columns_are_read_from_the_schema_of_a_commit() -> None:
    found = stored_columns(json.dumps(AVRO))
    assert found is not None
    assert [(one.name, str(one.kind), one.comment) for one in found] == [
        ("id", "bigint", "the flight"),
        ("price", "decimal(10,2)", None),
        ("day", "date", None),
        ("at", "timestamp-millis", None),
        ("legs", "array<struct<from:string>>", None),
        ("tags", "map<string,struct<from:string>>", None),
    ]


@pytest.mark.parametrize("text", ["", "[]", "null", '{"type": "record"}', '{"type": "map"}', '"' + "x" * 2**20 + '"'])
def test_a_text_that_is_no_schema_shows_no_columns(text: str) -> None:
    assert stored_columns(text) is None


def test_a_difference_names_the_column_and_both_types() -> None:
    definition = TableDefinition.model_validate(
        {
            "name": "flights",
            "basePath": "s3a://lake/flights",
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "declared": {"columns": [{"name": "id", "type": "bigint"}, {"name": "price", "type": "decimal(8,2)"}]},
        }
    )
    fields = [one for one in AVRO["fields"] if one["name"] in {"id", "price"}]  # type: ignore[index]
    facts = facts_of(schemas=[json.dumps({**AVRO, "fields": fields})], is_marked=False, history=None)
    properties = {"hoodie.table.name": "flights", "hoodie.table.recordkey.fields": "id", "hoodie.table.version": "9"}
    found = [one for one in differences(properties, definition, facts=facts) if "schema.columns" in one.field]
    assert [one.sentence for one in found] == [
        "schema.columns[price]: the spec declares decimal(8,2), but the table has decimal(10,2); a column cannot "
        "become narrower: declare decimal(10,2)."
    ]
    assert found[0].refuses == {Service.INGESTION}
