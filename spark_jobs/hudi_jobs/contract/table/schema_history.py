"""The columns that a table has renamed, dropped or retyped, by the history of its schemas: pure values.

Hudi keeps the history if `hoodie.schema.on.read.enable` was set for a change of columns
(`FileBasedInternalSchemaStorageManager`, `SerDeHelper`). Each column has a number in it, and files are read by these
numbers. A tool without the option reads files by names: it misses the values of a renamed column and finds the values
of a dropped column again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MARK = "latest_schema"
"""The metadata of a commit with the table's columns and their numbers (`SerDeHelper.LATEST_SCHEMA`)."""

HISTORY_FOLDER = ".hoodie/.schema"
HISTORY_SUFFIX = ".schemacommit"

HISTORY_LIMIT = 2**20
"""The most bytes of the history that are read; Hudi repeats all earlier schemas in each file."""

_MOST_COLUMNS = 200_000
_MOST_NAMED = 5
_DEPTH = 40

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
