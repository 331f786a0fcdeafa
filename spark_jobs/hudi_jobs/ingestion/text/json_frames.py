"""Turns frames of JSON texts into columns, declared or inferred as by Spark, or into bad rows with their fault.

A part without a value in any text has no type: `NullType`, or a struct without fields. Spark would make it a text.
"""

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, NO_COLUMN
from hudi_jobs.ingestion.text.text_values import FAULT_OF_ROW, ROW, TEXT, inference_options, is_set, read
from hudi_jobs.schemas.columns import require_distinct
from hudi_jobs.schemas.untyped import has_untyped, is_untyped
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes, query_execution, scala_map
from hudi_jobs.spark.session import java_class

_PARSED = "_parsed"


def with_columns(
    texts: DataFrame,
    value: Column,
    schema: StructType,
    options: Mapping[str, str],
    *,
    corrupt: Column,
    kept: Sequence[str] = (),
) -> DataFrame:
    """Return the `kept` columns of a frame, the columns of its values, and the bad rows.

    Null has no value and no fault. `corrupt` is the text of a bad row; for whole files it is the part of the file.
    """
    fields = [one for one in schema.fields if one.name not in {CORRUPT_RECORD, FAULT}]
    # A frame without any column has no rows.
    fields = fields or [StructField(NO_COLUMN, StringType())]
    parsed = read(texts.sparkSession, value, StructType(fields), options)
    if is_set(options, "multiline"):
        parsed, corrupt = sf.explode(parsed), sf.col(_PARSED)[TEXT]
    # A step of its own: Spark would parse a text again for each column that uses it.
    frame = texts.select(*texts.columns, parsed.alias(_PARSED))
    fault = sf.col(_PARSED)[FAULT_OF_ROW]
    return frame.select(
        *kept,
        *(sf.col(_PARSED)[ROW][one.name].alias(one.name) for one in fields),
        sf.when(fault.isNotNull(), corrupt).alias(CORRUPT_RECORD),
        fault.alias(FAULT),
    )


_WIDEST = 5_000


def columns_of(texts: DataFrame, options: Mapping[str, str], where: str = "The messages or the table") -> StructType:
    """Return the columns of JSON texts, the frame's only column; `options` are those of Spark's reader.

    All texts are read, whatever `samplingRatio` says: a field that the sample lacks would vanish.
    """
    found = _narrow(_distinct(_inferred(texts, options), where))
    if not has_untyped(found):
        return found
    texts_too = _distinct(_inferred(texts, options, takes_empty_texts=True), where)
    filled = _with_texts(found, texts_too)
    assert isinstance(filled, StructType), "a row stays a row"
    return filled


def _inferred(texts: DataFrame, options: Mapping[str, str], *, takes_empty_texts: bool = False) -> StructType:
    """Return the columns of texts; a text that is no JSON gives none.

    An empty text counts as a value of whichever type the other values have, as in Spark, or as a text.
    """
    spark = texts.sparkSession
    given = scala_map(spark, {**inference_options(options), "columnnameofcorruptrecord": CORRUPT_RECORD})
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    parsed = classes(spark).org.apache.spark.sql.catalyst.json.JSONOptions(given, zone, CORRUPT_RECORD)
    inference = java_class(spark, "json.JsonColumns")(parsed, takes_empty_texts)
    found = StructType.fromJson(json.loads(inference.of(query_execution(texts).toRdd())))
    return StructType([field for field in found.fields if field.name not in {CORRUPT_RECORD, ""}])


def _with_texts(found: DataType, texts_too: DataType) -> DataType:
    """Return a type in which parts with only empty texts are texts."""
    if isinstance(found, StructType) and isinstance(texts_too, StructType):
        pairs = zip(found.fields, texts_too.fields, strict=True)
        return StructType([StructField(one.name, _with_texts(one.dataType, other.dataType)) for one, other in pairs])
    if isinstance(found, ArrayType) and isinstance(texts_too, ArrayType):
        return ArrayType(_with_texts(found.elementType, texts_too.elementType))
    return texts_too if is_untyped(found) else found


def _distinct(found: StructType, where: str) -> StructType:
    """Return columns without repetitions, for texts that name a field twice."""
    fields = {field.name: _distinct_within(field.dataType, where) for field in found.fields if field.name}
    require_distinct(fields, where)
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def _distinct_within(kind: DataType, where: str) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_distinct_within(kind.elementType, where))
    return _distinct(kind, where) if isinstance(kind, StructType) else kind


def _narrow(found: StructType) -> StructType:
    """Return the columns unless there are too many: field names that are values, such as ids, would grow each day."""
    if _parts(found) > _WIDEST:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The values of one batch have more than {_WIDEST:,} fields, including nested ones, and each would become "
            "a column; declare the columns, and a MAP where field names are values.",
        )
    return found


def _parts(kind: DataType) -> int:
    if isinstance(kind, StructType):
        return sum(1 + _parts(field.dataType) for field in kind.fields)
    return _parts(kind.elementType) if isinstance(kind, ArrayType) else 0
