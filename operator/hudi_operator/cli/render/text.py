"""Tables, ages and colours for terminals, and documents as JSON, YAML or names."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

import click

from hudi_jobs.contract.wording import escaped, time_span
from hudi_operator.api.status.findings import Severity

Document: TypeAlias = Mapping[str, Any]


class Tone(StrEnum):
    """The colour of a text on a terminal."""

    GOOD = "green"
    WARN = "yellow"
    BAD = "red"


SEVERITY_TONES = {Severity.CRITICAL: Tone.BAD, Severity.WARNING: Tone.WARN}
"""The colours of findings; an Info has none."""


class Cell(NamedTuple):
    """A text in a table."""

    text: str
    tone: Tone | None = None


Row: TypeAlias = Sequence[Cell | str]


def table(header: Sequence[str], rows: Sequence[Row], *, colour: bool) -> str:
    """Return rows below a header, in columns; texts from outside are escaped."""
    cells = [[_cell(one) for one in row] for row in rows]
    widths = [
        max(len(text) for text in column)
        for column in zip(header, *([c.text for c in row] for row in cells), strict=True)
    ]
    lines = ["   ".join(f"{name:{width}}" for name, width in zip(header, widths, strict=True)).rstrip()]
    lines += [
        "   ".join(_padded(c, w, colour=colour) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    return "\n".join(lines)


def toned(text: str, tone: Tone | None, *, colour: bool) -> str:
    """Return a text from outside, escaped, in its colour where the terminal shows colours."""
    return click.style(escaped(text), fg=tone.value) if colour and tone is not None else escaped(text)


def heading(text: str, *, colour: bool) -> str:
    """Return the title of a part."""
    return click.style(text, bold=True) if colour else text


def _cell(given: Cell | str) -> Cell:
    cell = given if isinstance(given, Cell) else Cell(given)
    return Cell(escaped(cell.text), cell.tone)


def _padded(cell: Cell, width: int, *, colour: bool) -> str:
    return toned(cell.text, cell.tone, colour=colour) + " " * (width - len(cell.text))


def age(since: datetime | None, now: datetime) -> str:
    """Return the time since a moment as kubectl writes it; empty if it is unknown."""
    return "" if since is None else duration(now - since)


def until(moment: datetime | None, now: datetime) -> str:
    """Return the time until a moment, such as `in 3m`; empty if it is unknown."""
    if moment is None:
        return ""
    return f"in {duration(moment - now)}" if moment > now else "now"


def duration(span: timedelta) -> str:
    """Return a span as kubectl writes it."""
    return time_span(span.total_seconds())


def as_document(items: Sequence[Document], output: str) -> str:
    """Return objects as JSON, YAML or names: a single one by itself is the caller's choice."""
    if output == "name":
        return "\n".join(map(qualified_name, items))
    return value_as({"apiVersion": "v1", "kind": "List", "items": [*items]}, output)


def qualified_name(item: Document) -> str:
    """Return an object as `kind.group/name`, or `kind/name` in the core group."""
    kind, group = str(item["kind"]).lower(), str(item["apiVersion"]).rpartition("/")[0]
    return f"{f'{kind}.{group}' if group else kind}/{item['metadata']['name']}"


def value_as(value: object, output: str) -> str:
    """Return a value as JSON or YAML."""
    if output == "json":
        return json.dumps(value, indent=2)
    import yaml  # noqa: PLC0415 - most commands print no YAML

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=False)).rstrip()
