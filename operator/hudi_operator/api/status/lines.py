"""Short texts in place of objects, so that the document of a table's status stays short.

Each instant of a timeline is one text, and so is each entry of `memory`: JSON that ends in a newline, which
`kubectl get -o yaml` shows on a line of its own instead of breaking it at 80 columns.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hudi_operator.api.status.memory import MEMORY, join

INSTANT_LINE_LIMIT = 128
INSTANT_PATTERN = r"^\S+ \S+ \S+( \S+)?$"

_INSTANT = ("time", "action", "state", "completedAt")
_LONGEST_ENTRY = 1_048_576

Document = dict[str, Any]
Change = Callable[[Any], Any]


def with_lines(document: Mapping[str, Any]) -> Document:
    """Return the document of a status with texts for instants and for the entries of its memory."""
    memory = document.get(MEMORY)
    written = {MEMORY: {key: _entry_line(value) for key, value in memory.items()}} if memory else {}
    return _with_instants({**document, **written}, _instant_line)


def joined(document: Mapping[str, Any]) -> Document:
    """Return a stored status as a document of objects, with the content of `memory` at its places.

    An unreadable text stays a text, and reading by parts leaves it out.
    """
    memory = document.get(MEMORY)
    if isinstance(memory, Mapping):
        document = {**document, MEMORY: {key: _entry_of(value) for key, value in memory.items()}}
    return _with_instants(join(document), _instant_of)


def _with_instants(document: Document, change: Change) -> Document:
    timeline = document.get("timeline")
    if not isinstance(timeline, Mapping):
        return document
    lists = {name: timeline[name] for name in ("instants", "pending") if isinstance(timeline.get(name), list)}
    changed = {name: [change(item) for item in items] for name, items in lists.items()}
    return {**document, "timeline": {**timeline, **changed}}


def _instant_line(instant: Mapping[str, str]) -> str:
    return " ".join(instant[name] for name in _INSTANT if name in instant)


def _instant_of(line: Any) -> Any:  # noqa: ANN401 - whatever the document holds
    values = line.split(" ") if isinstance(line, str) and len(line) <= INSTANT_LINE_LIMIT else []
    return dict(zip(_INSTANT, values, strict=False)) if len(values) in {3, 4} else line


def _entry_line(entry: Any) -> str:  # noqa: ANN401 - any part of a document
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n"


def _entry_of(line: Any) -> Any:  # noqa: ANN401 - whatever the document holds
    if not isinstance(line, str) or len(line) > _LONGEST_ENTRY:
        return line
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line
