"""Files that a tenant may put into its own table to harm whoever reads them."""

from __future__ import annotations

import json
import zlib
from typing import Any


def number(value: int) -> bytes:
    """Write a number in Avro's variable-length coding."""
    value = (value << 1) ^ (value >> 63)
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def avro_file(schema: Any, block: bytes, *, codec: bytes = b"deflate") -> bytes:
    """Write an Avro file of one block, whatever the schema promises."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    if codec == b"deflate":
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        block = packer.compress(block) + packer.flush()
    entries = ((b"avro.schema", text), (b"avro.codec", codec))
    header = b"".join(number(len(part)) + part for entry in entries for part in entry)
    marker = b"x" * 16
    return b"Obj\x01" + number(2) + header + number(0) + marker + number(1) + number(len(block)) + block + marker


def record(name: str, **fields: Any) -> dict[str, Any]:
    """Return the schema of a record."""
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


STATISTICS = record(
    "Commit",
    partitionToWriteStats={
        "type": "map",
        "values": {"type": "array", "items": record("Stat", fileId=["null", "string"])},
    },
)


def tiny_statistics(count: int) -> bytes:
    """A commit of some kilobytes that says that it wrote very many files, of which it says nothing."""
    return avro_file(STATISTICS, number(1) + number(1) + b"p" + number(count) + b"\0" * count + b"\0\0")


def inflating(size: int) -> bytes:
    """A commit of a thousandth of the size that it inflates to."""
    return avro_file(record("Commit", operationType=["null", "string"]), b"\0" * size)


def items_of_nothing(field: str) -> bytes:
    """A commit with an array of more items than there are atoms in a table, which take no bytes."""
    return avro_file(record("Commit", **{field: {"type": "array", "items": "null"}}), number(2**60))


def wide_items_of_nothing() -> bytes:
    """An array of records of many fields that take no bytes."""
    wide = record("Wide", **{f"f{place}": "null" for place in range(1500)})
    return avro_file(record("Commit", more={"type": "array", "items": wide}), number(2_900_000))


def endless() -> bytes:
    """A record that holds itself."""
    return avro_file(record("Commit", path="Commit"), b"")


def many_entries(count: int) -> bytes:
    """A commit with very many small entries of extra metadata."""
    entries = record("Commit", extraMetadata={"type": "map", "values": "string"})
    return avro_file(entries, number(count) + b"\x04ab\0" * count)


def json_of(statistics: int) -> bytes:
    """A large commit of layout 1 that says nothing of the files that it wrote."""
    return b'{"partitionToWriteStats":{"p":[' + b",".join([b"{}"] * statistics) + b"]}}"


def json_lists(count: int) -> bytes:
    """A large commit of empty lists."""
    return b'{"more":[' + b",".join([b"[[],[],[],[],[]]"] * count) + b"]}"


def json_deep(count: int) -> bytes:
    """A large commit whose one value lies below everything that is walked through."""
    return b'{"a":{"b":{"c":[' + b",".join([b"{}"] * count) + b"]}}}"


def json_nested(depth: int) -> bytes:
    """A commit of brackets."""
    return b'{"extraMetadata":{"p":' + b"[" * depth + b"]}}"


def json_text(size: int) -> bytes:
    """A commit with one long text."""
    return b'{"extraMetadata":{"p":"' + b"a" * size + b'"}}'
