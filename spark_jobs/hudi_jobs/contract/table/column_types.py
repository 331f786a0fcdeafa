"""Types of columns as values: Spark's own text of a type, and the type that a commit's Avro schema has for a column.

Spark has the same text for a type in `DataType.simpleString` and in DDL, such as `decimal(10,2)` and
`struct<sku:string,sizes:array<int>>`. Each type in `PLAIN` was written, updated, compacted, clustered and read again by
Spark and hudi-rs (`test_columns_read_back.py`); hudi-rs cannot read `timestamp_ntz`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PLAIN = frozenset(
    {"boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"},
)
"""Types without parts that a column may be declared with, apart from decimals."""

MOST_PARTS = 1_000
"""The most parts of a type that are read."""

_DEPTH = 20
_SCHEMA_LIMIT = 2**20
_HUDI_COLUMNS = "_hoodie_"
_DECIMAL = re.compile(r"decimal\(([1-9]\d?),(0|[1-9]\d?)\)", re.ASCII)
_TOKEN = re.compile(r"decimal\(\d{1,2},\d{1,2}\)|[A-Za-z_][A-Za-z0-9_]*|[<>:,]")
_MOST_DIGITS = 38


class UnknownType(ValueError):
    """A text that is no type that a column may have; the message says why, as a clause."""


@dataclass(frozen=True)
class ColumnKind:
    """The type of a column; `parts` are the fields of a struct, the `element` of an array, the `value` of a map."""

    name: str
    parts: tuple[tuple[str, "ColumnKind"], ...] = ()

    def __str__(self) -> str:
        """Return Spark's text of the type."""
        if self.name == "struct":
            return f"struct<{','.join(f'{name}:{kind}' for name, kind in self.parts)}>"
        if self.name == "map":
            return f"map<string,{self.parts[0][1]}>"
        return f"array<{self.parts[0][1]}>" if self.name == "array" else self.name


def parse_type(text: str) -> ColumnKind:
    """Read Spark's text of a type; raise `UnknownType` for anything that a column cannot be declared with."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text or len(tokens) > 2 * MOST_PARTS:
        raise UnknownType("is not written as Spark writes types, such as decimal(10,2) or array<struct<sku:string>>")
    left = iter(tokens)
    kind = _parsed(left, 0)
    if next(left, None) is not None:
        raise UnknownType("has text behind the type")
    return kind


def _parsed(left: Iterator[str], depth: int) -> ColumnKind:
    if depth > _DEPTH:
        raise UnknownType(f"has more than {_DEPTH} levels")
    name = next(left, "")
    if name in PLAIN or _is_decimal(name):
        return ColumnKind(name)
    if name not in {"array", "map", "struct"}:
        raise UnknownType(f"has {name or 'nothing'} where a type is expected")
    _expect(left, "<")
    if name == "array":
        found = ColumnKind(name, (("element", _parsed(left, depth + 1)),))
        _expect(left, ">")
        return found
    if name == "map":
        if next(left, "") != "string":
            raise UnknownType("has a map with keys other than string, which Hudi cannot write")
        _expect(left, ",")
        found = ColumnKind(name, (("value", _parsed(left, depth + 1)),))
        _expect(left, ">")
        return found
    return ColumnKind(name, tuple(_fields(left, depth)))


def _fields(left: Iterator[str], depth: int) -> Iterator[tuple[str, ColumnKind]]:
    known: set[str] = set()
    while True:
        name = next(left, "")
        if not name.isidentifier() or name.lower() in known:
            raise UnknownType(f"has a struct with {name or 'nothing'} where a new name is expected")
        known.add(name.lower())
        _expect(left, ":")
        yield name, _parsed(left, depth + 1)
        end = next(left, "")
        if end == ">":
            return
        if end != ",":
            raise UnknownType("has a struct that does not end")


def _expect(left: Iterator[str], wanted: str) -> None:
    found = next(left, "")
    if found != wanted:
        raise UnknownType(f"has {found or 'nothing'} where {wanted} is expected")


def _is_decimal(name: str) -> bool:
    digits = decimal_digits(name)
    return digits is not None and 1 <= digits[0] <= _MOST_DIGITS and digits[1] <= digits[0]


def decimal_digits(name: str) -> tuple[int, int] | None:
    """Return precision and scale of the text of a decimal; None for another type."""
    found = _DECIMAL.fullmatch(name)
    return None if found is None else (int(found[1]), int(found[2]))


@dataclass(frozen=True)
class StoredColumn:
    """A column as a commit's schema has it."""

    name: str
    kind: ColumnKind
    comment: str | None = None


def stored_columns(schema: str | None) -> tuple[StoredColumn, ...] | None:
    """Return the columns of a commit's Avro schema without Hudi's own; None for a text that is no such schema."""
    if schema is None or len(schema) > _SCHEMA_LIMIT:
        return None
    try:
        record = json.loads(schema)
        if record["type"] != "record":
            return None
        named: dict[str, Any] = {}
        return tuple(
            StoredColumn(str(one["name"]), _of_avro(one["type"], named, 0), str(one["doc"]) if one.get("doc") else None)
            for one in record["fields"]
            if not str(one["name"]).startswith(_HUDI_COLUMNS)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def parts_of(columns: tuple[StoredColumn, ...]) -> dict[str, str]:
    """Return the type of each column and of each part of one, by its name; nested names have dots."""
    return {path: kind for one in columns for path, kind in _parts(one.name, one.kind)}


def _parts(path: str, kind: ColumnKind) -> Iterator[tuple[str, str]]:
    yield path, kind.name
    for name, part in kind.parts:
        yield from _parts(f"{path}.{name}", part)


_PRIMITIVE = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
    "enum": "string",
    "fixed": "binary",
}
_LOGICAL = {"date": "date", "timestamp-micros": "timestamp", "local-timestamp-micros": "timestamp_ntz"}


def _of_avro(kind: Any, named: dict[str, Any], depth: int) -> ColumnKind:  # noqa: ANN401 - JSON
    if depth > 2 * _DEPTH:
        raise ValueError("types are nested deeper than is looked at")
    if isinstance(kind, list):
        branches = [one for one in kind if one != "null"]
        if len(branches) != 1:
            return ColumnKind("union")
        return _of_avro(branches[0], named, depth + 1)
    if isinstance(kind, str):
        return ColumnKind(_PRIMITIVE[kind]) if kind in _PRIMITIVE else _of_avro(named[kind], named, depth + 1)
    return _of_avro_object(kind, named, depth)


def _of_avro_object(kind: Mapping[str, Any], named: dict[str, Any], depth: int) -> ColumnKind:
    name, logical = kind["type"], kind.get("logicalType")
    if "name" in kind:
        named |= {str(kind["name"]): kind, f"{kind.get('namespace', '')}.{kind['name']}": kind}
    if logical == "decimal":
        return ColumnKind(f"decimal({int(kind['precision'])},{int(kind.get('scale', 0))})")
    if logical is not None:
        return ColumnKind(_LOGICAL.get(str(logical), str(logical)))
    if name == "record":
        fields = ((str(one["name"]), _of_avro(one["type"], named, depth + 1)) for one in kind["fields"])
        return ColumnKind("struct", tuple(fields))
    if name == "array":
        return ColumnKind("array", (("element", _of_avro(kind["items"], named, depth + 1)),))
    if name == "map":
        return ColumnKind("map", (("value", _of_avro(kind["values"], named, depth + 1)),))
    return _of_avro(name, named, depth + 1)
