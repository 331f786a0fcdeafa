"""JSON object values, by declared columns or by inference over the batch.

A value that is no object, such as `1`, `[]` or `null`, is a corrupt record: it has no columns.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import IngestionTableTask, KafkaSource
from hudi_jobs.ingestion.json_text.frames import with_columns
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.rules.record_text import corrupt_text
from hudi_jobs.ingestion.sources.kafka.formats.inference import inferred_columns
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    field,
    require_unreserved,
)
from hudi_jobs.schemas.ddl import declared_columns


def require(_source: KafkaSource) -> None:
    """Accept every request: declared columns are parsed, and refused, once a JVM exists."""


def decode(context: TaskContext[IngestionTableTask], source: KafkaSource, messages: DataFrame) -> Decoded:
    """Parse the values; without declared columns an extra pass infers them from all values of the batch."""
    value = field("value")
    schema = declared_columns(context.spark, source.value.schema_ddl)
    options = {"inferred": "true"} if schema is None else {}
    if schema is None:
        text = sf.decode(value, "UTF-8")
        texts = messages.select(text.alias("value")).where(_looks_like_an_object(value.cast("string")))
        schema = inferred_columns(context, texts, [name for name in source.columns.model_dump().values() if name])
    require_unreserved(one.name for one in schema.fields if one.name != CORRUPT_RECORD)
    return Decoded(with_columns(messages, value, schema, options, corrupt=corrupt_text(value), kept=[MESSAGE]))


def _looks_like_an_object(text: Column) -> Column:
    """Tell whether a text begins like an object; the pattern is tried only after leading white space."""
    return text.startswith("{") | text.rlike(r"^[ \t\r\n]*\{")
