"""Judges by its key fields whether a quarantine record has a key, by the meaning of their values; else by its text.

`CAST` to STRING makes the texts of keys, and `to_json` the records of a quarantine, both in UTC: for the same row they
write `10.50` and `10.5`, or `2026-01-02 00:00:00` and `2026-01-02T00:00:00.000Z`, which is cut after the third digit.

A run writes the rows that it read as JSON objects with all non-null values (`ingestion/rules/quality.py`), and bytes as
base64. Unreadable records keep their original form in the folder `unreadable`: a line of a file, or a message, as
base64 when it is not UTF-8 (`corrupt_text`). They may lack a field, or have it in another place. Records of earlier
releases do not mark base64.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Context
from enum import IntEnum

from hudi_jobs.ingestion.rows import BASE64, BINARY, bytes_of, content_of
from hudi_jobs.ingestion.rules.columns import NOTHING
from hudi_jobs.operations.erase.keys import SHORTEST_IN_BYTES, Key, Keys
from hudi_jobs.operations.erase.scan import Texts, WholeTexts
from hudi_jobs.operations.erase.spellings import spellings

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


_RECORD, _MESSAGE = "record", "message"
_BYTES = "latin-1"
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LOST = "\ufffd"
"""Spark's replacement for an unreadable character."""


class Verdict(IntEnum):
    """The fate of a record."""

    STAYS = 0
    UNDECIDED = 1
    GOES = 2


class _Number(str):
    """A JSON number with its original spelling."""

    __slots__ = ()


class BadRecords:
    """Finds the records that have a key, as fast for many keys as for a single key."""

    def __init__(self, keys: Keys) -> None:
        self._fields, self._whole = keys.fields, WholeTexts(keys)
        self._by_meaning: dict[tuple[str, ...], list[Key]] = {}
        self._by_longest: dict[str, list[Key]] = {}
        self._values: dict[str, set[str]] = {}
        for key in keys.plain_values:
            self._by_meaning.setdefault(tuple(map(meaning, key)), []).append(key)
            told = [value for value in key if value]
            if told:
                longest = max(told, key=lambda value: (not is_time(value), len(value)))
                self._by_longest.setdefault(meaning(longest), []).append(key)
            for value in told:
                for spelt in spellings(value):
                    self._values.setdefault(spelt, set()).add(value)
        self._texts = Texts(self._values)
        self._in_bytes = {
            value.encode().decode(_BYTES): value
            for values in self._values.values()
            for value in values
            if len(value.encode()) >= SHORTEST_IN_BYTES
        }
        self._bytes = Texts(self._in_bytes, encoding=_BYTES)
        self._is_ascii = all(map(str.isascii, self._values))
        self._has_times = any(is_time(value) for key in keys.plain_values for value in key)
        self._may_be_short = any(value and may_be_short(value) for key in keys.plain_values for value in key)
        self._are_only_times = any(
            any(key) and all(is_time(value) for value in key if value) for key in keys.plain_values
        )

    def judge(self, line: str, *, is_unreadable: bool) -> Verdict:
        """Return the verdict on a line of the quarantine."""
        if self._whole.are_in(line):
            return Verdict.GOES
        told = _parsed(line)
        if not isinstance(told, dict) or not isinstance(told.get(_RECORD), str):
            is_cut = told is None and f'"{_RECORD}":' in line  # left by a killed run; its base64 may be cut anywhere
            verdict = self._by_text(line, self._unmarked(line), is_message=True)
            return max(verdict, Verdict.UNDECIDED if is_cut else Verdict.STAYS)
        text, is_message = str(told[_RECORD]), _MESSAGE in told
        if is_message:
            text = content_of(text)
        is_marked = told.get(BINARY) == BASE64
        content = bytes_of(text.removeprefix(BASE64)) if is_marked and text.startswith(BASE64) else None
        if content:
            return self._by_bytes(content)
        if not is_unreadable and any(map(self._are_in_bytes, _bytes_in(_parsed(text)))):
            return Verdict.GOES
        values = self._values_in(text, is_unreadable=is_unreadable)
        if values is None:
            content = self._unmarked(text) if is_message and not is_marked else None
            return self._by_text(text, content, is_message=is_message)
        asked = self._by_meaning.get(tuple(map(meaning, values)), [])
        alike = (_alike(values, key, is_unreadable=is_unreadable) for key in asked)
        return max(alike, default=Verdict.STAYS)

    def _values_in(self, text: str, *, is_unreadable: bool) -> list[str] | None:
        """Return the values of the key fields, or None when the record does not have them."""
        record = _parsed(text, is_exact=is_unreadable)
        if not isinstance(record, dict):
            return None
        values = [_value(record, field) for field in self._fields]
        if any(isinstance(value, dict | list) or (value is None and is_unreadable) for value in values):
            return None
        texts = [_plain(value) for value in values]
        if is_unreadable and self._has_times and not any(map(is_time, texts)):
            return None
        return texts

    def _unmarked(self, text: str) -> bytes | None:
        """Return the bytes that an earlier release may have written as base64, or None for UTF-8 texts.

        A word may be valid base64 by chance; it is ignored unless a key can be this short.
        """
        content = bytes_of(text)
        if content is None or _is_text(content):
            return None
        is_word = text.isalnum() and len(content) < SHORTEST_IN_BYTES
        return None if is_word and not self._may_be_short else content

    def _by_text(self, text: str, content: bytes | None, *, is_message: bool) -> Verdict:
        """Judge a text, and the bytes it may encode."""
        if _NO_TEXT.search(text) or (_LOST in text and not self._is_ascii):
            return self._by_bytes(text.encode(errors="replace"))
        verdict = self._by_words(text, is_message=is_message)
        return verdict if verdict is Verdict.GOES or content is None else self._by_bytes(content)

    def _by_bytes(self, content: bytes) -> Verdict:
        found = {self._in_bytes[each] for each in self._bytes.found(content.decode(_BYTES))}
        return Verdict.GOES if self._are_there(found, set()) is Verdict.GOES else Verdict.UNDECIDED

    def _are_in_bytes(self, content: bytes) -> bool:
        return self._whole.are_in(content.decode(errors="replace")) or self._by_bytes(content) is Verdict.GOES

    def _by_words(self, text: str, *, is_message: bool) -> Verdict:
        if not text:
            return Verdict.STAYS
        numbers = numbers_in(text)
        verdict = self._are_there(self._told_by(self._texts.found(text)), numbers)
        if verdict is Verdict.STAYS and is_message:  # a binary message may have only visible characters
            behind_lengths = self._told_by(self._texts.found(text, encoding="utf-8"))
            verdict = min(self._are_there(behind_lengths, numbers), Verdict.UNDECIDED)
        return max(verdict, Verdict.UNDECIDED if self._are_only_times else Verdict.STAYS)

    def _told_by(self, spelt: Iterable[str]) -> set[str]:
        return {value for each in spelt for value in self._values[each]}

    def _are_there(self, found: Iterable[str], numbers: set[str]) -> Verdict:
        """Judge whether all values of a key are among the texts found, or among numbers with another spelling.

        Sources write times in many formats, so a time may be present unseen.
        """
        verdict, found = Verdict.STAYS, set(found)
        alike = {meaning(value) for value in found} | numbers
        for key in (key for each in alike for key in self._by_longest.get(each, ())):
            if all(value in found for value in key if value):
                return Verdict.GOES
            if all(is_time(value) or meaning(value) in alike for value in key if value):
                verdict = Verdict.UNDECIDED
        return verdict


def _alike(values: list[str], key: Key, *, is_unreadable: bool) -> Verdict:
    """Compare values with those of a key that mean the same."""
    return min(_one_alike(value, asked, is_unreadable) for value, asked in zip(values, key, strict=True))


def _one_alike(value: str, asked: str, is_unreadable: bool) -> Verdict:  # noqa: FBT001 - of this module alone
    if value == asked or isinstance(value, _Number):
        return Verdict.GOES
    if is_time(asked):
        digits = finer(value)
        return Verdict.GOES if digits == finer(asked) else Verdict.STAYS if digits else Verdict.UNDECIDED
    return Verdict.UNDECIDED if is_unreadable else Verdict.STAYS


def _parsed(text: str, *, is_exact: bool = False) -> object:
    """Return the parsed JSON with numbers as written; None when the text is not JSON.

    With `is_exact` an object with a repeated name is not JSON either: readers differ in which value they take.
    """
    hook = _with_each_name_once if is_exact else None
    try:
        return json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=hook)
    except (ValueError, RecursionError):
        return None


def _with_each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name.lower() for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _value(record: object, field: str) -> object:
    """Return the value of a field, also of a nested field; None when it is missing."""
    if isinstance(record, dict) and field in record:
        return record[field]
    name, _, inside = field.partition(".")
    return _value(record.get(name), inside) if inside and isinstance(record, dict) else None


def _bytes_in(value: object) -> Iterator[bytes]:
    """Yield the base64 content of each text; a text that is none gives bytes that hold no key by chance."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _bytes_in(each)
    elif isinstance(value, str):
        yield bytes_of(value) or b""


def _plain(value: object) -> str:
    if value is None or value in NOTHING:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
