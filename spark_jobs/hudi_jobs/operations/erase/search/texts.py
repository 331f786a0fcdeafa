"""Finds keys in texts: in quarantine records, and in the names of files and folders."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import groupby

from hudi_jobs.operations.erase.keys import SHORTEST_IN_BYTES, Keys
from hudi_jobs.operations.erase.search.letters import is_longer, script_after, script_before

_ESCAPE = re.compile(r"(\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$")
_LONGEST_ESCAPE = 6
"""Longest escape of a character in JSON or a URL; its letters do not extend the text."""

_LONGEST_LENGTH = 4
"""Bytes of the length before a text."""

_MASK = "***"


class Texts:
    """Finds many whole texts in a text as fast as a single text, in the same way as `KeyTexts`.

    With `encoding` the text was decoded from binary content, where a length prefix counted in bytes also makes a text
    whole.
    """

    def __init__(self, texts: Iterable[str], *, encoding: str | None = None) -> None:
        ordered = sorted(texts, key=_bounded_length)
        self._encoding = encoding
        self._indexes = [_Index(group) for _, group in groupby(ordered, key=_bounded_length)]

    def are_in(self, line: str, *, names_files: bool = False) -> bool:
        """Tell whether a line holds one of the texts; with `names_files` a file suffix does not extend a text."""
        return any(True for _ in self._places(line, names_files=names_files))

    def masked(self, line: str) -> str:
        """Return the line with each text masked."""
        shown, done = "", 0
        for start, end in sorted(place for place in self._places(line) if place[0] < place[1]):
            if start >= done:
                shown += line[done:start] + _MASK
            done = max(done, end)
        return shown + line[done:]

    def found(self, line: str, *, encoding: str | None = None) -> set[str]:
        """Return the texts found in the line; with `encoding` the line may be binary."""
        return {line[start:end] for start, end in self._places(line, encoding)}

    def _places(
        self, line: str, encoding: str | None = None, *, names_files: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each text in the line."""
        for index in self._indexes:
            for start, text in index.found_in(line):
                end = start + len(text)
                if _is_whole(line, start, end, encoding or self._encoding, names_files=names_files):
                    yield start, end


class WholeTexts(Texts):
    """Finds keys in a text."""

    def __init__(self, keys: Keys, *, also_short: bool = False) -> None:
        super().__init__(text.decode() for text in (*keys.in_bytes, *(keys.short if also_short else ())))


def _bounded_length(text: str) -> int:
    """Return the length that groups the text in an index, capped for long texts."""
    return min(len(text), SHORTEST_IN_BYTES)


def _is_whole(line: str, start: int, end: int, encoding: str | None, *, names_files: bool) -> bool:
    if _is_joined(line, start, end):
        return False
    if _stands_alone(line, start, end, names_files=names_files):
        return True
    return encoding is not None and _has_its_length_before(line, start, end, encoding)


def _has_its_length_before(line: str, start: int, end: int, encoding: str) -> bool:
    """Tell whether the bytes before a text are its length, and nothing else.

    A variable-length number may also be a character, such as a quote. It counts only when it is a letter or digit after
    a non-text byte.
    """
    before = line[max(start - _LONGEST_LENGTH, 0) : start].encode(encoding, errors="replace")
    size = len(line[start:end].encode(encoding, errors="replace"))
    if before.endswith((size.to_bytes(4, "big"), size.to_bytes(4, "little"), (size & 0xFFFF).to_bytes(2, "big"))):
        return True
    if not before.endswith((_variable(size), _variable(2 * size))):
        return False
    last, further = line[start - 1], line[max(start - 2, 0) : start - 1]
    return not _is_seen(last) or (last.isalnum() and not (further and _is_seen(further)))


def _is_seen(character: str) -> bool:
    return " " <= character <= "~" or character in "\t\n\r"


def _variable(size: int) -> bytes:
    """Encode a length as a variable-length number of Protobuf; Avro encodes the double."""
    low, high = size & 0x7F, size >> 7
    return bytes([low | 0x80]) + _variable(high) if high else bytes([low])


class _Index:
    """Finds texts like `KeyTexts`: the cost per character depends on the longest text, not on their number.

    The texts are sorted, so the greatest text not above the rest of the line is the longest match, or starts with it;
    all other matches are prefixes of that match. `_within` holds for each text its longest proper prefix among the
    texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(texts)
        self._shortest, self._longest = min(map(len, self._texts)), max(map(len, self._texts))
        self._beginnings = {text[: self._shortest] for text in self._texts}
        self._within: list[int] = []
        for place, text in enumerate(self._texts):
            self._within.append(self._beginning(place - 1, text))

    def found_in(self, line: str) -> Iterator[tuple[int, str]]:
        """Yield the start and the text of each match in the line."""
        for start in range(len(line) - self._shortest + 1):
            if line[start : start + self._shortest] in self._beginnings:
                rest = line[start : start + self._longest]
                place = self._beginning(bisect(self._texts, rest) - 1, rest)
                while place >= 0:
                    yield start, self._texts[place]
                    place = self._within[place]

    def _beginning(self, place: int, text: str) -> int:
        """Return the index of the longest stored text that is a prefix of `text`, or -1."""
        while place >= 0 and not text.startswith(self._texts[place]):
            place = self._within[place]
        return place


def _stands_alone(line: str, start: int, end: int, *, names_files: bool) -> bool:
    text, after = line[start:end], line[end : end + 2]
    script = script_after(text)
    if is_longer(after[:1], script) or (not names_files and after[:1] == "." and is_longer(after[1:], script)):
        return False
    before = line[max(start - _LONGEST_ESCAPE, 0) : start]
    return not is_longer(before[-1:], script_before(text)) or _ESCAPE.search(before) is not None


def _is_joined(line: str, start: int, end: int) -> bool:
    """Tell whether an address's name continues to the left: `b@example.com` is no part of `a.b@example.com`."""
    text, before = line[start:end], line[max(start - 2, 0) : start]
    return "@" in text and before[1:] in {".", "+", "'"} and is_longer(before[:1], script_before(text))


def before_the_name(path: str, below: str, texts: WholeTexts) -> str | None:
    """Return the printable part of a path with a key in a name below the folder; None without such a name."""
    names = path.removeprefix(below).split("/")
    first = next((place for place, name in enumerate(names) if texts.are_in(name, names_files=True)), None)
    return None if first is None else f"{path[: len(path) - len('/'.join(names[first:]))]}..."
