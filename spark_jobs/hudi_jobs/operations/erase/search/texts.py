"""Keys in texts: in a record of the quarantine, and in the names of files and folders."""

import re
from collections.abc import Collection, Iterator
from itertools import groupby

from hudi_jobs.operations.erase.keys import Keys

_ESCAPE = re.compile(r"(\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$")
_LONGEST_ESCAPE = 6
"""How JSON and URLs spell other characters: no letter of these is one of the text."""

_MASK = "***"


class WholeTexts:
    """Finds a key in a text where it stands as a whole, as `KeyScanner` does: of very many keys as fast as of one."""

    def __init__(self, keys: Keys, *, also_short: bool = False) -> None:
        texts = [text.decode() for text in keys.in_bytes]
        short = sorted((text.decode() for text in keys.short), key=len) if also_short else []
        alike = (texts, *(list(group) for _, group in groupby(short, key=len)))
        self._indexes = [_by_beginning(group) for group in alike if group]

    def are_in(self, line: str) -> bool:
        """Tell whether one of them is in a line."""
        return any(True for _ in self._places(line))

    def masked(self, line: str) -> str:
        """Return a line with each of them left out, and all else as it is."""
        shown, done = "", 0
        for start, end in sorted(place for place in self._places(line) if place[0] < place[1]):
            if start >= done:
                shown += line[done:start] + _MASK
            done = max(done, end)
        return shown + line[done:]

    def _places(self, line: str) -> Iterator[tuple[int, int]]:
        """Yield where in a line they begin and end."""
        for length, known in self._indexes:
            for start in range(len(line) - length + 1):
                for text in known.get(line[start : start + length], ()):
                    end = start + len(text)
                    if line.startswith(text, start) and _stands_alone(line, start, end):
                        yield start, end


def _by_beginning(texts: Collection[str]) -> tuple[int, dict[str, list[str]]]:
    """Return the length of the shortest text, and the texts by as much of them."""
    length = min(map(len, texts))
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(text[:length], []).append(text)
    return length, found


def _stands_alone(line: str, start: int, end: int) -> bool:
    follows = _is_word(line[end : end + 1]) or (line[end : end + 1] == "." and _is_word(line[end + 1 : end + 2]))
    before = line[max(start - _LONGEST_ESCAPE, 0) : start]
    return not follows and (not _is_word(before[-1:]) or _ESCAPE.search(before) is not None)


def _is_word(character: str) -> bool:
    return character.isalnum() or (character != "" and character in "_-@")


def before_the_name(path: str, below: str, texts: WholeTexts) -> str | None:
    """Return what of a path may be shown, where a name in it below a folder holds a key; None where none does."""
    names = path.removeprefix(below).split("/")
    first = next((place for place, name in enumerate(names) if any(map(texts.are_in, _without_ends(name)))), None)
    return None if first is None else f"{path[: len(path) - len('/'.join(names[first:]))]}..."


def _without_ends(name: str) -> Iterator[str]:
    """Yield a name, and what is left of it without each of its endings."""
    while name:
        yield name
        name = name.rpartition(".")[0]
