"""Raw values: a binary column `value`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.ingestion.rows import CORRUPT_RECORD
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, Decoded, field
from hudi_jobs.spark.failures import TaskFailed

VALUE = "value"


def require(source: KafkaSource) -> None:
    """Raise `TaskFailed` if columns are declared; a raw value has none."""
    if source.value.schema_ddl is not None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "Raw values are not parsed, so they have no schema; remove the schema, or use the format Json.",
        )


def decode(_context: TaskContext, _source: KafkaSource, messages: DataFrame) -> Decoded:
    """Return the value as a column; it is never corrupt."""
    nothing = sf.lit(None).cast("string").alias(CORRUPT_RECORD)
    return Decoded(messages.select(MESSAGE, field("value").alias(VALUE), nothing))
