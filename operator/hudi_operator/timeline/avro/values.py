"""Parses an Avro schema, and compiles it into functions that read the wanted values and skip the rest."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hudi_operator.timeline.model import ContentTooLarge, CorruptContent, TooMuchKept

_PLAIN_NAMES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_LARGEST_FIXED = 2**20


class SchemaError(ValueError):
    """The schema is not valid Avro."""


@dataclass(slots=True, eq=False)
class Schema:
    """An Avro type. `parts` holds a union's branches, an array's item type or a map's value type."""

    kind: str
    name: str = ""
    fields: tuple[tuple[str, "Schema"], ...] = ()
    parts: tuple["Schema", ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0


def parse_schema(text: bytes) -> Schema:
    """Parse a schema. Raises `SchemaError`."""
    try:
        return _Parser().parse(json.loads(text), "")
    except SchemaError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SchemaError(f"{type(error).__name__} {error}"[:200].rstrip()) from error


class _Parser:
    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}

    def parse(self, given: Any, namespace: str) -> Schema:  # noqa: ANN401 - JSON
        if isinstance(given, str):
            return self._reference(given, namespace)
        if isinstance(given, list):
            return Schema("union", parts=tuple(self.parse(one, namespace) for one in given))
        kind = given["type"]
        if not isinstance(kind, str):
            return self.parse(kind, namespace)
        if kind in {"array", "map"}:
            return Schema(kind, parts=(self.parse(given["items" if kind == "array" else "values"], namespace),))
        if kind in {"record", "error", "enum", "fixed"}:
            return self._define(given, "record" if kind == "error" else kind, namespace)
        return self._reference(kind, namespace)

    def _reference(self, name: str, namespace: str) -> Schema:
        if name in _PLAIN_NAMES:
            return Schema(name)
        known = self._named.get(f"{namespace}.{name}") or self._named.get(name)
        if known is None:
            raise SchemaError(f"the type {name[:100]!r} is not defined")
        return known

    def _define(self, given: dict[str, Any], kind: str, namespace: str) -> Schema:
        name = str(given["name"])
        inside = name.rpartition(".")[0] or str(given.get("namespace") or namespace)
        full = name if "." in name or not inside else f"{inside}.{name}"
        schema = Schema(kind, name=full)
        self._named[full] = schema
        if kind == "enum":
            schema.symbols = tuple(str(symbol) for symbol in given["symbols"])
        elif kind == "fixed":
            schema.size = int(given["size"])
            if not 0 <= schema.size <= _LARGEST_FIXED:
                raise SchemaError(f"a value of {schema.size} bytes is not valid")
        else:
            schema.fields = tuple((str(one["name"]), self.parse(one["type"], inside)) for one in given["fields"])
        return schema


# Leave room for the value object later built from the record, which takes as much again.
_TEXT, _NUMBER, _DICTIONARY, _RECORD, _ENTRY = 64, 32, 200, 500, 24

Read = Callable[["Cursor"], Any]


class Cursor:
    """A read position in a byte string, with the remaining budgets of values and memory."""

    __slots__ = ("data", "kept", "position", "values")

    def __init__(self, data: bytes, *, kept: int, values: int) -> None:
        self.data = data
        self.position = 0
        self.kept = kept
        self.values = values

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes and move behind them."""
        start = self.position
        end = start + size
        if size < 0 or end > len(self.data):
            raise CorruptContent("the Avro file is damaged: it ends early")
        self.position = end
        return self.data[start:end]

    def spend(self, values: int) -> None:
        """Subtract from the budget of values; a value may take no bytes at all."""
        self.values -= values
        if values < 0 or self.values < 0:
            raise ContentTooLarge("the Avro file holds more values than are read")

    def keep(self, size: int) -> None:
        """Subtract from the memory budget."""
        self.kept -= size
        if self.kept < 0:
            raise TooMuchKept("what the Avro file says takes more memory than is given to it")


@lru_cache(maxsize=32)
def decoder(schema: bytes, wanted: frozenset[str]) -> Read:
    """Return a function that reads a record of the schema and keeps only the wanted fields."""
    try:
        parsed = parse_schema(schema)
    except SchemaError as error:
        raise CorruptContent(f"the schema of the Avro file cannot be used: {error}") from error
    return _Compiler(wanted).reader(parsed)


def read_long(cursor: Cursor) -> int:
    """Read a number in the variable-length coding of Avro."""
    data, position = cursor.data, cursor.position
    byte = data[position]
    position += 1
    value, shift = byte & 0x7F, 7
    while byte > 0x7F:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise CorruptContent("the Avro file is damaged: a number is too long")
    cursor.position = position
    return (value >> 1) ^ -(value & 1)


def _read_text(cursor: Cursor) -> str:
    size = read_long(cursor)
    cursor.keep(_TEXT + size)
    return cursor.take(size).decode()


def _read_bytes(cursor: Cursor) -> bytes:
    size = read_long(cursor)
    cursor.keep(_TEXT + size)
    return cursor.take(size)


def _skip_bytes(cursor: Cursor) -> None:
    pass_over(cursor, read_long(cursor))


def pass_over(cursor: Cursor, size: int) -> None:
    """Move `size` bytes ahead."""
    position = cursor.position + size
    if size < 0 or position > len(cursor.data):
        raise CorruptContent("the Avro file is damaged: it ends early")
    cursor.position = position


def _read_kept_long(cursor: Cursor) -> int:
    cursor.keep(_NUMBER)
    return read_long(cursor)


def _read_nothing(_cursor: Cursor) -> None:
    return None


def _read_boolean(cursor: Cursor) -> bool:
    return cursor.take(1) != b"\0"


def _unpacked(layout: str) -> Read:
    unpack, size = struct.Struct(layout).unpack, struct.calcsize(layout)

    def read(cursor: Cursor) -> float:
        cursor.keep(_NUMBER)
        number: float = unpack(cursor.take(size))[0]
        return number

    return read


_PLAIN: dict[str, tuple[Read, Read]] = {
    "null": (_read_nothing, _read_nothing),
    "boolean": (_read_boolean, _read_boolean),
    "int": (_read_kept_long, read_long),
    "long": (_read_kept_long, read_long),
    "float": (_unpacked("<f"), lambda cursor: cursor.take(4)),
    "double": (_unpacked("<d"), lambda cursor: cursor.take(8)),
    "bytes": (_read_bytes, _skip_bytes),
    "string": (_read_text, _skip_bytes),
}
_FIGURES = frozenset({"int", "long", "float", "double"})


class _Compiler:
    """Builds functions that read or skip values of a schema."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._named: dict[tuple[str, bool], Read] = {}

    def reader(self, schema: Schema, *, keep: bool = True) -> Read:
        """Return the function that reads a value of the schema, or skips it unless `keep`."""
        if schema.kind in _PLAIN:
            return _PLAIN[schema.kind][0 if keep else 1]
        if schema.kind == "record":
            return self._record(schema, keep=keep)
        if schema.kind == "enum":
            return _enum(schema.symbols)
        if schema.kind == "fixed":
            return _fixed(schema.size)
        return self._collection(schema, keep=keep)

    def _collection(self, schema: Schema, *, keep: bool) -> Read:
        if schema.kind == "union":
            return _union([self.reader(branch, keep=keep) for branch in schema.parts])
        if schema.kind == "map":
            return self._map(schema.parts[0], keep=keep)
        item = self.reader(schema.parts[0], keep=keep)
        return _array(item) if keep else _passed(item)

    def _record(self, schema: Schema, *, keep: bool) -> Read:
        key = (schema.name, keep)
        known = self._named.get(key)
        if known is not None:
            return known
        fields: list[tuple[str | None, Read]] = []
        cost = _RECORD + _ENTRY * sum(keep and name in self._wanted for name, _ in schema.fields)
        read = _record(fields, cost) if keep else _passed_record(fields)
        self._named[key] = read  # registered before its fields are compiled, because a field may have this very type
        for name, part in schema.fields:
            wanted = keep and name in self._wanted
            fields.append((name if wanted else None, self.reader(part, keep=wanted)))
        return read

    def _map(self, values: Schema, *, keep: bool) -> Read:
        skip = self.reader(values, keep=False)
        if not keep:
            return _passed(_both(_skip_bytes, skip))
        kinds = {values.kind, *(part.kind for part in values.parts)} - {"null", "union"}
        return _map(self.reader(values), skip, self._wanted if kinds and kinds <= _FIGURES else None)


def _record(fields: list[tuple[str | None, Read]], cost: int) -> Read:
    def read(cursor: Cursor) -> dict[str, Any]:
        cursor.spend(len(fields) or 1)
        cursor.keep(cost)
        record = {}
        for name, field in fields:
            if name is None:
                field(cursor)
            else:
                record[name] = field(cursor)
        return record

    return read


def _passed_record(fields: list[tuple[str | None, Read]]) -> Read:
    def skip(cursor: Cursor) -> None:
        cursor.spend(len(fields) or 1)
        for _, field in fields:
            field(cursor)

    return skip


def _union(branches: list[Read]) -> Read:
    def read(cursor: Cursor) -> Any:  # noqa: ANN401 - a value of any branch
        index = read_long(cursor)
        if index < 0:
            raise CorruptContent("the Avro file is damaged: a union has no such branch")
        return branches[index](cursor)

    return read


def _array(item: Read) -> Read:
    def read(cursor: Cursor) -> list[Any]:
        items: list[Any] = []
        while count := read_long(cursor):
            if count < 0:
                count = -count
                read_long(cursor)
            cursor.spend(count)
            cursor.keep(_ENTRY * count)
            items += [item(cursor) for _ in range(count)]
        return items

    return read


def _map(value: Read, skip: Read, wanted: frozenset[str] | None) -> Read:
    def read(cursor: Cursor) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        cursor.keep(_DICTIONARY)
        while count := read_long(cursor):
            if count < 0:
                count = -count
                read_long(cursor)
            cursor.spend(count)
            for _ in range(count):
                key = cursor.take(read_long(cursor)).decode()
                if wanted is not None and key not in wanted:
                    skip(cursor)
                    continue
                cursor.keep(_TEXT + _ENTRY + len(key))
                entries[key] = value(cursor)
        return entries

    return read


def _passed(item: Callable[[Cursor], object]) -> Read:
    def skip(cursor: Cursor) -> None:
        while count := read_long(cursor):
            if count < 0:
                _skip_bytes(cursor)
                continue
            cursor.spend(count)
            for _ in range(count):
                item(cursor)

    return skip


def _fixed(size: int) -> Read:
    def read(cursor: Cursor) -> bytes:
        cursor.keep(_TEXT + size)
        return cursor.take(size)

    return read


def _both(first: Callable[[Cursor], object], second: Read) -> Read:
    def skip(cursor: Cursor) -> None:
        first(cursor)
        second(cursor)

    return skip


def _enum(symbols: tuple[str, ...]) -> Read:
    def read(cursor: Cursor) -> str:
        index = read_long(cursor)
        if index < 0:
            raise CorruptContent("the Avro file is damaged: an enumeration has no such value")
        return symbols[index]

    return read
