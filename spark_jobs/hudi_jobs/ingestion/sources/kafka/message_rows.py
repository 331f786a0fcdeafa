"""Builds a source's rows from offsets: the bounded read, the value's columns and the message's columns.

Spark's source converts every message's time to a timestamp, even if unused, and fails the whole batch on an overflow,
as with nanoseconds in place of milliseconds. Producers may send any number.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    IngestionTableTask,
    KafkaSource,
    MessageFormat,
    TableDefinition,
    Tombstones,
)
from hudi_jobs.ingestion.rows import (
    BASE64,
    CORRUPT_RECORD,
    FAULT,
    IS_DELETED,
    NO_CONTENT,
    SEQUENCE,
    TIME,
    TIME_END,
    TOMBSTONE,
    Origin,
    SourceRows,
    corrupt_text,
    text_of,
)
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.clients import asking, reader_options
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of, unwrapper_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    MESSAGE_TYPE,
    RESERVED,
    Decoded,
    field,
)
from hudi_jobs.ingestion.sources.kafka.offsets import Range
from hudi_jobs.ingestion.text.text_values import ROW, can_be_text, read, text_value
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes, frame_of_rows, scala_map, spark_session, tried_cast
from hudi_jobs.spark.session import java_class

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


_TOMBSTONE = "_tombstone"


def read_rows(
    context: TaskContext[IngestionTableTask], source: KafkaSource, read: Sequence[Range], events: Mapping[str, Any]
) -> SourceRows:
    """Return the rows of the ranges; without ranges, an empty frame with the source's known columns.

    `events` is the envelope's state in the checkpoint.
    """
    with asking("The topics cannot be read"):
        decoded = format_of(source).decode(context, source, messages(context.spark, source, read))
        return _rows(context, source, decoded, events)


def _rows(
    context: TaskContext[IngestionTableTask], source: KafkaSource, decoded: Decoded, events: Mapping[str, Any]
) -> SourceRows:
    again = decoded.as_written
    decoded = replace(_with_times(source, decoded), events=events)
    unwrapper = unwrapper_of(source)
    if unwrapper is not None:
        decoded = unwrapper.unwrap(context, source, decoded)
    require_free_names(source, decoded)
    frame, deletes = decoded.frame, decoded.deletes
    if source.tombstones is Tombstones.DELETE:
        frame, deletes = _with_deletes(context.task.table, decoded), True
    return SourceRows(
        frame=_with_message(source, frame),
        may_be_corrupt=True,
        name=f"the topics of {source.bootstrap_servers}",
        format=f"{source.value.format} messages",
        origin=Origin(MESSAGE, "message", before_base64=BASE64),
        reading=partial(asking, "The topics cannot be read"),
        ordered=True,
        deletes=deletes,
        passed_over=_TOMBSTONE if source.tombstones is Tombstones.SKIP else None,
        events=decoded.events,
        before_commit=decoded.before_commit,
        remark=decoded.remark,
        as_written=None if again is None else partial(_rows_as_written, context, source, again, events),
        guessed=unwrapper is None and source.value.format is MessageFormat.JSON and source.value.columns_ddl is None,
    )


def _rows_as_written(
    context: TaskContext[IngestionTableTask],
    source: KafkaSource,
    again: Callable[[StructType], Decoded],
    events: Mapping[str, Any],
    known: StructType,
) -> SourceRows:
    """Return the rows by their own schemas alone; `known` are the table's columns."""
    unwrapper = unwrapper_of(source)
    with asking("The topics cannot be read"):
        return _rows(context, source, again(known if unwrapper is None else unwrapper.wrapped(known)), events)


def require_free_names(source: KafkaSource, decoded: Decoded) -> None:
    """Raise `TaskFailed` if a value's column has a taken name."""
    wanted = {name.lower() for name in source.columns.model_dump().values() if name is not None}
    reserved = {name.lower() for name in RESERVED | {_TOMBSTONE}}
    for name in decoded.columns:
        if name.lower() in wanted:
            raise TaskFailed(
                FailureReason.INVALID_REQUEST,
                f"The messages have their own column {name}; give the message column another name.",
            )
        if name.lower() in reserved:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE, f"The messages have a column {name}, which the driver uses itself."
            )


def _with_times(source: KafkaSource, decoded: Decoded) -> Decoded:
    """Mark messages with an invalid time as bad, if the time is a column; otherwise the time is not checked."""
    if source.columns.timestamp is None:
        return decoded
    time = sf.concat(sf.lit(TIME), field("timestamp").cast("string"), sf.lit(TIME_END))
    text = sf.concat(time, sf.coalesce(corrupt_text(field("value")), sf.lit(NO_CONTENT)))
    passed_over = field("value").isNull() & sf.lit(source.tombstones is Tombstones.SKIP)
    is_bad = sf.col(CORRUPT_RECORD).isNull() & has_no_calendar() & ~passed_over
    corrupt = sf.when(is_bad, text).otherwise(sf.col(CORRUPT_RECORD))
    return replace(decoded, frame=decoded.frame.withColumn(CORRUPT_RECORD, corrupt))


def _with_message(source: KafkaSource, frame: DataFrame) -> DataFrame:
    """Return the rows with the requested message columns, their position and their order."""
    names = source.columns
    values = {
        names.key: text_of(field("key")),
        names.topic: field("topic"),
        names.partition: field("partition"),
        names.offset: field("offset"),
        names.timestamp: message_time(),
        names.headers: field("headers"),
    }
    own = [column_named(name) for name in frame.columns if name not in {MESSAGE, CORRUPT_RECORD}]
    added = [value.alias(name) for name, value in values.items() if name is not None]
    if source.tombstones is Tombstones.SKIP:
        added.append(field("value").isNull().alias(_TOMBSTONE))
    place = sf.concat_ws("-", field("topic"), field("partition").cast("string"))
    return frame.select(
        *own,
        *added,
        sf.col(CORRUPT_RECORD),
        sf.concat_ws(":", place, field("offset").cast("string")).alias(MESSAGE),
        sf.struct(field("topic"), field("partition"), field("offset")).alias(SEQUENCE),
    )


def _with_deletes(table: TableDefinition, decoded: Decoded) -> DataFrame:
    """Return the rows with tombstones as deletes: tombstones with a key that names a record key and partition."""
    own = {one.name: one.dataType for one in decoded.frame.schema.fields if one.name not in RESERVED}
    wanted = [name for name in (*table.record_key, *table.partition_by) if name in own]
    gone = field("value").isNull()
    columns: list[Column] = []
    parsed = _parsed_key(decoded.frame.sparkSession, {name: own[name] for name in wanted})
    for name in own:
        value = column_named(name)
        columns.append((sf.when(gone, parsed[name]).otherwise(value) if name in wanted else value).alias(name))
    unusable = gone & reduce(or_, (parsed[name].isNull() for name in wanted), never())
    key = sf.coalesce(corrupt_text(field("key")), sf.lit(NO_CONTENT))
    corrupt = sf.when(unusable, sf.concat(sf.lit(TOMBSTONE), key))
    return decoded.frame.select(
        MESSAGE,
        *columns,
        sf.coalesce(corrupt, sf.col(CORRUPT_RECORD)).alias(CORRUPT_RECORD),
        *(name for name in decoded.frame.columns if name == FAULT),
        gone.alias(IS_DELETED),
    )


def _parsed_key(spark: SparkSession, types: dict[str, DataType]) -> dict[str, Column]:
    """Return the columns in a key: fields of a JSON object, or a single JSON string or text.

    Serialized numbers, or values with a schema, are not text, and would become another key: a cast drops control
    characters, so the eight bytes of the number 53 would become 5.
    """
    text = sf.decode(field("key"), "UTF-8")
    text = sf.when(sf.encode(text, "UTF-8") == field("key"), text)
    if not types:
        return {}
    is_object = text.rlike(r"^[ \t\r\n]*\{")
    fields = StructType([StructField(name, kind) for name, kind in types.items()])
    parsed = read(spark, sf.when(is_object, field("key")), fields, {})[ROW]
    result = {name: parsed[name] for name in types}
    if len(types) == 1:
        ((name, kind),) = types.items()
        plain = _plain_key(spark, text, kind)
        value = text_value(spark, plain, kind) if can_be_text(kind) else tried_cast(plain, kind)
        result[name] = sf.when(is_object, parsed[name]).otherwise(value)
    return result


def _plain_key(spark: SparkSession, text: Column, kind: DataType) -> Column:
    # In an array: for `"a","b"` the first text would be another record's key.
    quoted = sf.concat(sf.lit('{"v":['), text, sf.lit("]}")).cast("binary")
    is_quoted = text.rlike(r'^".*"$')
    texts = StructType([StructField("v", ArrayType(StringType()))])
    found = read(spark, sf.when(is_quoted, quoted), texts, {})[ROW]["v"]
    binary = r"\x00" if isinstance(kind, StringType) else r"[\x00-\x1f\x7f]"
    return sf.when(is_quoted, sf.when(sf.size(found) == 1, sf.get(found, sf.lit(0)))).when(~text.rlike(binary), text)
