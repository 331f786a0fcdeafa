"""Parses large JSON piece by piece, so that memory does not multiply with the file's size.

Parsed as a whole, a file takes up to twenty times its size. The skimmer walks only the top containers; it parses deeper
values one at a time, from a window over the bytes, and drops the unwanted ones.
"""

import codecs
import json
import re
from typing import Any

from hudi_operator.timeline.model import ContentTooLarge, CorruptContent, TooMuchKept

WHOLE_LIMIT = 128 * 2**10
"""Files up to this many bytes are parsed as a whole."""

VALUE_LIMIT = 2**20
"""The most characters of a value below the top containers, such as a checkpoint or a wide table's schema."""

_WINDOW = 2 * 2**20
_VALUES = 300_000
_DEPTH = 2
"""The depth of walked containers: a commit's object and its partitions; file statistics lie below."""

_SPACE = re.compile(r"[ \t\n\r]*")
_VALUE, _OBJECT = 100, 500


def skim_json(data: bytes, wanted: frozenset[str], *, kept: int) -> dict[str, Any]:
    """Return the wanted members of an object, and of the objects deep inside it.

    `kept` is the approximate memory limit for the values, in bytes. Raises `CorruptContent` if the JSON is not an
    object, and `ContentTooLarge` beyond the bounds.
    """
    try:
        return _Skimmer(data, wanted, kept).read()
    except (ValueError, RecursionError) as error:
        raise CorruptContent(f"the JSON is damaged: {error}"[:200]) from error


class _Skimmer:
    def __init__(self, data: bytes, wanted: frozenset[str], kept: int) -> None:
        self._data = data
        self._taken = 0
        self._text = ""
        self._position = 0
        self._wanted = wanted
        self._kept = kept
        self._values = _VALUES
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._parse = json.JSONDecoder().raw_decode

    def read(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self._expect("{")
        for name in self._names():
            value = self._value(keep=name in self._wanted, depth=1)
            if name in self._wanted:
                result[name] = value
        if self._next():
            raise ValueError("something follows the object")
        return result

    def _value(self, *, keep: bool, depth: int) -> Any:  # noqa: ANN401 - JSON
        opening = self._next() if depth <= _DEPTH else ""
        if opening == "{":
            self._expect("{")
            members = {}
            for name in self._names():
                value = self._value(keep=keep, depth=depth + 1)
                if keep:
                    self._keep(len(name))
                    members[name] = value
            return members
        if opening == "[":
            return self._items(keep=keep, depth=depth)
        return self._leaf(keep=keep)

    def _items(self, *, keep: bool, depth: int) -> list[Any]:
        self._expect("[")
        items: list[Any] = []
        if self._next() == "]":
            self._expect("]")
            return items
        while True:
            value = self._value(keep=keep, depth=depth + 1)
            if keep:
                items.append(value)
            if self._separator("]"):
                return items

    def _names(self) -> Any:  # noqa: ANN401 - a generator of names
        """Yield the names of an object's members, each after the previous value has been read."""
        if self._next() == "}":
            self._expect("}")
            return
        while True:
            name = self._leaf(keep=False, text=True)
            self._expect(":")
            yield name
            if self._separator("}"):
                return

    def _leaf(self, *, keep: bool, text: bool = False) -> Any:  # noqa: ANN401 - JSON
        self._next()
        start = self._position
        if text and self._text[start : start + 1] != '"':
            raise ValueError("a member of an object has no name")
        try:
            value, end = self._parse(self._text, start)
        except ValueError:
            if len(self._text) - start >= VALUE_LIMIT:
                raise ContentTooLarge(
                    f"a value in the JSON is damaged or has more than {VALUE_LIMIT} characters"
                ) from None
            raise
        self._position = end
        self._values -= 1
        if self._values < 0:
            raise ContentTooLarge("the JSON holds more values than are read")
        if keep and isinstance(value, dict):
            value = {name: one for name, one in value.items() if name in self._wanted}
            self._keep(_OBJECT)
        if keep:
            self._keep(end - start)
        return value

    def _keep(self, size: int) -> None:
        self._kept -= size + _VALUE
        if self._kept < 0:
            raise TooMuchKept("what the JSON says takes more memory than is given to it")

    def _separator(self, closing: str) -> bool:
        """Skip a comma or a closing bracket; return True for the bracket."""
        found = self._next()
        self._position += 1
        if found not in {",", closing} or not found:
            raise ValueError(f"{found[:10]!r} stands where a comma or the end was expected")
        return found == closing

    def _expect(self, character: str) -> None:
        found = self._next()
        if found != character:
            raise ValueError(f"{found[:10]!r} stands where {character!r} was expected")
        self._position += 1

    def _next(self) -> str:
        """Return the next non-space character, with enough text behind it for the largest allowed value."""
        while True:
            if len(self._text) - self._position < VALUE_LIMIT and self._taken < len(self._data):
                self._fill()
            found = _SPACE.match(self._text, self._position)
            self._position = found.end() if found else self._position
            if self._position < len(self._text) or self._taken >= len(self._data):
                break
        if len(self._text) - self._position < VALUE_LIMIT and self._taken < len(self._data):
            self._fill()
        return self._text[self._position : self._position + 1]

    def _fill(self) -> None:
        part = self._data[self._taken : self._taken + _WINDOW]
        self._taken += len(part)
        self._text = self._text[self._position :] + self._utf8.decode(part, final=self._taken >= len(self._data))
        self._position = 0
