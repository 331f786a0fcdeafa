"""Reads the first record of an Avro file, with bounds on every size in the file.

A general reader trusts the file: a block of some kilobytes may inflate to gigabytes, an array of empty items may have
any length, and every record becomes a dictionary. This reader inflates a bounded number of bytes, takes a bounded
number of values, keeps only the wanted fields and counts their cost. It is as fast as a general reader on timeline
files, because the decoders of a schema are built once.
"""

import struct
import zlib
from typing import Any

from hudi_operator.timeline.avro.values import Cursor, decoder, pass_over, read_long
from hudi_operator.timeline.model import ContentTooLarge, CorruptContent

MAGIC = b"Obj\x01"
INFLATED_LIMIT = 16 * 2**20
"""The most bytes a block may inflate to. Hudi does not compress its own blocks."""

KEPT_LIMIT = 32 * 2**20
"""The approximate memory limit, in bytes, for the values of a file."""

VALUES_LIMIT = 3_000_000
"""The most values to read or skip in a file: some seconds of work."""

_SCHEMA_LIMIT = 64 * 2**10
_HEADER_ENTRIES = 64
_MARKER = 16
_CODECS = frozenset({b"null", b"deflate"})

# Exceptions that Python raises when the bytes do not match the schema.
_DAMAGE = (IndexError, ValueError, KeyError, TypeError, struct.error, RecursionError, zlib.error)


def read_avro(data: bytes, wanted: frozenset[str], *, kept: int = KEPT_LIMIT) -> dict[str, Any]:
    """Return the wanted fields, at any depth, of the first record of an Avro file.

    Maps of numbers are filtered by the wanted keys; other maps are returned whole. Raises `CorruptContent` for a file
    that is not Avro or uses a codec that Hudi does not write, and `ContentTooLarge` beyond the bounds.
    """
    try:
        header = Cursor(data, kept=kept, values=VALUES_LIMIT)
        header.position = len(MAGIC)
        schema, codec = _header(header)
        count = start = size = 0
        while not count:
            count, size = read_long(header), read_long(header)
            start = header.position
            pass_over(header, size + _MARKER)
        if codec != b"null":
            data, start = _inflated(data[start : start + size]), 0
        cursor = Cursor(data, kept=kept, values=VALUES_LIMIT)
        cursor.position = start
        record = decoder(schema, wanted)(cursor)
    except CorruptContent:
        raise
    except _DAMAGE as error:
        if isinstance(error, IndexError) and header.position >= len(data):
            raise CorruptContent("the Avro file holds no record") from error
        raise CorruptContent(f"the Avro file is damaged: {type(error).__name__} {error}"[:200].rstrip()) from error
    if not isinstance(record, dict):
        raise CorruptContent("the Avro file holds no record")
    return record


def is_compressed(data: bytes) -> bool:
    """Tell whether an Avro file's header declares compression, which Hudi itself never uses."""
    return data.startswith(MAGIC) and b"deflate" in data[: 2 * _SCHEMA_LIMIT]


def read_datum(data: bytes, schema: bytes, wanted: frozenset[str]) -> dict[str, Any]:
    """Return the wanted fields of a bare Avro record without a file header. Raises the errors of `read_avro`."""
    if len(schema) > _SCHEMA_LIMIT:
        raise ContentTooLarge(f"the schema has {len(schema)} bytes; at most {_SCHEMA_LIMIT} are read")
    try:
        record = decoder(schema, wanted)(Cursor(data, kept=KEPT_LIMIT, values=VALUES_LIMIT))
    except CorruptContent:
        raise
    except _DAMAGE as error:
        raise CorruptContent(f"a record is damaged: {type(error).__name__} {error}"[:200].rstrip()) from error
    if not isinstance(record, dict):
        raise CorruptContent("it is not a record")
    return record


def _header(cursor: Cursor) -> tuple[bytes, bytes]:
    entries: dict[bytes, bytes] = {}
    while count := read_long(cursor):
        if count < 0:
            count = -count
            read_long(cursor)
        if len(entries) + count > _HEADER_ENTRIES:
            raise CorruptContent("the Avro file is damaged: its header has too many entries")
        for _ in range(count):
            key = cursor.take(read_long(cursor))
            entries[key] = cursor.take(read_long(cursor))
    cursor.take(_MARKER)
    schema, codec = entries.get(b"avro.schema", b""), entries.get(b"avro.codec", b"null")
    if codec not in _CODECS:
        raise CorruptContent(f"the Avro file is compressed with {codec[:20]!r}, which Hudi does not do")
    if len(schema) > _SCHEMA_LIMIT:
        raise ContentTooLarge(f"the schema of the Avro file has {len(schema)} bytes; at most {_SCHEMA_LIMIT} are read")
    return schema, codec


def _inflated(block: bytes) -> bytes:
    inflated = zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, INFLATED_LIMIT + 1)
    if len(inflated) > INFLATED_LIMIT:
        raise ContentTooLarge(f"the Avro file inflates to more than {INFLATED_LIMIT} bytes")
    return inflated
