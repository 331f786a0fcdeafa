"""Checks that values written with an Avro schema keep their meaning when read as another schema."""

import json
from typing import Any, TypeAlias

from hudi_jobs.ingestion.sources.kafka.formats.avro_values.schemas import AvroJson, Place

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
