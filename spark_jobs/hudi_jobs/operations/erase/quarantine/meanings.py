"""Compares values of key fields by meaning: numbers and times have several spellings.

`CAST` to STRING makes the texts of keys, and `to_json` the records of a quarantine, both in UTC: for the same row they
write `10.50` and `10.5`, or `2026-01-02 00:00:00` and `2026-01-02T00:00:00.000Z`, which is cut after the third digit.
"""

import re
from datetime import UTC, datetime
from decimal import Context

from hudi_jobs.operations.erase.keys import SHORTEST_IN_BYTES

_NUMBER = r"[-+]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,3})?"
_WHOLE_NUMBER = re.compile(_NUMBER)
_NUMBERS = re.compile(rf"(?<![\w.@+-])(?<![0-9]:){_NUMBER}(?!\.?\w)(?![@-])(?!:[0-9])")
_TIME = re.compile(
    r"([+-]?[0-9]{4,9}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_EXACT = Context(prec=2000)
_MILLISECONDS = 3
_HEXADECIMAL = re.compile(r"[0-9A-Fa-fx]*")
_GROUPED = re.compile(r"[\s:._,/+-]")
_DIGITS_IN_BYTES = 16


def is_time(text: str) -> bool:
    """Tell whether the text is a date or a time in Spark's format."""
    return _TIME.fullmatch(text.strip()) is not None


def may_be_short(text: str) -> bool:
    """Tell whether a source may write the text in fewer than eight bytes: a short text, a time, or at most 16 digits.

    The digits may be hexadecimal, and grouped as in an address.
    """
    digits = _GROUPED.sub("", text)
    is_of_digits = len(digits) <= _DIGITS_IN_BYTES and _HEXADECIMAL.fullmatch(digits) is not None
    return len(text.encode()) < SHORTEST_IN_BYTES or is_time(text) or is_of_digits


def meaning(text: str) -> str:
    """Return a text that is equal for all spellings of a number, or of a time to its millisecond."""
    text = text.strip()
    if _WHOLE_NUMBER.fullmatch(text):
        number = _EXACT.create_decimal(text)
        return str(number.normalize(_EXACT)) if number else "0"
    return _time(text)[0] if is_time(text) else text


def finer(text: str) -> str:
    """Return the digits of a time below the millisecond."""
    return _time(text.strip())[1]


def numbers_in(text: str) -> set[str]:
    """Return the meanings of the numbers in the text that are not part of a time."""
    return {meaning(each) for each in _NUMBERS.findall(text)}


def _time(text: str) -> tuple[str, str]:
    found = _TIME.fullmatch(text)
    if found is None:
        return text, ""
    day, minute, second, fraction, zone = found.groups(default="")
    if not minute:
        return day, ""
    told = f"{day} {minute}:{second or '00'}"
    if zone not in {"", "Z"}:
        told = _in_utc(told, zone)
    return f"{told}.{fraction[:_MILLISECONDS]:0<{_MILLISECONDS}}", fraction[_MILLISECONDS:].rstrip("0")


def _in_utc(told: str, zone: str) -> str:
    try:
        return str(datetime.fromisoformat(told + zone).astimezone(UTC).replace(tzinfo=None))
    except (ValueError, OverflowError):
        return told + zone
