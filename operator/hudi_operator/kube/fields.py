"""Reading fields of documents that hold anything: nothing here raises, and what is too long is not there."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

Document = Mapping[str, Any]

TEXT_LIMIT = 32 * 1024
"""Longest text that is read: what Kubernetes allows in a message of a pod."""

_ITEMS_LIMIT = 1000
_NUMBER_DIGITS = 15


def field(document: object, *path: str) -> object:
    """Return what stands at a path of nested mappings, or None."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def part(document: object, *path: str) -> Document:
    """Return the mapping at a path, or an empty one."""
    value = field(document, *path)
    return value if isinstance(value, Mapping) else {}


def text(document: object, *path: str, limit: int = TEXT_LIMIT) -> str | None:
    """Return the string at a path, or None when there is none, it is empty, or longer than the limit."""
    value = field(document, *path)
    return value if isinstance(value, str) and 0 < len(value) <= limit else None


def whole_number(document: object, *path: str) -> int | None:
    """Return the number at a path, as a number or in digits; None for all that is no number of at most 15 digits."""
    value = field(document, *path)
    if isinstance(value, str):
        return int(value) if len(value) <= _NUMBER_DIGITS and value.isascii() and value.isdecimal() else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < 10**_NUMBER_DIGITS else None


def items(document: object, *path: str) -> list[Document]:
    """Return the mappings of the list at a path, at most a thousand."""
    found = field(document, *path)
    listed = found if isinstance(found, Sequence) and not isinstance(found, str | bytes) else ()
    return [one for one in islice(listed, _ITEMS_LIMIT) if isinstance(one, Mapping)]
