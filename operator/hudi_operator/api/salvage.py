"""Reads a document by parts: unreadable parts are left out, and everything else is kept.

A status outlives the release that wrote it. After a downgrade it may hold a service, a reason or a field that this
release does not know; the counters and marks beside it still count.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

Path = tuple[int | str, ...]
Read = TypeVar("Read", bound=BaseModel)

_PROSE = frozenset({"message", "blockedBy", "blocks"})
"""Texts for people: a text that is too long is cut, because its beginning says enough."""

_LONGEST_NAME = 200

_MOST_ITEMS = 1_000
"""The most entries of a list or object that are read, ten times the longest valid list: each invalid entry costs time.
"""


def read_by_parts(model: type[Read], document: Any) -> tuple[Read, tuple[str, ...]]:  # noqa: ANN401 - anything at all
    """Return the readable parts of a document, and the places of the unreadable parts.

    The smallest part that makes the rest readable is left out: a field with a default, else the object that needs the
    field, such as an entry of a list. A list that is too long loses its end. All fields of the model need a default.
    """
    kept, dropped = _copy(document) if isinstance(document, Mapping) else {}, list[str]()
    if document and not isinstance(document, Mapping):
        dropped.append("(all)")
    while True:
        try:
            return model.model_validate(kept), tuple(dropped)
        except ValidationError as error:
            dropped += _without(kept, error.errors(include_url=False))


def _without(document: dict[str, Any], errors: Iterable[ErrorDetails]) -> list[str]:
    """Repair or remove the parts that the errors name, later entries of a list first, so that places stay valid."""
    places: dict[Path, ErrorDetails] = {}
    for error in errors:
        path = _existing(document, error["loc"][:-1] if error["type"] == "missing" else error["loc"])
        places.setdefault(path, error)
    if () in places:
        document.clear()
        return ["(all)"]
    for path in sorted(places, key=_last_first):
        if not any(path[:length] in places for length in range(len(path))):
            _mend(document, path, places[path])
    return [".".join(str(part) for part in path)[:_LONGEST_NAME] for path in places]


def _last_first(path: Path) -> tuple[tuple[int, str], ...]:
    return tuple((-part, "") if isinstance(part, int) else (0, part) for part in path)


def _mend(document: dict[str, Any], path: Path, error: ErrorDetails) -> None:
    holder, last = _at(document, path[:-1]), path[-1]
    limit = (error.get("ctx") or {}).get("max_length")
    cuttable = error["type"] == "too_long" or (error["type"] == "string_too_long" and last in _PROSE)
    if cuttable and isinstance(limit, int) and path == error["loc"]:
        holder[last] = holder[last][:limit]
    else:
        del holder[last]


def _existing(document: Any, path: Path) -> Path:  # noqa: ANN401 - any part of a document
    """Return the path as far as the document goes."""
    node = document
    for depth, part in enumerate(path):
        inside = part in node if isinstance(node, dict) else isinstance(node, list) and _is_index(part, node)
        if not inside:
            return path[:depth]
        node = node[part]
    return path


def _is_index(part: int | str, items: list[Any]) -> bool:
    return isinstance(part, int) and 0 <= part < len(items)


def _at(document: Any, path: Path) -> Any:  # noqa: ANN401 - any part of a document
    for part in path:
        document = document[part]
    return document


def _copy(value: Any) -> Any:  # noqa: ANN401 - any part of a document
    if isinstance(value, dict):
        items = islice(value.items(), _MOST_ITEMS)
        return {str(key): _copy(item) for key, item in items if item is not None}
    return [_copy(item) for item in value[:_MOST_ITEMS]] if isinstance(value, list) else value
