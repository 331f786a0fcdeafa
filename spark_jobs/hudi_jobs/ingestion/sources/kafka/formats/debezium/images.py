"""Extracts rows from change events: selects the events, and the columns of their rows."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DateType, DecimalType, StringType, StructType, TimestampType

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, IS_DELETED, NO_COLUMN, corrupt_text
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.connect import VARIABLE_DECIMAL, decimal_text
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import (
    AFTER,
    BEFORE,
    CREATE,
    DELETE,
    IGNORED,
    MESSAGE_OPERATION,
    MYSQL,
    OPERATION,
    PROCESSED_AT,
    READ,
    SEQUENCE_TEXT,
    SOURCE,
    UPDATE,
    Database,
    sequence_text,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unavailable import MISSING
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import (
    HOLDER,
    MOVED,
    SURE,
    holder_of,
    is_sure,
    lacks_key,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.origins import (
    SNAPSHOT,
    TABLE,
    is_snapshot,
    table_of,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, RESERVED, field
from hudi_jobs.ingestion.sources.kafka.formats.shapes import merged, shaped
from hudi_jobs.ingestion.text.text_values import text_value
from hudi_jobs.schemas.columns import require_distinct
from hudi_jobs.schemas.types import column_named, fits, same
from hudi_jobs.spark.failures import TaskFailed

_WRITTEN = (CREATE, READ, UPDATE)
_TRANSACTION = ("BEGIN", "END")
_SCHEMA_CHANGE = ("ddl", "tableChanges")
_FROM_TEXT = (TimestampType, DateType, DecimalType)
KIND = "_debezium_operation"
_ROW, _GOOD, _UNSURE = "_row", "_debezium_good", "_debezium_unsure"


def only_events(frame: DataFrame) -> DataFrame:
    """Drop tombstones, which follow their deletes, and messages that Debezium sends beside events."""
    present = set(frame.columns)
    with_value = frame.where(field("value").isNotNull())
    if IGNORED in present:
        return with_value.where(~sf.col(IGNORED)).drop(IGNORED)
    fields = [name for name in frame.columns if name not in {MESSAGE, CORRUPT_RECORD, FAULT}]
    # A heartbeat has only its time, a transaction a status, and a schema change its statement.
    beside = [reduce(and_, (column_named(name).isNull() for name in fields if name != PROCESSED_AT), ~never())]
    if "status" in present:
        beside.append(sf.col("status").cast("string").isin(*_TRANSACTION))
    if SOURCE in present:
        beside += [sf.col(SOURCE).isNotNull() & sf.col(name).isNotNull() for name in _SCHEMA_CHANGE if name in present]
    is_event = sf.col(OPERATION).isNotNull() if OPERATION in present else never()
    ignored = ~is_event & sf.col(CORRUPT_RECORD).isNull() & reduce(or_, beside)
    return with_value.where(~sf.coalesce(ignored, never()))


def without_columns(frame: DataFrame) -> DataFrame:
    """Return all messages as corrupt, because none was an event."""
    value = field("value")
    nothing = sf.lit(None).cast("string").alias(NO_COLUMN)
    return frame.select(MESSAGE, nothing, corrupt_text(value).alias(CORRUPT_RECORD))


def rows_of(frame: DataFrame, database: Database, keys: Sequence[str], declared: StructType | None) -> DataFrame:
    """Return the rows' columns, the added columns, and marks for deletes and corrupt events."""
    before, after, origin = (struct_of(frame, name) for name in (BEFORE, AFTER, SOURCE))
    image = merged(after, before)
    _require_free(image, database)
    deleted = sf.col(OPERATION) == DELETE
    row = sf.when(deleted, shaped(sf.col(BEFORE), before, image)).otherwise(shaped(sf.col(AFTER), after, image))
    frame = frame.where(~sf.coalesce(sf.col(OPERATION) == MESSAGE_OPERATION, never()))
    frame = frame.select(
        MESSAGE,
        CORRUPT_RECORD,
        *(name for name in frame.columns if name == FAULT),
        sf.col(OPERATION).alias(KIND),
        row.alias(_ROW),
        *database.added(origin),
        (deleted & lacks_key(sf.col(BEFORE), before, keys)).alias(_UNSURE),
        MOVED,
        table_of(origin, keys).alias(TABLE),
        is_snapshot(origin).alias(SNAPSHOT),
    )
    if database is MYSQL:
        frame = frame.withColumn(SEQUENCE_TEXT, sequence_text())
    spark = frame.sparkSession
    own = {one.name: _own(spark, one.name, one.dataType, _type_of(declared, one.name)) for one in image.fields}
    failed = {name: sf.col(_ROW)[name].isNotNull() & column.isNull() for name, (column, fails) in own.items() if fails}
    placed = [column_named(name).isNotNull() for name in database.ordering]
    good = sf.col(KIND).isin(*_WRITTEN, DELETE) & sf.col(_ROW).isNotNull() & sf.col(CORRUPT_RECORD).isNull()
    good = sf.coalesce(reduce(and_, placed, good) & ~reduce(or_, failed.values(), sf.col(_UNSURE)), never())
    frame = frame.withColumn(_GOOD, good)
    good = sf.col(_GOOD)
    added = [*database.names, *([SEQUENCE_TEXT] if database is MYSQL else [])]
    columns = {**{name: column_named(name) for name in added}, **{name: column for name, (column, _) in own.items()}}
    kept = [sf.when(good, column).alias(name) for name, column in columns.items()]
    corrupt = sf.when(~good, sf.coalesce(sf.col(CORRUPT_RECORD), corrupt_text(field("value")))).alias(CORRUPT_RECORD)
    is_deleted = (good & (sf.col(KIND) == DELETE)).alias(IS_DELETED)
    known = [sf.col(name) for name in frame.columns if name == FAULT]
    faults = [
        sf.when(~good, sf.coalesce(one, *map(_unconverted, failed, failed.values()))).alias(FAULT) for one in known
    ]
    whose = [holder_of().alias(HOLDER), sf.when(sf.col(KIND) == DELETE, is_sure(keys)).alias(SURE)]
    return frame.select(MESSAGE, *kept, KIND, MOVED, TABLE, SNAPSHOT, *whose, is_deleted, corrupt, *faults)


def _unconverted(name: str, failed: Column) -> Column:
    """Return the fault of a column with a value that is not converted to its type."""
    cause = sf.lit("holds a value that is not of its type")
    return sf.when(failed, sf.struct(sf.lit(name).alias("column"), cause.alias("cause")))


def has_columns(frame: DataFrame) -> bool:
    """Tell whether any event shows a row's columns."""
    if not {BEFORE, AFTER, SOURCE, OPERATION} <= set(frame.columns):
        return False
    return bool(struct_of(frame, BEFORE).fields or struct_of(frame, AFTER).fields)


def struct_of(frame: DataFrame, name: str) -> StructType:
    """Return the type of an events' field; raise `TaskFailed` if it is not a record."""
    kind = frame.schema[name].dataType
    if isinstance(kind, StructType):
        return kind
    raise TaskFailed(
        FailureReason.SCHEMA_INCOMPATIBLE,
        f"The field {name} of the values is not a record, so the values are not events.",
    )


def _type_of(declared: StructType | None, name: str) -> DataType | None:
    if declared is None or name not in declared.fieldNames():
        return None
    return declared[name].dataType


def _own(spark: SparkSession, name: str, kind: DataType, declared: DataType | None) -> tuple[Column, bool]:
    """Return a database column in its declared type, and whether a value may not fit."""
    column = sf.col(_ROW)[name]
    if kind.simpleString() == VARIABLE_DECIMAL:
        column, kind, may_fail = decimal_text(column), StringType(), True
    else:
        may_fail = False
    if declared is None or same(kind, declared):
        return column, may_fail
    if fits(declared, kind):
        return column.cast(declared), may_fail
    if isinstance(kind, StringType) and isinstance(declared, _FROM_TEXT):
        return text_value(spark, column, declared), True
    raise TaskFailed(
        FailureReason.SCHEMA_INCOMPATIBLE,
        f"The column {name} is declared as {declared.simpleString()}, but the events have {kind.simpleString()}; "
        "declare the type of the events, and cast the column in the transform.",
    )


def _require_free(image: StructType, database: Database) -> None:
    require_distinct(image.fieldNames())
    own = {*database.names, SEQUENCE_TEXT, MISSING, *RESERVED}
    taken = next((name for name in image.fieldNames() if name in own), None)
    if taken is not None:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The database table has a column {taken}, a name that the driver uses itself or adds to every event; "
            "exclude it in the connector (column.exclude.list).",
        )
