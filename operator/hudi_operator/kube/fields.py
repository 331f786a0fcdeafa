"""Reads fields of arbitrary documents: never raises, and treats overlong values as missing."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

Document = Mapping[str, Any]

TEXT_LIMIT = 32 * 1024
"""The longest text to read: Kubernetes' limit for a pod's message."""

_ITEMS_LIMIT = 1000
_NUMBER_DIGITS = 15


def field(document: object, *path: str) -> object:
    """Return the value at a path of nested mappings, or None."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def part(document: object, *path: str) -> Document:
    """Return the mapping at a path, or an empty mapping."""
    value = field(document, *path)
    return value if isinstance(value, Mapping) else {}


def text(document: object, *path: str, limit: int = TEXT_LIMIT) -> str | None:
    """Return the string at a path, or None if it is missing, empty or longer than the limit."""
    value = field(document, *path)
    return value if isinstance(value, str) and 0 < len(value) <= limit else None


def whole_number(document: object, *path: str) -> int | None:
    """Return the whole number at a path, as a number or digits; None for anything else or over 15 digits."""
    value = field(document, *path)
    if isinstance(value, str):
        return int(value) if len(value) <= _NUMBER_DIGITS and value.isascii() and value.isdecimal() else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < 10**_NUMBER_DIGITS else None


def items(document: object, *path: str) -> list[Document]:
    """Return the mappings in the list at a path, at most a thousand."""
    found = field(document, *path)
    listed = found if isinstance(found, Sequence) and not isinstance(found, str | bytes) else ()
    return [one for one in islice(listed, _ITEMS_LIMIT) if isinstance(one, Mapping)]
