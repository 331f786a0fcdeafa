"""Finds the columns that Hudi cannot read in files with the old lists of Parquet's Avro writer.

A list of two levels with elements that are structs with one field looks like the wrapper that newer files have around
each element (`AvroRecordConverter.isElementType`, apache/hudi#19782). Spark and hudi-rs read it; updates of its file
fail.
"""

from collections.abc import Iterator
from typing import TypeAlias

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

LeafPath: TypeAlias = tuple[str, ...]
"""The names from the root of a Parquet file to a leaf."""

_ELEMENT = ("array",)
_VALUE, _KEY = ("key_value", "value"), ("key_value", "key")


def lists_of_one_field(schema: StructType) -> Iterator[tuple[str, LeafPath]]:
    """Yield each array of structs with one field, by its name, with a leaf that only a file with old lists has."""
    for one in schema.fields:
        yield from _found(one.dataType, one.name, (one.name,))


def _found(kind: DataType, at: str, path: LeafPath) -> Iterator[tuple[str, LeafPath]]:
    match kind:
        case StructType():
            for one in kind.fields:
                yield from _found(one.dataType, f"{at}.{one.name}", (*path, one.name))
        case ArrayType():
            if isinstance(kind.elementType, StructType) and len(kind.elementType.fields) == 1:
                yield at, _leaf(kind, path)
            yield from _found(kind.elementType, f"{at}.element", (*path, *_ELEMENT))
        case MapType():
            yield from _found(kind.valueType, f"{at}.value", (*path, *_VALUE))
        case _:
            return


def _leaf(kind: DataType, path: LeafPath) -> LeafPath:
    match kind:
        case StructType() if kind.fields:
            return _leaf(kind.fields[0].dataType, (*path, kind.fields[0].name))
        case ArrayType():
            return _leaf(kind.elementType, (*path, *_ELEMENT))
        case MapType():
            return (*path, *_KEY)
        case _:
            return path
