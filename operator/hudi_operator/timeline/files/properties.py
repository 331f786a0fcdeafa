"""Parses `hoodie.properties`, the table's identity card, in the format of `java.util.Properties`."""

import re
import zlib
from collections.abc import Iterator, Mapping
from typing import NoReturn

from hudi_jobs.contract.table.location import relative_names
from hudi_jobs.contract.wording import shortened
from hudi_operator.timeline.model import (
    ContentTooLarge,
    CorruptContent,
    Layout,
    TableProperties,
    TableType,
    TableUnreadable,
    TimelineZone,
    UnreadableCause,
)

PROPERTIES_FILE = ".hoodie/hoodie.properties"
BACKUP_FILE = ".hoodie/hoodie.properties.backup"

# Table versions that this reader knows (`HoodieTableVersion`); 7 is the bridge release between the layouts.
KNOWN_VERSIONS = frozenset({2, 3, 4, 5, 6, 7, 8, 9})

PROPERTIES_LIMIT = 2**20
"""The most bytes to read from the file: it has some kilobytes, more with a wide table's schema."""

_KEYS_LIMIT = 2_000
_MOST_DIGITS = 9
_SHOWN = 40
_HEADER_LINE = 200
_WHITESPACE = " \t\f"
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*+\\?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Parse the text of a Java properties file: comments, line continuations, escapes and all separators."""
    result: dict[str, str] = {}
    for line in _logical_lines(text):
        end = found.end() if (found := _KEY.match(line)) else 0
        rest = line[end:].lstrip(_WHITESPACE)
        if rest[:1] in {"=", ":"} and rest:
            rest = rest[1:].lstrip(_WHITESPACE)
        result[_unescape(line[:end])] = _unescape(rest)
        if len(result) > _KEYS_LIMIT:
            raise ContentTooLarge(f"{PROPERTIES_FILE} holds more than {_KEYS_LIMIT} keys")
    return result


def read_table_properties(content: bytes) -> TableProperties:
    """Convert the content of `hoodie.properties` to values.

    Raises `CorruptContent` if the file is not whole, and `TableUnreadable` if it lacks a table type or names an unknown
    version. Defaults are those of `HoodieTableConfig`.
    """
    text = content.decode("iso-8859-1")
    raw = parse_properties(text)
    if not is_intact(raw):
        raise CorruptContent("empty" if not content else "damaged")
    if "hoodie.table.name" not in raw and "hoodie.table.type" not in raw:
        _corrupt("names neither a table nor its type: restore it from its backup or from another copy")
    version = _version(raw)
    layout = _layout(raw, version)
    return TableProperties(
        name=raw.get("hoodie.table.name", ""),
        table_type=_table_type(raw),
        version=version,
        layout=layout,
        timezone=_timezone(raw),
        timeline_path=_folder(raw, "hoodie.timeline.path", "timeline"),
        history_path=_folder(raw, "hoodie.timeline.history.path", "history"),
        archive_folder=_folder(raw, "hoodie.archivelog.folder", "archived"),
        raw=tuple(sorted(raw.items())),
        header="\n".join(line[:_HEADER_LINE] for line in text.splitlines()[:2]),
    )


def is_intact(raw: Mapping[str, str]) -> bool:
    """Tell whether the file is whole: not empty, and its checksum right if it has one.

    Follows `HoodieTableConfig.generateChecksum` and `validateChecksum`.
    """
    checksum = raw.get("hoodie.table.checksum")
    if checksum is None:
        return bool(raw)
    name = raw.get("hoodie.table.name", "")
    database = raw.get("hoodie.database.name", "")
    # The checksum covers the name in UTF-8, whereas the file itself holds Latin-1 and escapes.
    return checksum == str(zlib.crc32(f"{database}.{name}".encode()))


def _table_type(raw: Mapping[str, str]) -> TableType:
    text = raw.get("hoodie.table.type", TableType.COPY_ON_WRITE)
    try:
        return TableType(text)
    except ValueError:
        _corrupt(f"has the unknown hoodie.table.type '{shortened(text, _SHOWN)}'")


def _folder(raw: Mapping[str, str], key: str, default: str) -> str:
    """Return a folder below `.hoodie` as Hadoop reads it, without empty and dot names."""
    text = raw.get(key, default)
    names = relative_names(text)
    if names is None:
        _corrupt(f"has the {key} '{shortened(text, _SHOWN)}', which is no folder below .hoodie")
    return "/".join(names)


def _timezone(raw: Mapping[str, str]) -> TimelineZone:
    text = raw.get("hoodie.table.timeline.timezone", TimelineZone.LOCAL).upper()
    try:
        return TimelineZone(text)
    except ValueError:
        _corrupt(f"has the unknown hoodie.table.timeline.timezone '{shortened(text, _SHOWN)}'")


def _version(raw: Mapping[str, str]) -> int:
    text = raw.get("hoodie.table.version")
    if text is None:
        _corrupt("holds no hoodie.table.version: write to the table once with Hudi 0.14 or newer")
    version = _number("hoodie.table.version", text)
    if version not in KNOWN_VERSIONS:
        raise TableUnreadable(
            UnreadableCause.UNSUPPORTED,
            f"The table has version {version}; versions 6, 8 and 9 are understood. "
            "Use a release of this reader that knows the version, or upgrade the table if it is old.",
        )
    return version


def _layout(raw: Mapping[str, str], version: int) -> Layout:
    text = raw.get("hoodie.timeline.layout.version")
    if text is None:
        return Layout.TWO if version >= 8 else Layout.ONE
    layout = _number("hoodie.timeline.layout.version", text)
    if layout not in {1, 2}:
        raise TableUnreadable(
            UnreadableCause.UNSUPPORTED,
            f"The table has timeline layout {layout}; layouts 1 and 2 are understood. "
            "Use a release of this reader that knows the layout, or upgrade the table if it is old.",
        )
    return Layout(layout)


def _number(key: str, text: str) -> int:
    if len(text) > _MOST_DIGITS or not (text.isdigit() and text.isascii()):
        _corrupt(f"has the {key} '{shortened(text, _SHOWN)}', which is not a number of at most {_MOST_DIGITS} digits")
    return int(text)


def _corrupt(what: str) -> NoReturn:
    raise TableUnreadable(UnreadableCause.CORRUPT, f"{PROPERTIES_FILE} {what}.")


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines as Java reads them: trimmed in front, without comments, continued lines joined."""
    pending: list[str] = []
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(_WHITESPACE)
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            if len(line) > 1:
                pending.append(line[:-1])
            continue
        yield "".join([*pending, line])
        pending = []
    if pending:
        yield "".join(pending)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    digits, character = found.groups()
    return chr(int(digits, 16)) if digits is not None else _ESCAPES.get(character, character)
