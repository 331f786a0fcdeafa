"""The column that marks rows whose values their columns cannot hold, and the check that every text is UTF-8.

Readers of CSV and JSON find bytes that are no text. Parquet, ORC, Avro and a cast of bytes in a transform pass them on:
Hudi then makes the same record key of different bytes (`new String` puts U+FFFD in their place), and readers by Arrow
refuse the file.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from hudi_jobs.schemas.types import column_named, has_type

UNFIT = "unfit row"
"""Column with the fault of a row that does not fit: a struct of `column`, `cause` and `record`, else null.

No column of a table has this name, because Avro allows no blanks in names.
"""

_FAULT_TYPE = "struct<column:string,cause:string,record:string>"
_NO_TEXT = (
    "holds bytes that are no UTF-8; convert them in the transform, as with decode(CAST(a AS BINARY), 'ISO-8859-1')"
)
_BASE64 = "base64:"


@dataclass(frozen=True)
class RowFault:
    """A column, why it cannot hold some values as a clause, and the condition of rows with these values."""

    column: str
    cause: str
    is_bad: Column


def fault_of(faults: Sequence[RowFault], record: Column) -> Column:
    """Return the first fault of a row as `UNFIT`, with the text of the row; null for a row without faults."""
    if not faults:
        return sf.lit(None).cast(_FAULT_TYPE).alias(UNFIT)
    # Only bad rows pay for what names their fault.
    column, cause = (
        sf.coalesce(*(sf.when(one.is_bad, sf.lit(text)) for one, text in zip(faults, texts, strict=True)))
        for texts in zip(*((one.column, one.cause) for one in faults), strict=True)
    )
    found = sf.struct(column.alias("column"), cause.alias("cause"), record.alias("record"))
    is_bad = reduce(or_, (_known(one.is_bad) for one in faults))
    return sf.when(is_bad, found).cast(_FAULT_TYPE).alias(UNFIT)


def record_of(names: Collection[str], schema: StructType) -> Column:
    """Return the columns of a row as JSON; a text that is no UTF-8 is in base64."""
    values = (
        _shown(column_named(name)).alias(name) if isinstance(schema[name].dataType, StringType) else column_named(name)
        for name in names
    )
    return sf.to_json(sf.struct(*values))


def _shown(value: Column) -> Column:
    return sf.when(_is_text(value), value).otherwise(sf.concat(sf.lit(_BASE64), sf.base64(value.cast("binary"))))


def with_checked_texts(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """Return the rows with `UNFIT`, which also marks rows with a text that is no UTF-8 in one of these columns."""
    schema = frame.schema
    faults = [
        RowFault(name, _NO_TEXT, _without_text(column_named(name), schema[name].dataType))
        for name in names
        if _has_text(schema[name].dataType)
    ]
    if not faults:
        return frame
    found = fault_of(faults, record_of(names, schema))
    known = [sf.col(UNFIT)] if UNFIT in frame.columns else []
    return frame.withColumn(UNFIT, sf.coalesce(*known, found))


def _without_text(value: Column, kind: DataType) -> Column:
    """Return whether a value has a part that is a text and no UTF-8; null parts are none."""
    if isinstance(kind, StringType):
        return _known(~_is_text(value))
    if isinstance(kind, ArrayType):
        return _known(sf.exists(value, lambda one: _without_text(one, kind.elementType)))
    if isinstance(kind, MapType):
        parts = ((sf.map_keys, kind.keyType), (sf.map_values, kind.valueType))
        return reduce(or_, (_without_text(made(value), ArrayType(part)) for made, part in parts if _has_text(part)))
    assert isinstance(kind, StructType), "a type with texts"
    return reduce(or_, (_without_text(value[one.name], one.dataType) for one in kind.fields if _has_text(one.dataType)))


def _has_text(kind: DataType) -> bool:
    return has_type(kind, StringType)


def _is_text(value: Column) -> Column:
    # The JVM's own text has U+FFFD in the place of other bytes, and gives them back as its three bytes.
    return sf.encode(value, "UTF-8") == value.cast("binary")


def _known(condition: Column) -> Column:
    return sf.coalesce(condition, sf.expr("false"))


def is_unfit(frame: DataFrame) -> Column:
    """Return whether a row does not fit its columns."""
    return sf.col(UNFIT).isNotNull() if UNFIT in frame.columns else sf.expr("false")
