"""What a text of JSON may not do to whoever reads it: be nested without end, or be a number with digits without end."""

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

MOST_LEVELS = 50
"""Objects and arrays inside of each other, where columns are made of them: of a hundred levels the JVM dies."""

_ENDLESS = r"[:\[,]\s*+-?[0-9]++(?:\.[0-9]++)?[eE][+-]?0*+[0-9]{4,}+\s*+[,}\]]"
"""A number with an exponent of four digits or more: of one with seven Spark makes a decimal for half a minute."""

_FIRST, _LAST = -62_167_219_200_000_000, 253_433_923_200_000_000
"""Microseconds of the years 0 and 10,001. Spark takes a number for seconds, without a look at whether they fit."""


def options_of(*, inferred: bool) -> dict[str, str]:
    """Return options of Spark's reader of JSON: where columns are made of what the texts hold, levels are bounded."""
    return {"maxNestingDepth": str(MOST_LEVELS)} if inferred else {}


def without_endless(text: Column, kind: DataType) -> Column:
    """Return texts to read as a type; one with a number that is none of its decimals is null."""
    return sf.when(~text.rlike(_ENDLESS), text) if _has_decimals(kind) else text


def in_our_time(column: Column) -> Column:
    """Tell whether a time is null, or within the years that calendars have: milliseconds taken for seconds are not."""
    return sf.coalesce(sf.unix_micros(column).between(_FIRST, _LAST), sf.lit(True))  # noqa: FBT003


def _has_decimals(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_decimals(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_decimals(kind.elementType)
    if isinstance(kind, MapType):
        return _has_decimals(kind.valueType)
    return isinstance(kind, DecimalType)
