"""Values that are JSON objects, by declared columns or by inference over the values of the batch.

A value that is no object, such as `1`, `[]` or `null`, is a corrupt record: it has no columns.
"""

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StringType, StructField, StructType, TimestampType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import KafkaSource
from hudi_jobs.ingestion.json_bounds import in_our_time, options_of, without_endless
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.schemas.ddl import declared_columns
from hudi_jobs.ingestion.sources.kafka.formats.inference import inferred_columns
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    corrupt_text,
    field,
    require_unreserved,
)

_ROOT = "value"
_PARSED, _ROW = "_parsed", "_row"


def require(_source: KafkaSource) -> None:
    """Accept every request: declared columns are parsed, and refused, once there is a JVM."""


def decode(context: TaskContext, source: KafkaSource, messages: DataFrame) -> Decoded:
    """Parse the values; without declared columns an extra pass infers them from all values of the batch."""
    value = field("value")
    # The bytes as they are, for a string of Spark: nothing is copied, and nothing is replaced that is no UTF-8.
    text = value.cast("string")
    schema = declared_columns(context.spark, source.value.schema_ddl)
    bounds = options_of(inferred=schema is None)
    if schema is None:
        texts = messages.select(_decoded(value).alias(_ROOT)).where(_looks_like_an_object(text))
        schema = inferred_columns(context, texts, [name for name in source.columns.model_dump().values() if name])
    fields = [one for one in schema.fields if one.name != CORRUPT_RECORD] or [StructField(NO_COLUMN, StringType())]
    require_unreserved(one.name for one in fields)
    # As the only element of an array: Spark takes what follows the first value of a text for nothing.
    root = StructType([StructField(_ROOT, ArrayType(StructType(fields))), StructField(CORRUPT_RECORD, StringType())])
    wrapped = sf.concat(sf.lit(f'{{"{_ROOT}":['), without_endless(text, schema), sf.lit("]}"))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_RECORD, **bounds}
    frame = messages.select(MESSAGE, sf.from_json(wrapped, root, options).alias(_PARSED))
    objects = sf.col(_PARSED)[_ROOT]
    # An index of its own ends the run with `spark.sql.ansi.enabled` where there is no element.
    first = sf.get(objects, sf.lit(0))
    whole = (sf.size(objects) == 1) & first.isNotNull() & sf.col(_PARSED)[CORRUPT_RECORD].isNull()
    times = [in_our_time(first[one.name]) for one in fields if isinstance(one.dataType, TimestampType)]
    whole = reduce(and_, times, whole)
    good = _looks_like_an_object(text) & (_decoded(value) == text) & whole.eqNullSafe(~never())
    # A column of its own: in the condition of each column it made Spark's planning the larger part of a small batch.
    frame = frame.select(MESSAGE, sf.when(good, first).alias(_ROW))
    columns = [sf.col(_ROW)[one.name].alias(one.name) for one in fields]
    corrupt = sf.when(value.isNotNull() & sf.col(_ROW).isNull(), corrupt_text(value)).alias(CORRUPT_RECORD)
    return Decoded(frame.select(MESSAGE, *columns, corrupt))


def _decoded(value: Column) -> Column:
    """Return a value as text in which something else stands for what is no UTF-8."""
    return sf.decode(value, "UTF-8")


def _looks_like_an_object(text: Column) -> Column:
    """Tell whether a text begins like an object; the pattern is only asked where white space comes first."""
    return text.startswith("{") | text.rlike(r"^[ \t\r\n]*\{")
