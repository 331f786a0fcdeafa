"""The options of a CSV source, and the refusal of options that leave the meaning of a file open.

Option names are in lower case. The list in docs/reference/values.md says the same for people.
"""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

RFC_4180 = "rfc4180"
"""The rule for quotes without `escape`: a quote inside of quotes is written twice."""

_SINGLE_BYTE = frozenset(
    {
        "US-ASCII",
        "KOI8-R",
        *(f"ISO-8859-{n}" for n in (*range(1, 10), 13, 15)),
        *(f"WINDOWS-{n}" for n in range(1250, 1259)),
    }
)
_MULTI_BYTE = frozenset({"SHIFT_JIS", "WINDOWS-31J", "EUC-JP", "EUC-KR", "GB2312", "GBK", "GB18030", "BIG5"})
ASCII_COMPATIBLE = frozenset({"UTF-8"}) | _SINGLE_BYTE | _MULTI_BYTE
"""Encodings in which the ends of lines are found without decoding: no other character has these bytes."""

_WIDE = frozenset(f"UTF-{bits}{order}" for bits in (16, 32) for order in ("", "LE", "BE"))
_ALIASES = {
    "UTF8": "UTF-8",
    "ASCII": "US-ASCII",
    "LATIN1": "ISO-8859-1",
    "ISO8859-1": "ISO-8859-1",
    "SJIS": "SHIFT_JIS",
}

_TOKEN = re.compile(r"'[^']*'|([A-Za-z])\1*|[^A-Za-z']")
_DATE_PARTS = (("y", "u"), ("M", "L"), ("d",))
_LENGTHS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys("yu", frozenset({4})),
    **dict.fromkeys("ML", frozenset({1, 2, 3, 4})),
    **dict.fromkeys("dHhms", frozenset({1, 2})),
    "a": frozenset({1}),
    "S": frozenset(range(1, 7)),
    "X": frozenset({1, 2, 3}),
    "x": frozenset({1, 2, 3}),
    "Z": frozenset({1, 2, 3}),
    "E": frozenset({1, 2, 3, 4}),
}
_LONGEST_PATTERN = 100
_OF_TIMES, _OF_ZONES = "HhmsaS", "XxZ"
_NAME = 3


def is_true(options: Mapping[str, str], name: str) -> bool:
    """Tell whether an option is `true`, as Spark reads it."""
    return options.get(name, "").lower() == "true"


def encoding_of(options: Mapping[str, str]) -> str:
    """Return the encoding of the files in capitals."""
    named = options.get("encoding", options.get("charset", "UTF-8")).upper()
    return _ALIASES.get(named, named)


def refused_csv_options(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each option that makes values of CSV files ambiguous."""
    found = []
    for name, check in _CHECKS.items():
        if name in options:
            sentence = check(options[name], options)
            if sentence:
                found.append(f"the option {name} {sentence}")
    return tuple(found)


def _infers(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "guesses types, so that 007 becomes 7: declare the columns" if value.lower() == "true" else ""


def _falls_back(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "takes parts of texts for dates: remove it" if value.lower() == "true" else ""


def _handles_quotes(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "has no effect, because text behind a closing quote makes a bad row: remove it"


def _escapes_escapes(value: str, options: Mapping[str, str]) -> str:
    return "" if value in {"", options.get("escape")} else "must be the same as the option escape: remove it"


def _encoding(value: str, options: Mapping[str, str]) -> str:
    encoding = encoding_of({"encoding": value})
    if encoding in ASCII_COMPATIBLE:
        return ""
    if encoding in _WIDE:
        needs = f"is {value!a}, in which lines are found only with the option multiLine"
        return "" if is_true(options, "multiline") else needs
    return f"is {value[:40]!a}, whose bytes cannot be checked; convert the files to UTF-8"


def _line_separator(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    told = (
        "is not a line feed, at which Spark's parser always ends a row: remove it; lines may end in \\n, \\r\\n or \\r"
    )
    return "" if value == "\n" else told


def _separator(value: str, options: Mapping[str, str]) -> str:
    if not value or len(value) > _LONGEST_PATTERN:
        return "is empty or too long"
    special = {options.get("quote", '"'), options.get("escape", ""), "\n", "\r"} - {"", "\\"}
    return "holds a quote or the end of a line" if special & set(value) else ""


def _character(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "" if len(value) <= 1 and value.isascii() and value not in {"\n", "\r"} else "is not one character of ASCII"


def _comment(value: str, options: Mapping[str, str]) -> str:
    if value and value in {options.get("quote", '"'), options.get("sep", options.get("delimiter", ","))}:
        return "is the quote or the separator"
    return _character(value, options)


def _truth(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "" if value.lower() in {"true", "false"} else "is neither true nor false"


def _number(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "" if re.fullmatch(r"-1|[0-9]{1,9}", value) else "is not a number"


def _zone(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    known = re.fullmatch(r"UTC|GMT|Z|[+-]\d{2}:\d{2}|[A-Z][A-Za-z]+(?:/[A-Za-z_+-]+){1,2}", value)
    return "" if known else "is not a zone such as Europe/Berlin, +01:00 or UTC"


def _locale(value: str, options: Mapping[str, str]) -> str:  # noqa: ARG001 - one of _CHECKS
    return "" if re.fullmatch(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}", value) else "is not a tag such as de-DE"


def _date_pattern(value: str, options: Mapping[str, str]) -> str:
    return _pattern(value, options, times=False, zones=False)


def _time_pattern(value: str, options: Mapping[str, str]) -> str:
    return _pattern(value, options, times=True, zones=True)


def _local_pattern(value: str, options: Mapping[str, str]) -> str:
    return _pattern(value, options, times=True, zones=False)


def _pattern(value: str, options: Mapping[str, str], *, times: bool, zones: bool) -> str:
    """Return what is wrong with a pattern of dates or times: each of its texts must hold every part of the value."""
    tokens = [found[0] for found in _TOKEN.finditer(value)]
    if len(value) > _LONGEST_PATTERN or "".join(tokens) != value:
        return f"is a pattern that is too long, or has a quote that is not closed ({value[:40]!a})"
    parts = [token for token in tokens if token[0].isalpha()]
    bad = next((part for part in parts if len(part) not in _LENGTHS.get(part[0], ())), None)
    if bad is not None:
        return (
            f"has {bad!a}, which does not tell a value exactly; a year has four digits (yyyy), a fraction at most six"
        )
    return _parts(parts, options, times=times, zones=zones) or _literals(value, tokens)


def _parts(parts: list[str], options: Mapping[str, str], *, times: bool, zones: bool) -> str:
    letters = [part[0] for part in parts]
    if any(not set(choice) & set(letters) for choice in _DATE_PARTS):
        return "does not have year, month and day"
    if "h" in letters and ("a" not in letters or "H" in letters):
        return "has hours to twelve (h) without a, which tells morning from afternoon; or use HH"
    if any(len(part) > 2 and part[0] in "MLE" for part in parts) and not options.get("locale", "en").startswith("en"):
        return "has names of months or days, which are read in English only"
    extra = ("" if times else _OF_TIMES) + ("" if zones else _OF_ZONES)
    odd = next((letter for letter in letters if letter in extra), None)
    return "" if odd is None else f"has {odd!r}, which is no part of such a value"


def _literals(value: str, tokens: list[str]) -> str:
    """Return what is wrong between the parts of a pattern: only numbers of a fixed length may touch."""
    letters = [token[0] for token in tokens if token[0].isalpha()]
    if set("#{}[]") & set(value) or len(set(letters)) < len(letters):
        return "has optional parts, reserved characters, or a part twice"
    for one, other in pairwise(tokens):
        numbers = all(token[0] in "yuMLdHhms" and len(token) != _NAME for token in (one, other))
        if numbers and 1 in {len(one), len(other)}:
            return f"has {one + other!r}, in which one number cannot be told from the next"
    return ""


_CHECKS: Mapping[str, Callable[[str, Mapping[str, str]], str]] = {
    "inferschema": _infers,
    "enabledatetimeparsingfallback": _falls_back,
    "unescapedquotehandling": _handles_quotes,
    "chartoescapequoteescaping": _escapes_escapes,
    "encoding": _encoding,
    "charset": _encoding,
    "linesep": _line_separator,
    "sep": _separator,
    "delimiter": _separator,
    "quote": _character,
    "escape": _character,
    "comment": _comment,
    "header": _truth,
    "multiline": _truth,
    "ignoreleadingwhitespace": _truth,
    "ignoretrailingwhitespace": _truth,
    "maxcharspercolumn": _number,
    "timezone": _zone,
    "locale": _locale,
    "dateformat": _date_pattern,
    "timestampformat": _time_pattern,
    "timestampntzformat": _local_pattern,
}
