"""Avro schema texts as values: checks for readability, and for values that would lose their meaning."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hudi_jobs.contract import FailureReason
from hudi_jobs.spark.failures import TaskFailed

AvroObject: TypeAlias = dict[str, Any]
AvroJson: TypeAlias = Any
"""A schema as JSON: a name, a list for a union, or an object."""

_DEEPEST = 60
_WIDEST = 20_000
_LOGICAL = {
    ("io.debezium.time.Date", "int"): "date",
    ("io.debezium.time.Timestamp", "long"): "timestamp-millis",
    ("io.debezium.time.MicroTimestamp", "long"): "timestamp-micros",
}
"""Debezium's names of types without an Avro logical type, by storage type."""

WRAPPED = "row"
_MOST_DIGITS = 38
"""The most digits of Spark's decimals."""


def wrapped(text: str) -> str:
    """Return the schema as the only field of the only field of a record.

    Avro encodes all three alike. If a body cannot be decoded, Spark returns a row of nulls, so the outer field is null;
    the outer field of a decoded body never is, whatever the registry's schema allows.
    """
    inner = {"type": "record", "name": "hudi_jobs_inner", "fields": [{"name": WRAPPED, "type": json.loads(text)}]}
    return json.dumps({"type": "record", "name": "hudi_jobs_outer", "fields": [{"name": WRAPPED, "type": inner}]})


def require_readable(text: str, number: int) -> None:
    """Raise `TaskFailed` if a self-contained schema is not a record, is recursive, or is too large."""
    try:
        schema = json.loads(text)
        members = [each for each in schema if each != "null"] if isinstance(schema, list) else [schema]
        if len(members) != 1 or not isinstance(members[0], dict) or members[0].get("type") != "record":
            raise _refused(number, "is not a record, so its values have no columns")
        _walk(schema, Place(), number, {})
    except (ValueError, RecursionError) as error:
        raise _refused(number, "is nested too deep") from error


@dataclass(frozen=True)
class Place:
    """A position in a schema: the namespace, and the enclosing named types."""

    space: str = ""
    records: tuple[str, ...] = ()
    depth: int = 0

    def full_name(self, name: str) -> str:
        """Return the full name of a name used here."""
        return name if "." in name or not self.space else f"{self.space}.{name}"

    def within(self, record: Mapping[str, Any]) -> "Place":
        """Return the position inside a named type; its full name is the last of `records`."""
        named, space = str(record.get("name")), record.get("namespace")
        name = f"{space}.{named}" if space and "." not in named else named if space == "" else self.full_name(named)
        return Place(name.rpartition(".")[0], (*self.records, name), self.depth)


def _walk(schema: AvroJson, place: Place, number: int, known: dict[str, int]) -> int:
    """Walk every part of a schema, and count the parts after expanding each name.

    Spark makes a column of each: records that use others twice, which use others twice, would never end.
    """
    if place.depth > _DEEPEST:
        raise _refused(number, "is nested too deep")
    if isinstance(schema, str) and place.full_name(schema) in place.records:
        raise _refused(number, f"refers to itself in {schema[:200]}; a table cannot have recursive columns")
    if isinstance(schema, str):
        return known.get(place.full_name(schema), 1)
    is_record = isinstance(schema, dict) and schema.get("type") in {"record", "error"}
    if is_record:
        place = place.within(schema)
    parts = 1 + sum(_walk(part, replace(place, depth=place.depth + 1), number, known) for part in _parts(schema))
    if parts > _WIDEST:
        raise _refused(number, f"has more than {_WIDEST:,} parts, counting every use of a named part")
    if is_record:
        known[place.records[-1]] = parts
    return parts


def _parts(schema: AvroJson) -> list[AvroJson]:
    if isinstance(schema, list):
        return schema
    if not isinstance(schema, dict):
        return []
    fields = [field.get("type") for field in schema.get("fields", [])]
    return [*fields, *(schema[key] for key in ("type", "items", "values") if key in schema)]


def with_times(text: str, kept: frozenset[str]) -> str:
    """Return the schema with Avro's logical types for Debezium's equivalent time types.

    Fields named in `kept` stay numbers.
    """

    def named_as_avro(schema: AvroObject) -> AvroObject:
        logical = _LOGICAL.get((str(schema.get("connect.name")), str(schema.get("type"))))
        return schema if logical is None else {**schema, "logicalType": logical}

    return json.dumps(_changed(json.loads(text), named_as_avro, kept))


def with_short_decimals(text: str) -> str:
    """Return the schema with decimals limited to Spark's digits; a value with more cannot be decoded then.

    Kafka Connect declares 64 digits if a connector does not specify them, as for the type money.
    """
    return json.dumps(_changed(json.loads(text), _short))


def _short(schema: AvroObject) -> AvroObject:
    precision = schema.get("precision")
    is_long = schema.get("logicalType") == "decimal" and isinstance(precision, int) and precision > _MOST_DIGITS
    return {**schema, "precision": _MOST_DIGITS} if is_long else schema


def _changed(
    schema: AvroJson, change: Callable[[AvroObject], AvroObject], kept: frozenset[str] = frozenset()
) -> AvroJson:
    """Return a schema with every object part changed, except fields named in `kept`."""
    if isinstance(schema, list):
        return [_changed(member, change, kept) for member in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {"type", "items", "values"}
    changed = {key: _changed(value, change, kept) if key in parts else value for key, value in schema.items()}
    if isinstance(schema.get("fields"), list):
        fields = schema["fields"]
        changed["fields"] = [each if each.get("name") in kept else _changed(each, change, kept) for each in fields]
    return change(changed)


def _refused(number: int, why: str) -> TaskFailed:
    return TaskFailed(FailureReason.SCHEMA_INCOMPATIBLE, f"The schema {number} of the registry {why}.")


_Tree: TypeAlias = dict[str, Any]
"""A schema with every name replaced by its definition: `type`, and its properties."""


def means_the_same(writer: str, reader: str) -> bool:
    """Tell whether each value of the writer's schema stays the same when read as the reader's.

    For two schemas that Avro finds compatible (`SchemaCompatibility`): that check compares neither logical types nor
    their digits, so milliseconds are read as microseconds, and it reads a symbol missing in the reader's enum as its
    default. False if uncertain. Both schemas are finite, see `require_readable`.
    """
    return _alike(_whole(json.loads(writer), Place(), {}), _whole(json.loads(reader), Place(), {}))


def _whole(schema: AvroJson, place: Place, known: dict[str, _Tree]) -> _Tree:
    if isinstance(schema, str):
        return known.get(place.full_name(schema), known.get(schema, {"type": schema}))
    if isinstance(schema, list):
        return {"type": "union", "branches": [_whole(each, place, known) for each in schema]}
    kind = schema.get("type")
    if isinstance(kind, dict | list):
        return _whole(kind, place, known)
    if "name" not in schema:
        inner = {key: _whole(schema[key], place, known) for key in ("items", "values") if key in schema}
        return {**schema, **inner}
    within = place.within(schema)
    tree: _Tree = schema
    if "fields" in schema:
        fields = {each["name"]: _whole(each["type"], within, known) for each in schema["fields"]}
        tree = {"type": "record", "fields": fields}
    known[within.records[-1]] = tree
    return tree


def _alike(writer: _Tree, reader: _Tree) -> bool:
    written, read = _branches(writer), _branches(reader)
    if len(written) == len(read) == 1:
        return _same(written[0], read[0])
    return all(any(one["type"] == other["type"] and _same(one, other) for other in read) for one in written)


def _branches(tree: _Tree) -> list[_Tree]:
    branches = tree["branches"] if tree["type"] == "union" else [tree]
    return [each for each in branches if each["type"] != "null"]


def _same(writer: _Tree, reader: _Tree) -> bool:
    if any(writer.get(key) != reader.get(key) for key in ("logicalType", "scale")):
        return False
    kind = writer["type"]
    if kind != reader["type"]:
        return True  # Avro's own promotion, such as long to double: a table with the wider type needs it
    if kind == "record":
        fields = reader["fields"]
        return all(name in fields and _alike(one, fields[name]) for name, one in writer["fields"].items())
    if kind == "enum":
        return set(writer["symbols"]) <= set(reader["symbols"])
    if kind in {"array", "map"}:
        part = "items" if kind == "array" else "values"
        return _alike(writer[part], reader[part])
    return _digits(writer) <= _digits(reader)


def _digits(tree: _Tree) -> int:
    digits = tree.get("precision")
    return digits if isinstance(digits, int) else 0
