"""Values that are JSON objects, by declared columns or by inference over the values of the batch.

A value that is no object, such as `1`, `[]` or `null`, is a corrupt record: it has no columns.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import KafkaSource
from hudi_jobs.ingestion.ddl import declared_columns
from hudi_jobs.ingestion.partitions import never
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    corrupt_text,
    field,
    require_unreserved,
)
from hudi_jobs.jvm import inferred_json

_ROOT = "value"
_PARSED = "_parsed"


def require(_source: KafkaSource) -> None:
    """Accept every request: declared columns are parsed, and refused, once there is a JVM."""


def decode(context: TaskContext, source: KafkaSource, messages: DataFrame) -> Decoded:
    """Parse the values; without declared columns an extra pass infers them from all values of the batch."""
    value = field("value")
    text = sf.decode(value, "UTF-8")
    schema = declared_columns(context.spark, source.value.schema_ddl)
    if schema is None:
        schema = inferred_json(messages.select(text.alias(_ROOT)).where(_looks_like_an_object(text)))
    fields = [one for one in schema.fields if one.name != CORRUPT_RECORD] or [StructField(NO_COLUMN, StringType())]
    require_unreserved(one.name for one in fields)
    # As the only element of an array: Spark takes what follows the first value of a text for nothing.
    root = StructType([StructField(_ROOT, ArrayType(StructType(fields))), StructField(CORRUPT_RECORD, StringType())])
    wrapped = sf.concat(sf.lit(f'{{"{_ROOT}":['), text, sf.lit("]}"))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_RECORD}
    frame = messages.select(MESSAGE, sf.from_json(wrapped, root, options).alias(_PARSED))
    objects = sf.col(_PARSED)[_ROOT]
    # An index of its own ends the run with `spark.sql.ansi.enabled` where there is no element.
    first = sf.get(objects, sf.lit(0))
    whole = (sf.size(objects) == 1) & first.isNotNull() & sf.col(_PARSED)[CORRUPT_RECORD].isNull()
    good = _looks_like_an_object(text) & (sf.encode(text, "UTF-8") == value) & whole.eqNullSafe(~never())
    columns = [sf.when(good, first[one.name]).alias(one.name) for one in fields]
    corrupt = sf.when(value.isNotNull() & ~good, corrupt_text(value)).alias(CORRUPT_RECORD)
    return Decoded(frame.select(MESSAGE, *columns, corrupt))


def _looks_like_an_object(text: Column) -> Column:
    return text.rlike(r"^[ \t\r\n]*\{")
