"""Keys in texts: in a record of the quarantine, and in the names of files and folders."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import groupby

from hudi_jobs.operations.erase.keys import SHORTEST_IN_BYTES, Keys
from hudi_jobs.operations.erase.search.letters import is_longer, script_after, script_before

_ESCAPE = re.compile(r"(\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$")
_LONGEST_ESCAPE = 6
"""How JSON and URLs spell other characters: no letter of these is one of the text."""

_LONGEST_LENGTH = 4
"""Bytes of a length that stands before a text."""

_MASK = "***"


class Texts:
    """Finds texts in another one where each stands as a whole, as `KeyTexts` does in text: very many as fast as one.

    Of binary content `encoding` is how it became a text: there a length before a text, which counts bytes, makes it
    whole as well.
    """

    def __init__(self, texts: Iterable[str], *, encoding: str | None = None) -> None:
        ordered = sorted(texts, key=_bounded_length)
        self._encoding = encoding
        self._indexes = [_Index(group) for _, group in groupby(ordered, key=_bounded_length)]

    def are_in(self, line: str, *, names_files: bool = False) -> bool:
        """Tell whether one of them is in a line; the ending of a file makes none longer where one may be named."""
        return any(True for _ in self._places(line, names_files=names_files))

    def masked(self, line: str) -> str:
        """Return a line with each of them left out, and all else as it is."""
        shown, done = "", 0
        for start, end in sorted(place for place in self._places(line) if place[0] < place[1]):
            if start >= done:
                shown += line[done:start] + _MASK
            done = max(done, end)
        return shown + line[done:]

    def found(self, line: str, *, encoding: str | None = None) -> set[str]:
        """Return those that are in a line, which with an `encoding` may be binary."""
        return {line[start:end] for start, end in self._places(line, encoding)}

    def _places(
        self, line: str, encoding: str | None = None, *, names_files: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Yield where in a line they begin and end."""
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
    """Return the length of a text by which it is looked for: of long ones, as much as all of them have."""
    return min(len(text), SHORTEST_IN_BYTES)


def _is_whole(line: str, start: int, end: int, encoding: str | None, *, names_files: bool) -> bool:
    if _is_joined(line, start, end):
        return False
    if _stands_alone(line, start, end, names_files=names_files):
        return True
    return encoding is not None and _has_its_length_before(line, start, end, encoding)


def _has_its_length_before(line: str, start: int, end: int, encoding: str) -> bool:
    """Tell whether what goes before is the length of a text, and nothing else that a text may have there.

    A variable number may be a character as well, for example a quote. Then it is certain only where it is a letter or
    digit behind what is no text.
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
    """Return a length as a variable number, as Protobuf writes it, and Avro the double of it."""
    low, high = size & 0x7F, size >> 7
    return bytes([low | 0x80]) + _variable(high) if high else bytes([low])


class _Index:
    """Finds texts as `KeyTexts` does: what a character takes is bounded by the longest text, not by their number.

    They are sorted, so the greatest that is not above what lies in a line is the longest one there, or begins with it:
    all others there are beginnings of that one. `_within` has for each the longest other one that it begins with.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(texts)
        self._shortest, self._longest = min(map(len, self._texts)), max(map(len, self._texts))
        self._beginnings = {text[: self._shortest] for text in self._texts}
        self._within: list[int] = []
        for place, text in enumerate(self._texts):
            self._within.append(self._beginning(place - 1, text))

    def found_in(self, line: str) -> Iterator[tuple[int, str]]:
        """Yield each of them that is in a line, with where it begins."""
        for start in range(len(line) - self._shortest + 1):
            if line[start : start + self._shortest] in self._beginnings:
                rest = line[start : start + self._longest]
                place = self._beginning(bisect(self._texts, rest) - 1, rest)
                while place >= 0:
                    yield start, self._texts[place]
                    place = self._within[place]

    def _beginning(self, place: int, text: str) -> int:
        """Return the longest one that a text begins with: this one, or one that it begins with; else -1."""
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
    """Tell whether the name of an address goes on before it: `b@example.com` is no part of `a.b@example.com`."""
    text, before = line[start:end], line[max(start - 2, 0) : start]
    return "@" in text and before[1:] in {".", "+", "'"} and is_longer(before[:1], script_before(text))


def before_the_name(path: str, below: str, texts: WholeTexts) -> str | None:
    """Return what of a path may be shown, where a name in it below a folder holds a key; None where none does."""
    names = path.removeprefix(below).split("/")
    first = next((place for place, name in enumerate(names) if texts.are_in(name, names_files=True)), None)
    return None if first is None else f"{path[: len(path) - len('/'.join(names[first:]))]}..."
