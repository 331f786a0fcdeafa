"""Reads the columns of Parquet files from their footers: columns that Spark cannot read, or without values.

`parquet-mr` 1.13 fails on newer types (FLOAT16), and makes an INT32 of a column that holds only nulls. So this module
reads the schema of `parquet.thrift`, in Thrift's compact protocol, and nothing else of the footer.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql.types import ByteType, DataType, DecimalType, IntegerType, LongType, ShortType

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
TAIL = 64 * 1024
"""The bytes at the end of a file that are read first."""

MOST_BYTES = 64 * 1024 * 1024
_END = 8
_DEEPEST = 60

Value: TypeAlias = "int | bool | bytes | list[Value] | dict[int, Value] | None"

_PHYSICAL = ["BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"]
_LOGICAL = {
    1: "STRING",
    2: "MAP",
    3: "LIST",
    4: "ENUM",
    5: "DECIMAL",
    6: "DATE",
    7: "TIME",
    8: "TIMESTAMP",
    10: "INTEGER",
    11: "UNKNOWN",
    12: "JSON",
    13: "BSON",
    14: "UUID",
    15: "FLOAT16",
    16: "VARIANT",
    17: "GEOMETRY",
    18: "GEOGRAPHY",
}
_CONVERTED = [
    "STRING",
    "MAP",
    "MAP_KEY_VALUE",
    "LIST",
    "ENUM",
    "DECIMAL",
    "DATE",
    "TIME_MILLIS",
    "TIME_MICROS",
    "TIMESTAMP_MILLIS",
    "TIMESTAMP_MICROS",
    "UINT_8",
    "UINT_16",
    "UINT_32",
    "UINT_64",
    "INT_8",
    "INT_16",
    "INT_32",
    "INT_64",
    "JSON",
    "BSON",
    "INTERVAL",
]
_UNITS = {1: "MILLIS", 2: "MICROS", 3: "NANOS"}
_INTEGERS: dict[str, DataType] = {
    "INT_8": ByteType(),
    "INT_16": ShortType(),
    "INT_32": IntegerType(),
    "INT_64": LongType(),
    "UINT_8": ShortType(),
    "UINT_16": IntegerType(),
    "UINT_32": LongType(),
    "UINT_64": DecimalType(20, 0),
}
_WHOLE: dict[str, DataType] = {"INT32": IntegerType(), "INT64": LongType()}
_READABLE = frozenset(
    [
        "STRING",
        "ENUM",
        "DATE",
        "TIMESTAMP(MILLIS)",
        "TIMESTAMP(MICROS)",
        "TIMESTAMP_MILLIS",
        "TIMESTAMP_MICROS",
        *_INTEGERS,
        "JSON",
        "BSON",
    ]
)
"""The types that Spark 3.5 reads (`ParquetToSparkSchemaConverter`), besides decimals of up to 38 digits."""

_MOST_DIGITS = 38
NO_TYPE = "UNKNOWN"


class BrokenParquet(ValueError):
    """The bytes are no footer of Parquet."""


@dataclass(frozen=True)
class ParquetColumn:
    """A leaf of the schema by its path; `annotation` is the logical type by the format's name, or empty."""

    path: tuple[str, ...]
    physical: str
    annotation: str

    @property
    def is_readable(self) -> bool:
        """Whether Spark has a type for the column; a column without any value is left out before Spark reads it."""
        if (digits := self._digits) is not None:
            return digits[0] <= _MOST_DIGITS
        return self.annotation in {"", NO_TYPE} or self.annotation in _READABLE

    @property
    def number(self) -> DataType | None:
        """The type of exact numbers in Spark; None for other columns."""
        if (digits := self._digits) is not None:
            return DecimalType(*digits) if self.is_readable else None
        return _INTEGERS.get(self.annotation) if self.annotation else _WHOLE.get(self.physical)

    @property
    def _digits(self) -> tuple[int, int] | None:
        found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", self.annotation)
        return None if found is None else (int(found[1]), int(found[2]))

    @property
    def kind(self) -> str:
        """The type for people."""
        return f"{self.physical} ({self.annotation})" if self.annotation else self.physical


def footer_of(read: Callable[[int, int], bytes], size: int) -> bytes:
    """Return the footer of a file of `size` bytes; `read` returns a number of bytes from an offset."""
    tail = read(max(0, size - TAIL), min(size, TAIL))
    if tail[-4:] == ENCRYPTED:
        raise BrokenParquet("its footer is encrypted")
    if len(tail) < _END + len(MAGIC) or tail[-4:] != MAGIC:
        raise BrokenParquet("it does not end as a Parquet file does, so it may be half-written")
    length = int.from_bytes(tail[-_END:-4], "little")
    if length > min(size - _END - len(MAGIC), MOST_BYTES):
        raise BrokenParquet("its footer is longer than the file")
    whole = tail if length + _END <= len(tail) else read(size - _END - length, length + _END)
    return whole[len(whole) - _END - length : len(whole) - _END]


def columns_of(footer: bytes) -> list[ParquetColumn]:
    """Return the leaves of a footer's schema; raise `BrokenParquet` if there is none."""
    try:
        elements = _Reader(footer).schema()
        found = list(_leaves(iter(elements[1:]), int_of(elements[0], 5), ()))
    except (IndexError, KeyError, TypeError, StopIteration, RuntimeError, ValueError) as error:
        raise BrokenParquet("its footer cannot be parsed, so it may be half-written") from error
    return found


def int_of(element: dict[int, Value], field: int) -> int:
    """Return a number of a Thrift struct, 0 if it is missing."""
    value = element.get(field, 0)
    return value if isinstance(value, int) else 0


def _leaves(elements: Iterator[dict[int, Value]], count: int, at: tuple[str, ...]) -> Iterator[ParquetColumn]:
    if len(at) > _DEEPEST:
        raise ValueError("too many levels")
    for _ in range(count):
        element = next(elements)
        name = element[4]
        path = (*at, name.decode(errors="replace") if isinstance(name, bytes) else "")
        if children := int_of(element, 5):
            yield from _leaves(elements, children, path)
        else:
            yield ParquetColumn(path, _PHYSICAL[int_of(element, 1)], _annotation(element))


def _annotation(element: dict[int, Value]) -> str:
    logical = element.get(10)
    if isinstance(logical, dict) and logical:
        number, details = next(iter(logical.items()))
        name = _LOGICAL.get(number, f"logical type {number}")
        details = details if isinstance(details, dict) else {}
        if name == "DECIMAL":
            return f"DECIMAL({int_of(details, 2)},{int_of(details, 1)})"
        if name == "INTEGER":
            return f"{'INT' if details.get(2) is True else 'UINT'}_{int_of(details, 1)}"
        if name in {"TIME", "TIMESTAMP"}:
            unit = details.get(2)
            return f"{name}({_UNITS.get(next(iter(unit), 0), '?') if isinstance(unit, dict) else '?'})"
        return name
    if 6 not in element:
        return ""
    number = int_of(element, 6)
    name = _CONVERTED[number] if number < len(_CONVERTED) else f"converted type {number}"
    return f"DECIMAL({int_of(element, 8)},{int_of(element, 7)})" if name == "DECIMAL" else name


class _Reader:
    """Thrift's compact protocol, as far as footers use it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def schema(self) -> list[dict[int, Value]]:
        """Return the elements of the schema, the second field of `FileMetaData`."""
        field = 0
        while (head := self._byte()) & 0x0F:
            field = field + (head >> 4) if head >> 4 else self._number()
            value = self._value(head & 0x0F, 0)
            if field == 2 and isinstance(value, list):
                return [one for one in value if isinstance(one, dict)]
        raise ValueError("no schema")

    def _value(self, kind: int, depth: int) -> Value:
        if depth > _DEEPEST:
            raise ValueError("too many levels")
        match kind:
            case 1 | 2:
                found: Value = kind == 1
            case 3:
                found = self._byte()
            case 4 | 5 | 6:
                found = self._number()
            case 7 | 8:
                found = self._take(8 if kind == 7 else self._unsigned())
            case 9 | 10:
                found = self._list(depth)
            case 12:
                found = self._struct(depth)
            case _:
                raise ValueError("a type that footers have not")
        return found

    def _list(self, depth: int) -> list[Value]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        if size > len(self._data):
            raise ValueError("more elements than bytes")
        # A boolean in a list is a byte.
        kind = 3 if head & 0x0F in {1, 2} else head & 0x0F
        return [self._value(kind, depth + 1) for _ in range(size)]

    def _struct(self, depth: int) -> dict[int, Value]:
        found: dict[int, Value] = {}
        field = 0
        while (head := self._byte()) & 0x0F:
            field = field + (head >> 4) if head >> 4 else self._number()
            found[field] = self._value(head & 0x0F, depth + 1)
        return found

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise ValueError("cut off")
        self._at += count
        return self._data[self._at - count : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value
            if shift > 63:
                raise ValueError("a number without end")

    def _number(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
