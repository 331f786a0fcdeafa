"""Inspects Avro files before Spark reads them: their schemas, and whether they are whole.

Avro's reader takes the end of a truncated file for the end of the data, so Spark would read a half-written file
silently and lose the rest. A whole Avro file ends with the sync marker that its header announces.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.filesystem import ReadRange, ranges_of

_MAGIC = b"Obj\x01"
_MARKER = 16
_FIRST_READ = 64 * 1024
_AT_ONCE = 8


class BrokenAvro(ValueError):
    """The bytes are not a whole Avro file."""


class _Short(Exception):
    """More bytes are needed; nothing is wrong yet."""


@dataclass(frozen=True)
class AvroHeader:
    """The beginning of an Avro file: its schema as JSON, its sync marker, and the length of the header."""

    schema: str
    marker: bytes
    length: int


def schemas_of(spark: SparkSession, paths: Sequence[str]) -> list[str]:
    """Return the schema of each file; raise `TaskFailed` for the first file that is not a whole Avro file."""

    def schema_of(path: str) -> str:
        try:
            with ranges_of(spark, path) as (read, size):
                return read_whole(read, size).schema
        except BrokenAvro as error:
            raise TaskFailed(
                FailureReason.SOURCE_UNREADABLE,
                f"The file {path} cannot be read as avro; it may be half-written. Replace or remove it.",
            ) from error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(schema_of, paths))


def fields_of(schema: str) -> tuple[str, ...] | None:
    """Return the names of a record's fields; None for a schema that is no record."""
    document = json.loads(schema)
    fields = document.get("fields") if isinstance(document, dict) else None
    return None if fields is None else tuple(str(field["name"]) for field in fields)


def read_whole(read: ReadRange, size: int) -> AvroHeader:
    """Return the header of a file of `size` bytes; raise `BrokenAvro` when its end is missing."""
    amount = min(size, _FIRST_READ)
    while True:
        try:
            header = parse_header(read(0, amount))
            break
        except _Short as error:
            if amount == size:
                raise BrokenAvro("the header is cut off") from error
            amount = min(size, amount * 4)
    if size > header.length and read(size - _MARKER, _MARKER) != header.marker:
        raise BrokenAvro("the end is cut off")
    return header


def parse_header(data: bytes) -> AvroHeader:
    """Parse an object container file's header as the Avro specification lays it out."""
    if len(data) >= len(_MAGIC) and not data.startswith(_MAGIC):
        raise BrokenAvro("no Avro file")
    metadata: dict[bytes, bytes] = {}
    at = len(_MAGIC)
    while True:
        count, at = _long(data, at)
        if count == 0:
            break
        if count < 0:
            count, (_, at) = -count, _long(data, at)
        for _ in range(count):
            key, at = _bytes(data, at)
            metadata[key], at = _bytes(data, at)
    marker, end = data[at : at + _MARKER], at + _MARKER
    if len(marker) < _MARKER:
        raise _Short
    if b"avro.schema" not in metadata:
        raise BrokenAvro("no schema")
    return AvroHeader(schema=metadata[b"avro.schema"].decode(), marker=marker, length=end)


def _long(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise _Short
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _long(data, at)
    if length < 0:
        raise BrokenAvro("a negative length")
    if at + length > len(data):
        raise _Short
    return data[at : at + length], at + length
