"""Partitions that a key generator makes of times: the stored options, and the patterns that are refused: pure values.

Hudi's TimestampBased and Custom key generators parse and format with Joda (`TimestampBasedAvroKeyGenerator`), and an
unparsable value fails the whole write. The patterns are a file of somebody else's. A pattern is refused if it leads out
of the table, or if good values cannot be told from bad values.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from hudi_jobs.contract.table.merging import columns_of
from hudi_jobs.contract.table.support import CUSTOM, TIMESTAMP, Unsupported, key_generator_of
from hudi_jobs.contract.vocabulary import Service

TOKEN = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']")
"""A part of a pattern: a quoted text, a run of a letter, or any other character."""

OFFSET = r"(?:Z|[+-]\d{2}:?\d{2})"
"""The expression of an offset from UTC."""

TEXTS = frozenset({"DATE_STRING", "MIXED"})
"""Kinds of times that are texts and need patterns."""

_OPTION = "hoodie.keygen.timebased."
_OWNERS = ("", ".deltastreamer", ".streamer")
_LITERAL = re.compile(r"[-_=.: /T]*")
_IN_NAMES = re.compile(r"[\w= -][\w=. -]*(/[\w= -][\w=. -]*)*")
_LONGEST_PATTERN = 100
_ADVICE = "leave ingestion to the tool that does it now, or write its rows to another table at another base path"


def time_columns(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the partition columns that the table's key generator reads as times."""
    generator = key_generator_of(properties)
    fields = columns_of(properties.get("hoodie.table.partition.fields"))
    if generator == TIMESTAMP:
        return frozenset(fields)
    if generator != CUSTOM:
        return frozenset()
    kinds = (field.rpartition(":") for field in fields)
    return frozenset(name for name, _, kind in kinds if kind.upper() == "TIMESTAMP")


def stored_option(properties: Mapping[str, str], name: str) -> str:
    """Return an option of the key generator for times, under any name that releases have stored; else ''."""
    names = (f"hoodie{owner}.keygen.timebased.{name}" for owner in _OWNERS)
    return next((properties[key] for key in names if key in properties), "").strip()


def input_patterns(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the patterns of input texts."""
    return tuple(each for each in stored_option(properties, "input.dateformat").split(",") if each)


def unsupported_times(properties: Mapping[str, str]) -> Iterator[Unsupported]:
    """Yield patterns that lead out of the table, or whose values cannot be checked before a write.

    `support.unsupported` reports missing options.
    """
    if not time_columns(properties):
        return
    output = stored_option(properties, "output.dateformat")
    if not _IN_NAMES.fullmatch(output.replace("'", "")) or len(output) > _LONGEST_PATTERN:
        yield _refused("output.dateformat", "a pattern that makes plain folder names", output)
    delimiter = stored_option(properties, "input.dateformat.list.delimiter.regex")
    if delimiter not in {"", ","}:
        yield _refused("input.dateformat.list.delimiter.regex", "the comma", delimiter)
    patterns = input_patterns(properties)
    unknown = [each for each in patterns if DatePattern.of(each) is None]
    if stored_option(properties, "timestamp.type").upper() in TEXTS and (unknown or not patterns):
        possible = "digit patterns that can be checked, such as yyyy-MM-dd HH:mm:ss"
        yield _refused("input.dateformat", possible, unknown[0] if unknown else "")


def _refused(name: str, possible: str, found: str) -> Unsupported:
    return Unsupported(
        key=f"{_OPTION}{name}", possible=possible, found=found, advice=_ADVICE, refuses=frozenset({Service.INGESTION})
    )


@dataclass(frozen=True)
class DatePattern:
    """A pattern of dates as a regular expression, with the group of every part."""

    regex: str
    groups: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "DatePattern | None":
        """Return the expression of a pattern, or None if a part of it is not understood."""
        tokens = [found[0] for found in TOKEN.finditer(text)]
        if len(text) > _LONGEST_PATTERN or "".join(tokens) != text:
            return None
        parts, groups = [], []
        for token, following in pairwise([*tokens, ""]):
            part = _part(token, following)
            if part is None or token[0] in groups:
                return None
            parts.append(part)
            groups += [token[0]] if part.startswith("(") and not part.startswith("(?:") else []
        return cls(f"^{''.join(parts)}$", tuple(groups)) if "y" in groups else None


def _part(token: str, following: str) -> str | None:
    """Return the regular expression of a part of a pattern, or None if the part is not understood."""
    letter, length = token[0], len(token)
    if not letter.isalpha():
        literal = token.strip("'")
        return re.escape(literal) if _LITERAL.fullmatch(literal) else None
    if letter in "MdHms" and length <= 2:
        return rf"(\d{{{length}}})" if following[:1].isalpha() else r"(\d{1,2})"
    if letter == "S" or (letter == "y" and length in {2, 4}):
        return rf"(\d{{{length}}})"
    return OFFSET if letter == "Z" else None
