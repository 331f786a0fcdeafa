"""Columns of types that Spark writes or reads differently, by the Avro schemas in commits: pure values.

The types were tried with Hudi 1.2.0 and Spark 3.5.9 (`tests/spark_jobs/tables/test_foreign_types.py`). Spark has one
type for times of milliseconds and of microseconds and writes microseconds, which Hudi refuses in a table of
milliseconds (apache/hudi#9884, #11803). Some releases changed the name of the type and not the values
(apache/hudi#13233).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

WRITTEN = frozenset(
    {
        *("null", "boolean", "int", "long", "float", "double", "string", "bytes", "enum"),
        *("date", "timestamp-micros", "local-timestamp-micros", "decimal"),
    }
)
"""Types that a run writes, rewrites and reads without a change of values; `decimal` stands for a fixed type."""

REWRITTEN = frozenset({"timestamp-millis", "local-timestamp-millis", "uuid"})
"""Types that services rewrite without a change of values, but that Hudi refuses to take from Spark."""

_PRIMITIVE = frozenset({"null", "boolean", "int", "long", "float", "double", "string", "bytes"})
_OTHER_UNIT = {
    "timestamp-millis": "timestamp-micros",
    "local-timestamp-millis": "local-timestamp-micros",
}
_HUDI_COLUMNS = "_hoodie_"
_DEPTH = 40
_LIMIT = 2**20
_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class ColumnType:
    """A column (nested names have dots) and its type in the schema; `unit_changed` if commits disagree."""

    column: str
    kind: str
    unit_changed: bool = False

    @property
    def is_rewritten(self) -> bool:
        """Whether services keep the values of the column."""
        return self.kind in REWRITTEN and not self.unit_changed


def foreign_types(schemas: Iterable[str]) -> tuple[ColumnType, ...]:
    """Return the columns of types outside `WRITTEN`, by the schemas of commits, newest first.

    They include each column that had another unit of time in an earlier commit, whatever its type is now.
    """
    texts = list(dict.fromkeys(schemas))
    if not texts:
        return ()
    versions = [_kinds(text) for text in texts]
    newest = versions[0]
    if newest is None:
        return (ColumnType(column="(all)", kind="a schema that cannot be read"),)
    found = [
        ColumnType(column=column, kind=kind, unit_changed=changed)
        for column, kind in newest.items()
        if (changed := _unit_changed(column, kind, versions)) or kind not in WRITTEN
    ]
    return tuple(found[:_MOST_NAMED])


def _unit_changed(column: str, kind: str, versions: list[dict[str, str] | None]) -> bool:
    units = {kind, *(one[column] for one in versions if one is not None and column in one)}
    return any({millis, micros} <= units for millis, micros in _OTHER_UNIT.items())


def _kinds(text: str) -> dict[str, str] | None:
    """Return the types of all columns, nested parts included, by their paths; None if the text is no schema."""
    if len(text) > _LIMIT:
        return None
    try:
        schema = json.loads(text)
        if not isinstance(schema, Mapping) or schema.get("type") != "record":
            return None
        return dict(_walk(schema, "", {}, 0))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _walk(kind: Any, at: str, named: dict[str, Any], depth: int) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Yield the columns below a type; `named` holds the named types so far, to which Avro refers by name."""
    if depth > _DEPTH:
        raise ValueError("types are nested deeper than is looked at")
    if isinstance(kind, list):
        branches = [one for one in kind if one != "null"]
        if len(branches) == 1:
            yield from _walk(branches[0], at, named, depth + 1)
        elif branches:
            yield at, "a union of several types"
    elif isinstance(kind, str):
        if kind in _PRIMITIVE or kind not in named:
            yield at, kind
        else:
            yield from _walk(named[kind], at, {**named, kind: kind}, depth + 1)
    else:
        yield from _complex(kind, at, named, depth)


def _complex(kind: Mapping[str, Any], at: str, named: dict[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    name = kind["type"]
    if "name" in kind:
        named |= {str(kind["name"]): kind, f"{kind.get('namespace', '')}.{kind['name']}": kind}
    if name == "record":
        for field in kind["fields"]:
            if at or not str(field["name"]).startswith(_HUDI_COLUMNS):
                yield from _walk(field["type"], f"{at}.{field['name']}".lstrip("."), named, depth + 1)
    elif name == "array":
        yield from _walk(kind["items"], f"{at}.element", named, depth + 1)
    elif name == "map":
        yield from _walk(kind["values"], f"{at}.value", named, depth + 1)
    elif isinstance(name, str):
        yield at, _logical(kind, name)
    else:
        yield from _walk(name, at, named, depth + 1)


def _logical(kind: Mapping[str, Any], name: str) -> str:
    logical = kind.get("logicalType")
    if logical == "decimal":
        return "decimal" if name == "fixed" else f"decimal of {name}"
    return str(logical) if logical else name
