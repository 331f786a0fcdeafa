"""Turns frames of JSON texts into columns of values, or into the text and the fault of a bad row."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.ingestion.json_text.strict_reader import FAULT_OF_ROW, ROW, TEXT, is_set, read
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, NO_COLUMN

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
