"""Parses the Avro schema in a file's header into values."""

import json
from dataclasses import dataclass
from typing import Any

_PLAIN = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
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
        if name in _PLAIN:
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
