"""Writes YAML for people to edit, with untrusted values and comments.

Values are quoted so that neither YAML nor a template engine interprets them, and comments hold only printable text, so
that no line break ends a comment and no terminal executes it.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from hudi_jobs.contract.wording import escaped

_WIDTH = 110
_COMMENT_LIMIT = 2_000


class Plain(str):
    """A text of this program, written without quotes."""

    __slots__ = ()


Value: TypeAlias = "str | int | bool | tuple[str, ...] | tuple[Entry, ...]"


@dataclass(frozen=True, slots=True)
class Entry:
    """A YAML key with its value, possibly nested entries, and the comments above it."""

    key: str
    value: Value
    comments: tuple[str, ...] = ()


def document(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return the document that a YAML parser would read from these entries."""
    return {one.key: _plain(one.value) for one in entries}


def yaml_lines(entries: Iterable[Entry], *, depth: int = 0) -> Iterator[str]:
    """Yield the lines of these entries."""
    space = "  " * depth
    for one in entries:
        yield from (f"{space}{line}" for line in comment_lines(one.comments))
        if nested := _nested(one.value):
            yield f"{space}{one.key}:"
            yield from yaml_lines(nested, depth=depth + 1)
        else:
            yield f"{space}{one.key}: {_scalar(one.value)}"


def comment_lines(comments: Iterable[str]) -> Iterator[str]:
    """Yield comments as lines that begin with `#`, safe for any content."""
    for one in comments:
        text = re.sub(r"[{](?=[{%#])", "{ ", escaped(one[:_COMMENT_LIMIT]))
        for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False) or [""]:
            yield f"# {line}".rstrip()


def quoted(text: str) -> str:
    """Return a text in YAML's double quotes."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _nested(value: Value) -> list[Entry]:
    return [each for each in value if isinstance(each, Entry)] if isinstance(value, tuple) else []


def _plain(value: Value) -> object:
    if isinstance(value, tuple):
        return document(_nested(value)) if _nested(value) else [str(each) for each in value]
    return str(value) if isinstance(value, str) else value


def _scalar(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(quoted(str(each)) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Plain | StrEnum):
        return str(value)
    return quoted(value)


_ESCAPES: Mapping[str, str] = {'"': '\\"', "\\": "\\\\", "{": "\\x7b"}


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if character.isprintable() and not 0xD800 <= code <= 0xDFFF:
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
