"""`hoodie.properties`: the table's identity card, in the format of `java.util.Properties`."""

import zlib
from collections.abc import Iterator, Mapping
from typing import NoReturn

from hudi_operator.timeline.errors import TableUnreadable, UnreadableCause
from hudi_operator.timeline.model import Layout, TableProperties, TableType, TimelineZone

PROPERTIES_FILE = ".hoodie/hoodie.properties"
BACKUP_FILE = ".hoodie/hoodie.properties.backup"

# Table versions that this reader knows (`HoodieTableVersion`); 7 is the bridge release between the layouts.
KNOWN_VERSIONS = frozenset({2, 3, 4, 5, 6, 7, 8, 9})

_WHITESPACE = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Parse the text of a Java properties file: comments, line continuations, escapes and all separators."""
    result: dict[str, str] = {}
    for line in _logical_lines(text):
        end = 0
        while end < len(line) and line[end] not in "=:" + _WHITESPACE:
            end += 2 if line[end] == "\\" else 1
        rest = line[end:].lstrip(_WHITESPACE)
        if rest[:1] in {"=", ":"} and rest:
            rest = rest[1:].lstrip(_WHITESPACE)
        result[_unescape(line[:end])] = _unescape(rest)
    return result


def read_table_properties(content: bytes) -> TableProperties:
    """Turn the content of `hoodie.properties` into values.

    Raises `TableUnreadable` if the content says no table type or a version that this reader does not know.
    Defaults are those of `HoodieTableConfig`.
    """
    raw = parse_properties(content.decode("iso-8859-1"))
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
        timeline_path=raw.get("hoodie.timeline.path", "timeline"),
        history_path=raw.get("hoodie.timeline.history.path", "history"),
        archive_folder=raw.get("hoodie.archivelog.folder", "archived"),
        raw=tuple(sorted(raw.items())),
    )


def is_intact(content: bytes) -> bool:
    """Tell whether the file is whole: not empty, and its checksum right if it has one.

    Follows `HoodieTableConfig.generateChecksum` and `validateChecksum`.
    """
    raw = parse_properties(content.decode("iso-8859-1"))
    checksum = raw.get("hoodie.table.checksum")
    if checksum is None:
        return bool(raw)
    name = raw.get("hoodie.table.name", "")
    database = raw.get("hoodie.database.name", "")
    # The checksum is of the name in UTF-8, whereas the file itself holds Latin-1 and escapes.
    return checksum == str(zlib.crc32(f"{database}.{name}".encode()))


def _table_type(raw: Mapping[str, str]) -> TableType:
    text = raw.get("hoodie.table.type", TableType.COPY_ON_WRITE)
    try:
        return TableType(text)
    except ValueError:
        _corrupt(f"has the unknown hoodie.table.type {text!r}")


def _timezone(raw: Mapping[str, str]) -> TimelineZone:
    text = raw.get("hoodie.table.timeline.timezone", TimelineZone.LOCAL).upper()
    try:
        return TimelineZone(text)
    except ValueError:
        _corrupt(f"has the unknown hoodie.table.timeline.timezone {text!r}")


def _version(raw: Mapping[str, str]) -> int:
    text = raw.get("hoodie.table.version")
    if text is None:
        _corrupt("holds no hoodie.table.version: write to the table once with Hudi 0.14 or newer")
    if not (text.isdigit() and text.isascii()):
        _corrupt(f"has the hoodie.table.version {text!r}, which is no number")
    version = int(text)
    if version not in KNOWN_VERSIONS:
        raise TableUnreadable(
            UnreadableCause.UNSUPPORTED,
            f"The table has version {version}; versions 6, 8 and 9 are understood. "
            "Use a release of this reader that knows the version, or upgrade the table if it is an old one.",
        )
    return version


def _layout(raw: Mapping[str, str], version: int) -> Layout:
    text = raw.get("hoodie.timeline.layout.version")
    if text is None:
        return Layout.TWO if version >= 8 else Layout.ONE
    if not (text.isdigit() and text.isascii()):
        _corrupt(f"has the hoodie.timeline.layout.version {text!r}, which is no number")
    if text not in {"1", "2"}:
        raise TableUnreadable(
            UnreadableCause.UNSUPPORTED,
            f"The table has timeline layout {text}; layouts 1 and 2 are understood. "
            "Use a release of this reader that knows the layout, or upgrade the table if it is an old one.",
        )
    return Layout(int(text))


def _corrupt(what: str) -> NoReturn:
    raise TableUnreadable(UnreadableCause.CORRUPT, f"{PROPERTIES_FILE} {what}.")


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines as Java reads them: trimmed in front, without comments, continued lines joined."""
    pending = ""
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(_WHITESPACE)
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    result: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\" and position + 1 < len(text):
            position += 1
            character = text[position]
            digits = text[position + 1 : position + 5]
            if character == "u" and len(digits) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
                character = chr(int(digits, 16))
                position += 4
            else:
                character = _ESCAPES.get(character, character)
        result.append(character)
        position += 1
    return "".join(result)
