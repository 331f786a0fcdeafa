"""The bounded read: messages of offset ranges, fetched by Spark's own readers into our rows.

Spark's source converts every message's time to a timestamp, even if unused, and fails the whole batch on an overflow,
as with nanoseconds in place of milliseconds. Producers may send any number.
"""

import uuid
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.contract import KafkaSource
from hudi_jobs.ingestion.sources.kafka.clients.options import reader_options
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, MESSAGE_TYPE, field
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import Range
from hudi_jobs.java_classes import java_class
from hudi_jobs.jvm import classes, frame_of_rows, scala_map, spark_session

LAST_TIME = 253_402_300_799_999
"""The last millisecond of the year 9999. Later times are mistakes, such as microseconds in place of milliseconds."""

_POLL_MILLISECONDS = 20_000
_FAIL_ON_LOSS = True


def messages(spark: SparkSession, source: KafkaSource, read: Sequence[Range]) -> DataFrame:
    """Return the messages of the ranges as the only column `MESSAGE`."""
    if not read:
        return spark.createDataFrame([], f"{MESSAGE}: {MESSAGE_TYPE}")
    jvm = classes(spark)
    converter = java_class(spark, "kafka.MessageRows")()
    # One call for all ranges: there may be thousands.
    lines = "\n".join(f"{one.place.topic} {one.place.partition} {one.start} {one.until}" for one in read)
    ranges = jvm.PythonUtils.toSeq(converter.ranges(lines))
    kafka = jvm.org.apache.spark.sql.kafka010
    provider = getattr(getattr(kafka, "KafkaSourceProvider$"), "MODULE$")
    group = f"spark-kafka-relation-{uuid.uuid4()}"
    told = provider.kafkaParamsForExecutors(scala_map(spark, reader_options(source)), group)
    context = spark_session(spark).sparkContext()
    records = kafka.KafkaSourceRDD(context, told, ranges, _POLL_MILLISECONDS, _FAIL_ON_LOSS)
    rows = records.toJavaRDD().map(converter)
    frame = frame_of_rows(spark, rows, MESSAGE_TYPE)
    return frame.select(sf.struct(*map(sf.col, frame.columns)).alias(MESSAGE))


def message_time() -> Column:
    """Return a message's time, or null: Kafka writes -1 without a time, and knows no time before 1970."""
    milliseconds = field("timestamp")
    return sf.when(milliseconds.between(0, LAST_TIME), sf.timestamp_millis(milliseconds))


def has_no_calendar() -> Column:
    """Tell whether a message's time is beyond the calendar."""
    return field("timestamp") > LAST_TIME
