"""The form of unreadable records in the quarantine: runs write it, and erasures read it."""

import base64
import binascii
import re

UNREADABLE = "unreadable"
"""The folder of records that no run could read."""

BASE64 = "base64:"
"""The prefix of bytes that are not UTF-8."""

BINARY = "binary"
"""The field of a record with the prefix of bytes. Records of earlier releases lack it, and have no prefix."""

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
    """Return the bytes of a base64 text, which Spark cuts into lines; None for another text."""
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return None
