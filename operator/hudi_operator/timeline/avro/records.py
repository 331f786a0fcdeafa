"""The first record of an Avro file, with bounds on everything that the file may say of itself.

A general reader believes a file: a block of some kilobytes may inflate to gigabytes, an array of nothing may have any
number of items, and every record becomes a dictionary. This one inflates a bounded number of bytes, takes a bounded
number of values, keeps only the fields that were asked for, and counts what they cost. It is not slower than a general
one on timeline files, because the decoders of a schema are made once.
"""

import struct
import zlib
from typing import Any

from hudi_operator.timeline.avro.values import Cursor, decoder, pass_over, read_long
from hudi_operator.timeline.errors import ContentTooLarge, CorruptContent

MAGIC = b"Obj\x01"
INFLATED_LIMIT = 16 * 2**20
"""Bytes that a block may inflate to. Hudi itself compresses none."""

KEPT_LIMIT = 32 * 2**20
"""What the values of one file may take in memory, in bytes, about."""

VALUES_LIMIT = 3_000_000
"""Values that are passed over or kept: some seconds of work."""

_SCHEMA_LIMIT = 64 * 2**10
_HEADER_ENTRIES = 64
_MARKER = 16
_CODECS = frozenset({b"null", b"deflate"})

# What Python raises where the bytes are not what the schema says.
_DAMAGE = (IndexError, ValueError, KeyError, TypeError, struct.error, RecursionError, zlib.error)


def read_avro(data: bytes, wanted: frozenset[str], *, kept: int = KEPT_LIMIT) -> dict[str, Any]:
    """Return the wanted fields, at any depth, of the first record of an Avro file.

    Of maps of numbers only the wanted keys are returned, of other maps all. Raises `CorruptContent` for what is no Avro
    file or uses a codec that Hudi does not write, `ContentTooLarge` for what is beyond the bounds.
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
    """Tell whether an Avro file says in its header that it is compressed, which Hudi's own are not."""
    return data.startswith(MAGIC) and b"deflate" in data[: 2 * _SCHEMA_LIMIT]


def read_datum(data: bytes, schema: bytes, wanted: frozenset[str]) -> dict[str, Any]:
    """Return the wanted fields of a record that was written without a file around it. Raises as `read_avro` does."""
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
