"""Lists the spellings of a text in documents, paths and URLs, and tells which neighbouring characters extend a text.

JSON allows many spellings. Covered are those of common writers: Python, Jackson, Gson, .NET, PHP and Go, each as it is
and once more inside another JSON text.

A digit, `_`, `-`, `@` and a combining mark always extend a text. A letter does when the text has letters of the same
script there: `顧客` beside `customer-7` is another word. In doubt the match counts as a whole text.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, product
from urllib.parse import quote, quote_plus

from hudi_jobs.operations.refusal import refused

MOST_SPELT = 1_000_000
LARGEST_SPELT = 64 * 1024 * 1024
"""Most spellings of all keys, and their bytes, to hold in the driver and in its JVM."""

_ESCAPED_IN_FOLDERS = frozenset("\"#%'*/:=?\\{[]^\x7f") | frozenset(map(chr, range(32)))
"""Characters that Hudi, like Hive, escapes in partition names (`PartitionPathEncodeUtils`)."""

_ESCAPED_IN_JSON = (
    "",
    "&<>\u2028\u2029",  # encoding/json of Go
    "&<>'=\u2028\u2029",  # Gson
    "&<>'+\"`\x7f",  # System.Text.Json of .NET, and json_encode of PHP with flags
)
r"""Characters that a JSON writer escapes as `\u` and four digits without need."""

_LEFT_IN_URLS = ("", "!'()*", "!'()*;,/?:@&=+$#")
"""Characters left unescaped by Python's `quote`, `encodeURIComponent` and `encodeURI`."""

_AS_IT_IS = re.compile(r"[A-Za-z0-9_.~-]*")
_AS_IT_IS_IN_JSON = re.compile(r"[A-Za-z0-9_.~ !#$%()*,:;?@\[\]^{|}-]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|.)")
_BYTE = re.compile("%[0-9A-F]{2}")

_Style = tuple[str, bool, bool, bool]
"""The escaped characters, and whether to escape non-ASCII characters and `/`, and to write digits in upper case."""

_PLAIN: tuple[_Style, ...] = (("", False, False, False), ("", True, False, False))


def spellings(text: str) -> set[str]:
    """Return a text and its other spellings in documents and paths."""
    if _AS_IT_IS.fullmatch(text):
        return {text}
    found = {text, text.replace('"', '""')}
    for style in () if _AS_IT_IS_IN_JSON.fullmatch(text) else _styles(text):
        inner = _json(text, style)
        found |= {inner, *(_json(inner, outer) for outer in {*_PLAIN, style})}
    folder = "".join(f"%{ord(each):02X}" if each in _ESCAPED_IN_FOLDERS else each for each in text)
    return found | {folder} | _in_urls(text)


def require_few(texts: Iterable[str], *, most: int = MOST_SPELT) -> None:
    """Refuse keys with more spellings than a driver can search at once."""
    count = size = 0
    for text in texts:
        found = spellings(text)
        count, size = count + len(found), size + sum(len(spelt.encode()) for spelt in found)
        if count > most or size > LARGEST_SPELT:
            raise refused(
                f"JSON, paths and URLs write these keys in more than {most:,} ways or {LARGEST_SPELT:,} bytes, "
                "which is more than the driver can look for at once; erase them in several operations."
            )


def _styles(text: str) -> set[_Style]:
    """Return the JSON styles that differ for this text; few, because most texts have few escaped characters."""
    escaped = {"".join(each for each in known if each in text) for known in _ESCAPED_IN_JSON}
    is_ascii, slash = {text.isascii(), True}, {False, "/" in text}
    return {
        (each, not is_left, has_slash, upper)
        for each, is_left, has_slash, upper in product(escaped, is_ascii, slash, (False, True))
    }


def _json(text: str, style: _Style) -> str:
    escaped, ascii_only, slash, upper = style
    spelt = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    for each in escaped:
        spelt = spelt.replace('\\"' if each == '"' else each, f"\\u{ord(each):04x}")
    if slash:
        spelt = spelt.replace("/", "\\/")
    return _ESCAPE.sub(_with_upper, spelt) if upper else spelt


def _with_upper(escape: re.Match[str]) -> str:
    return f"\\u{escape[1].upper()}" if escape[1] else escape[0]


def _in_urls(text: str) -> set[str]:
    found = {quote_plus(text), *(quote(text, safe=left) for left in _LEFT_IN_URLS)}
    return found | {_BYTE.sub(lambda byte: byte[0].lower(), each) for each in found}


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
