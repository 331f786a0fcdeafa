"""Tells which neighbouring characters extend a text, so that a match is only part of a longer word.

A digit, `_`, `-`, `@` and a combining mark always extend it. A letter does when the text has letters of the same script
there: `顧客` beside `customer-7` is another word. In doubt the match counts as a whole text.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby

NONE, ALWAYS, _LATIN = "", "always", "LATIN"
_JOINING = frozenset("_-@0123456789")
_COMBINING = "COMBINING"
_ATTACHED = frozenset(
    ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "YI", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
)
"""Scripts without spaces between words: their letters after a digit never extend the text."""


def script_of(character: str) -> str:
    """Return the script of a letter, mark or number: the first word of its Unicode name."""
    if character in _JOINING:
        return ALWAYS
    if not character or unicodedata.category(character)[0] not in "LMN":
        return NONE
    name = unicodedata.name(character, NONE).replace("-", " ").partition(" ")[0]
    return ALWAYS if name == _COMBINING else name


def script_before(text: str) -> str:
    """Return the script of the letters that extend the text to the left."""
    return _next_to(text)


def script_after(text: str) -> str:
    """Return the script of the letters that extend the text to the right."""
    return _next_to(text[::-1])


def is_longer(character: str, script: str) -> bool:
    """Tell whether a neighbouring character extends a text with letters of this script there."""
    found = script_of(character)
    return found == ALWAYS or (found != NONE and found == script)


def _next_to(text: str) -> str:
    scripts = map(script_of, text)
    place, found = next(((at, each) for at, each in enumerate(scripts) if each not in {NONE, ALWAYS}), (0, _LATIN))
    return _LATIN if place and found in _ATTACHED else found


def for_scanner(texts: Sequence[bytes]) -> bytearray:
    """Encode texts for `KeyTexts`, with the script of every character, so that both sides judge alike."""
    ranges = _ranges()
    numbers = {NONE: 0, ALWAYS: 1}
    written = bytearray(_integers(len(ranges)))
    for first, script in ranges:
        written += _integers(first, numbers.setdefault(script, len(numbers)))
    written += _integers(len(texts))
    for text in texts:
        beside = script_before(text.decode()), script_after(text.decode())
        written += _integers(len(text), *(numbers[script] for script in beside)) + text
    return written


@cache
def _ranges() -> list[tuple[int, str]]:
    """Return the first character of each run of characters with the same script, in code point order."""
    return list(_beginnings())


def _beginnings() -> Iterator[tuple[int, str]]:
    first = 0
    for script, characters in groupby(map(script_of, map(chr, range(0x110000)))):
        yield first, script
        first += sum(1 for _ in characters)


def _integers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in numbers)
