"""How records that no run can read stand in the quarantine: runs write them, and erasures read them."""

import base64
import binascii
import re

UNREADABLE = "unreadable"
"""Folder of records that no run could read."""

BASE64 = "base64:"
"""Goes before bytes that are no UTF-8."""

BINARY = "binary"
"""Field of a record that says what goes before bytes. Records of earlier releases lack it, and have nothing there."""

TOMBSTONE = "a tombstone with the key "
TIME, TIME_END = "a message with the time ", " ms: "
NO_CONTENT = "null"

_BEGINNING = re.compile(f"{TOMBSTONE}|{TIME}-?[0-9]{{1,19}}{TIME_END}")


def content_of(record: str) -> str:
    """Return the value or the key of a message, without the words that a run writes before it."""
    found = _BEGINNING.match(record)
    content = record[found.end() :] if found else record
    return "" if found and content == NO_CONTENT else content


def bytes_of(text: str) -> bytes | None:
    """Return the bytes that base64 stands for, which Spark cuts into lines; None for another text."""
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return None
