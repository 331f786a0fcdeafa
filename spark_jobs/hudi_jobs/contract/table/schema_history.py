"""The columns of a table by the schemas in its commits: odd types, and columns renamed, dropped or retyped.

The types were tried with Hudi 1.2.0 and Spark 3.5.9 (`tests/spark_jobs/tables/test_foreign_types.py`). Spark has one
type for times of milliseconds and of microseconds and writes microseconds, which Hudi refuses in a table of
milliseconds (apache/hudi#9884, #11803). Some releases changed the name of the type and not the values
(apache/hudi#13233).

Hudi keeps the history if `hoodie.schema.on.read.enable` was set for a change of columns
(`FileBasedInternalSchemaStorageManager`, `SerDeHelper`). Each column has a number in it, and files are read by these
numbers. A tool without the option reads files by names: it misses the values of a renamed column and finds the values
of a dropped column again.
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
_MOST_ODD_COLUMNS = 20


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
    return tuple(found[:_MOST_ODD_COLUMNS])


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
        return dict(_typed_columns(schema, "", {}, 0))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _typed_columns(kind: Any, at: str, named: dict[str, Any], depth: int) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Yield the columns below a type; `named` holds the named types so far, to which Avro refers by name."""
    if depth > _DEPTH:
        raise ValueError("types are nested deeper than is looked at")
    if isinstance(kind, list):
        branches = [one for one in kind if one != "null"]
        if len(branches) == 1:
            yield from _typed_columns(branches[0], at, named, depth + 1)
        elif branches:
            yield at, "a union of several types"
    elif isinstance(kind, str):
        if kind in _PRIMITIVE or kind not in named:
            yield at, kind
        else:
            yield from _typed_columns(named[kind], at, {**named, kind: kind}, depth + 1)
    else:
        yield from _complex(kind, at, named, depth)


def _complex(kind: Mapping[str, Any], at: str, named: dict[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    name = kind["type"]
    if "name" in kind:
        named |= {str(kind["name"]): kind, f"{kind.get('namespace', '')}.{kind['name']}": kind}
    if name == "record":
        for field in kind["fields"]:
            if at or not str(field["name"]).startswith(_HUDI_COLUMNS):
                yield from _typed_columns(field["type"], f"{at}.{field['name']}".lstrip("."), named, depth + 1)
    elif name == "array":
        yield from _typed_columns(kind["items"], f"{at}.element", named, depth + 1)
    elif name == "map":
        yield from _typed_columns(kind["values"], f"{at}.value", named, depth + 1)
    elif isinstance(name, str):
        yield at, _logical(kind, name)
    else:
        yield from _typed_columns(name, at, named, depth + 1)


def _logical(kind: Mapping[str, Any], name: str) -> str:
    logical = kind.get("logicalType")
    if logical == "decimal":
        return "decimal" if name == "fixed" else f"decimal of {name}"
    return str(logical) if logical else name


MARK = "latest_schema"
"""The metadata of a commit with the table's columns and their numbers (`SerDeHelper.LATEST_SCHEMA`)."""

HISTORY_FOLDER = ".hoodie/.schema"
HISTORY_SUFFIX = ".schemacommit"

HISTORY_LIMIT = 2**20
"""The most bytes of the history that are read; Hudi repeats all earlier schemas in each file."""

_MOST_COLUMNS = 200_000
_MOST_NAMED = 5

UNREADABLE = "nothing can be read"


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """The changes of a table's columns by number.

    `is_marked` says that a commit or the folder of the history shows numbers. `changes` are the changes that names
    alone cannot express, so additions are not among them.
    """

    is_marked: bool = False
    changes: tuple[str, ...] = ()


UNCHANGED = Evolution()
"""The evolution of a table without numbered columns."""


def evolution_of(*, is_marked: bool, history: str | None) -> Evolution:
    """Return the changes in the newest file of the history; None without a file, which a marked table should have."""
    if history is None:
        return Evolution(is_marked=is_marked, changes=(UNREADABLE,) if is_marked else ())
    try:
        versions = [_columns(one) for one in _versions(history)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Evolution(is_marked=True, changes=(UNREADABLE,))
    found = tuple(dict.fromkeys(_changes(versions)))
    more = (f"and {len(found) - _MOST_NAMED} more changes",) if len(found) > _MOST_NAMED else ()
    return Evolution(is_marked=True, changes=found[:_MOST_NAMED] + more)


def newest_history_file(names: Iterable[str]) -> str | None:
    """Return the name of the newest completed file of the history among the names in its folder."""
    completed = [name for name in names if name.endswith(HISTORY_SUFFIX) and name[:1].isdigit()]
    return max(completed, key=lambda name: (name.partition(".")[0].partition("_")[0], name), default=None)


_Columns = Mapping[int, tuple[str, str]]
"""Maps the number of each column to its path and type."""


def _versions(history: str) -> list[Mapping[str, Any]]:
    """Return the schemas, the oldest first (`SerDeHelper.parseSchemas`)."""
    schemas = json.loads(history)["schemas"]
    if not schemas or not isinstance(schemas, list):
        raise ValueError("no schema")
    return sorted(schemas, key=lambda one: int(one["version_id"]))


def _columns(schema: Mapping[str, Any]) -> _Columns:
    found = dict(_walk(schema, "", 0))
    if len(found) > _MOST_COLUMNS:
        raise ValueError("more columns than are compared")
    return found


def _walk(kind: Mapping[str, Any], at: str, depth: int) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the columns below a record, an array or a map, as `SerDeHelper.toJson` writes them."""
    if depth > _DEPTH:
        raise ValueError("columns are nested deeper than is compared")
    parts: list[tuple[int, str, Any]]
    match kind["type"]:
        case "record":
            parts = [(int(one["id"]), str(one["name"]), one["type"]) for one in kind["fields"]]
        case "array":
            parts = [(int(kind["element_id"]), "element", kind["element"])]
        case "map":
            parts = [(int(kind["key_id"]), "key", kind["key"]), (int(kind["value_id"]), "value", kind["value"])]
        case _:
            raise ValueError("a type that is not known")
    for number, name, inner in parts:
        path = f"{at}.{name}" if at else name
        nested = isinstance(inner, Mapping)
        yield number, (path, str(inner["type"]) if nested else str(inner))
        if nested:
            yield from _walk(inner, path, depth + 1)


def _changes(versions: list[_Columns]) -> Iterator[str]:
    """Yield every change, oldest first, but no additions of columns with new names."""
    names: dict[str, int] = {}
    for before, after in zip([{}, *versions], versions, strict=False):
        for number, (path, kind) in before.items():
            now = after.get(number)
            if now is None:
                yield f"{path} was dropped"
            elif now[0] != path:
                yield f"{path} was renamed to {now[0]}"
            elif now[1] != kind:
                yield f"{path} was {kind} and is {now[1]}"
        for number, (path, _) in after.items():
            if names.setdefault(path, number) != number:
                yield f"{path} is the name of another column than before"
