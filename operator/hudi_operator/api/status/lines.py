"""Writes each instant and each ended run of a table's status as a text, so that the document stays short."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hudi_operator.api.status.memory import join

INSTANT_LINE_LIMIT = 128
INSTANT_PATTERN = r"^\S+ \S+ \S+( \S+)?$"

_INSTANT = ("time", "action", "state", "completedAt")
_LONGEST_RUN = 16_384

Document = dict[str, Any]
Change = Callable[[Any], Any]


def with_lines(document: Document) -> Document:
    """Return a status with texts for the instants of its timeline and the runs of its history."""
    return _changed(document, instant=_instant_line, run=_run_line)


def joined(document: Mapping[str, Any]) -> Document:
    """Return a stored status as a document of objects, with the content of `memory` at its places.

    An unreadable text stays a text, and reading by parts leaves it out.
    """
    return _changed(join(document), instant=_instant_of, run=_run_of)


def _changed(document: Document, *, instant: Change, run: Change) -> Document:
    changed, timeline = document | _each(document, "history", run), document.get("timeline")
    if isinstance(timeline, Mapping):
        lists = _each(timeline, "instants", instant) | _each(timeline, "pending", instant)
        newest = {name: instant(timeline[name]) for name in ("latestCompleted",) if name in timeline}
        changed["timeline"] = {**timeline, **lists, **newest}
    return changed


def _each(document: Mapping[str, Any], name: str, change: Change) -> Document:
    """Return the changed list of this name, or an empty document without it."""
    items = document.get(name)
    return {name: [change(item) for item in items]} if isinstance(items, list) else {}


def _instant_line(instant: Mapping[str, str]) -> str:
    return " ".join(instant[name] for name in _INSTANT if name in instant)


def _instant_of(line: Any) -> Any:  # noqa: ANN401 - whatever the document holds
    values = line.split(" ") if isinstance(line, str) and len(line) <= INSTANT_LINE_LIMIT else []
    return dict(zip(_INSTANT, values, strict=False)) if len(values) in {3, 4} else line


def _run_line(run: Mapping[str, Any]) -> str:
    return json.dumps(run, separators=(",", ":"), ensure_ascii=False)


def _run_of(line: Any) -> Any:  # noqa: ANN401 - whatever the document holds
    if not isinstance(line, str) or len(line) > _LONGEST_RUN:
        return line
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line
