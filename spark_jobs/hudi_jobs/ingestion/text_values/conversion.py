"""Converts columns of texts to values of a plain type."""

from collections.abc import Mapping

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from hudi_jobs.java_classes import java_class
from hudi_jobs.jvm import called_with, java_map

UTC = "UTC"

_VALUE, _FAULT = "value", "fault"
_TYPES = (
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)


def can_be_text(kind: DataType) -> bool:
    """Tell whether texts can write values of a type: `text_value` and `text_fault` take no other type."""
    return type(kind) in _TYPES


def text_value(spark: SparkSession, text: Column, kind: DataType, options: Mapping[str, str] | None = None) -> Column:
    """Return the value that a text writes, or null if the text is null or no value of this type.

    The options are those of `TextValues.java`, such as `dateformat`. A time without a zone is in UTC, unless `timezone`
    names another zone.
    """
    return _read(spark, text, kind, options)[_VALUE]


def text_fault(spark: SparkSession, text: Column, kind: DataType, options: Mapping[str, str] | None = None) -> Column:
    """Return why a text is no value of a type, as a clause after the name of its column, or null if it is.

    The clause never quotes the text: it goes into the status.
    """
    return _read(spark, text, kind, options)[_FAULT]


def _read(spark: SparkSession, text: Column, kind: DataType, options: Mapping[str, str] | None) -> Column:
    given = java_map(spark, {"timezone": UTC, **(options or {})})
    target = java_class(spark, "text.TextColumn")(kind.json(), given)
    result = StructType([StructField(_VALUE, kind), StructField(_FAULT, StringType())])
    return called_with(spark, target, text, result)
