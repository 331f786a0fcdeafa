"""Converts columns of texts, and the columns of JSON texts, to values; for files and messages alike."""

from collections.abc import Mapping

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from hudi_jobs.contract import FailureReason
from hudi_jobs.spark.failures import TaskFailed, causes_of
from hudi_jobs.spark.jvm import called_with, java_map
from hudi_jobs.spark.session import java_class

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


MOST_LEVELS = 50
"""The most nested objects and arrays that become columns: a hundred levels kill the JVM."""

ROW, FAULT_OF_ROW, TEXT = "row", "fault", "text"
"""Fields of what `read` returns."""

_FAULT_TYPE = StructType([StructField("column", StringType()), StructField("cause", StringType())])


def inference_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's inference: all texts, and only those that are JSON."""
    strict = {"allowsinglequotes": "false", "allownonnumericnumbers": "false"}
    return {**strict, **options, "samplingratio": "1.0", "maxnestingdepth": str(MOST_LEVELS)}


def read(spark: SparkSession, bytes_of_text: Column, schema: StructType, options: Mapping[str, str]) -> Column:
    """Return the content of bytes: a struct of `ROW` and `FAULT_OF_ROW`, one of which is null.

    With the option `multiline` the result is an array of these structs, with `TEXT` too. The names of options are those
    of Spark's reader in small letters; `inferred` says that Spark, and not the user, has chosen the columns.
    """
    require_readable(schema, inferred=is_set(options, "inferred"))
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    # A text that was too deep for the inference has fields without a column.
    levels = {"maxnestingdepth": str(MOST_LEVELS)} if is_set(options, "inferred") else {}
    given = java_map(spark, {"timezone": zone, **options, **levels})
    target = java_class(spark, "json.JsonRows")(schema.json(), given)
    try:
        target.open()
    except Exception as error:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The options of the source cannot be used to read JSON: {causes_of(error)[-1].first_line}",
        ) from error
    result = StructType([StructField(ROW, schema), StructField(FAULT_OF_ROW, _FAULT_TYPE)])
    whole = ArrayType(StructType([*result.fields, StructField(TEXT, StringType())]))
    return called_with(spark, target, bytes_of_text, whole if is_set(options, "multiline") else result)


def is_set(options: Mapping[str, str], name: str) -> bool:
    """Tell whether an option is true."""
    return options.get(name, "").lower() == "true"


def require_readable(schema: StructType, at: str = "", *, inferred: bool = False) -> None:
    """Raise `TaskFailed` for a type without values in JSON; inferred columns may have such types."""
    for field in schema.fields:
        _require_type(field.dataType, f"{at}{field.name}", inferred=inferred)


def _require_type(kind: DataType, name: str, *, inferred: bool) -> None:
    if isinstance(kind, StructType):
        require_readable(kind, f"{name}.", inferred=inferred)
    elif isinstance(kind, ArrayType):
        _require_type(kind.elementType, name, inferred=inferred)
    elif isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        _require_type(kind.valueType, name, inferred=inferred)
    elif not isinstance(kind, BinaryType) and not can_be_text(kind) and not (inferred and isinstance(kind, NullType)):
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"The column {name} is declared as {kind.simpleString()}, and JSON has no value of that type; declare "
            "another type, such as STRING, and convert it in the transform.",
        )
