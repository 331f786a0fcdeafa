"""Rows and deletes of change events, in whatever format these came."""

from collections.abc import Sequence
from functools import partial, reduce
from operator import and_, or_

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DateType, DecimalType, StringType, StructField, StructType, TimestampType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask, KafkaSource, SourceTables, Tombstones
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED, NO_COLUMN
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.schemas.ddl import declared_columns
from hudi_jobs.ingestion.schemas.types import column_named, fits, same
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import (
    AFTER,
    BEFORE,
    CREATE,
    DELETE,
    IGNORED,
    MESSAGE_OPERATION,
    MYSQL,
    OPERATION,
    POSTGRES,
    PROCESSED_AT,
    READ,
    SEQUENCE_TEXT,
    SOURCE,
    TRUNCATE,
    UPDATE,
    Database,
    sequence_text,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.connect import VARIABLE_DECIMAL, decimal_text
from hudi_jobs.ingestion.sources.kafka.formats.debezium.deleted import LATE, is_before, with_late
from hudi_jobs.ingestion.sources.kafka.formats.debezium.holders import (
    HELD,
    HOLDER,
    MOVED,
    SURE,
    TAKEN,
    confirmed,
    doubts,
    holder_of,
    is_sure,
    refuse_taken,
    settled,
    with_held,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.identity import lacks_key, with_former_keys
from hudi_jobs.ingestion.sources.kafka.formats.debezium.kept import Changed, Kept
from hudi_jobs.ingestion.sources.kafka.formats.debezium.logs import SNAPSHOT, is_snapshot
from hudi_jobs.ingestion.sources.kafka.formats.debezium.rules import require_order, required_database
from hudi_jobs.ingestion.sources.kafka.formats.debezium.tables import (
    TABLE,
    followed,
    is_strange,
    set_aside,
    table_of,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unavailable import MISSING, unavailable_columns
from hudi_jobs.ingestion.sources.kafka.formats.debezium.values import as_bad_records, with_values
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    RESERVED,
    Decoded,
    corrupt_text,
    field,
    require_distinct,
)
from hudi_jobs.ingestion.sources.kafka.formats.shapes import merged, shaped
from hudi_jobs.jvm import tried_cast
from hudi_jobs.table import HudiTable

_WRITTEN = (CREATE, READ, UPDATE)
_TRANSACTION = ("BEGIN", "END")
_SCHEMA_CHANGE = ("ddl", "tableChanges")
_FROM_TEXT = (TimestampType, DateType, DecimalType)
_ROW, _KIND, _GOOD, _UNSURE = "_row", "_debezium_operation", "_debezium_good", "_debezium_unsure"
_MARKS = (_KIND, HOLDER, MOVED, SURE, HELD, TABLE, SNAPSHOT, LATE, TAKEN)
"""Columns that say of an event what nobody else needs."""


def require(source: KafkaSource) -> None:
    """Raise `TaskFailed` where tombstones are to delete; which table can have events is looked at with the task."""
    if source.tombstones is Tombstones.DELETE:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "Debezium reports a delete as an event; leave tombstones, which follow it, at Skip.",
        )


def wrapped(columns: StructType) -> StructType:
    """Return where the columns of a table are in an event."""
    return StructType([StructField(name, columns) for name in (BEFORE, AFTER)])


def unwrap(context: TaskContext, source: KafkaSource, decoded: Decoded) -> Decoded:
    """Return rows with the columns of the database's table and where their event stood among all.

    The events are read once here and kept, because an update may lack values that older ones have.
    """
    task = context.task.ingestion
    assert task is not None, "a source belongs to an ingestion"
    database = required_database(context.task.table, task)
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
    if table is not None:
        require_order(table.properties)
    frame = _only_events(decoded.frame)
    if not _has_columns(frame):
        return Decoded(_without_columns(frame), events=decoded.events)
    keys = context.task.table.record_key
    frame = with_former_keys(frame, keys, *(_struct(frame, name) for name in (BEFORE, AFTER)))
    rows = _rows(frame, database, keys, declared_columns(context.spark, source.value.schema_ddl))
    before = Kept.of(decoded.events)
    marked = partial(_marked, before=before, keys=keys, database=database)
    rows = marked(rows, before.deletes(context.spark, database))
    missing = unavailable_columns(rows.drop(MESSAGE, CORRUPT_RECORD, *_MARKS).schema) if database is POSTGRES else {}
    count = partial(_counted, missing=missing, before=before, database=database)
    found = count(rows)
    if found["older"]:
        rows = marked(rows, before.every_delete(context.spark, context.task.table.base_path, database))
        found = count(rows)
    rows, taken = confirmed(rows, keys, database) if found["taken"] else (rows, 0)
    refuse_taken(taken, task)
    tables = _required(found, before.tables, source.value.source_tables, task)
    kept = rows.where(~sf.col(LATE) | sf.col(TAKEN))
    strange = is_strange(tables) if source.value.source_tables is SourceTables.ONE else never()
    if taken or found["strange"]:
        kept = as_bad_records(kept, sf.col(TAKEN) | strange, kept.columns, marks=_MARKS)
    kept = settled(kept, keys, database, moved=bool(found["moved"]), unsure=bool(found["unsure"]))
    changed = Changed(has_deletes=bool(found["deletes"]), has_moved=bool(found["moved"]), tables=tables)
    events, write = before.after(kept, context.task.table.base_path, keys, database, changed)
    lacking = {name: condition for n, (name, condition) in enumerate(missing.items()) if found[f"missing_{n}"]}
    if lacking:
        kept = with_values(context, task, table, kept, lacking)
    remark = _remark(found, before.tables, tables)
    return Decoded(kept.drop(*_MARKS), deletes=True, remark=remark, events=events, before_commit=write)


def _marked(
    rows: DataFrame, deletes: DataFrame | None, *, before: Kept, keys: Sequence[str], database: Database
) -> DataFrame:
    """Return the rows, kept, with what is known of their keys by these deletes and by who had the keys before."""
    late = with_late(rows.drop(LATE, HELD, TAKEN), deletes, keys, database)
    return with_held(late, before.holders, keys, database).persist(StorageLevel.MEMORY_AND_DISK)


def _counted(rows: DataFrame, missing: dict[str, Column], before: Kept, database: Database) -> Row:
    late, strange, below = sf.col(LATE), is_strange(before.tables), before.spilled.below
    older = never() if below is None else ~late & ~sf.col(IS_DELETED) & is_before(below, database)
    named = {"truncates": sf.col(_KIND) == TRUNCATE, "late": late & ~sf.col(TAKEN), "deletes": sf.col(IS_DELETED)}
    named |= {**doubts(), "strange": strange, "older": older}
    named |= {f"missing_{n}": condition & ~late for n, condition in enumerate(missing.values())}
    counts = (sf.count(sf.when(one, 1)).alias(name) for name, one in named.items())
    other = sf.when(strange, sf.col(TABLE))
    return rows.agg(*counts, sf.min(other).alias("first"), sf.max(other).alias("last")).collect()[0]


def _required(found: Row, known: Sequence[str], tables: SourceTables, task: IngestionTask) -> tuple[str, ...]:
    """Return the tables of the database that are known now; raise `TaskFailed` for what stops a batch."""
    _refuse_truncates(int(found["truncates"]), task)
    return followed(known, (int(found["strange"]), str(found["first"]), str(found["last"])), tables, task)


def _remark(found: Row, known: Sequence[str], tables: Sequence[str]) -> str:
    strange = int(found["strange"]) if known and tuple(known) == tuple(tables) else 0
    said = (_truncates(int(found["truncates"])), _late(int(found["late"])), set_aside(strange))
    return " ".join(filter(None, said))


def _late(number: int) -> str:
    return f"{counted(number, 'event')} skipped, older than the delete of their row." if number else ""


def _refuse_truncates(number: int, task: IngestionTask) -> None:
    if number and task.bad_records is BadRecordPolicy.FAIL:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{_truncates(number)} Rows of the table would stay; empty the table and have the connector take a new "
            "snapshot, or set the policy for bad records to Quarantine to continue without it.",
        )


def _truncates(number: int) -> str:
    return (
        f"{counted(number, 'event')} of the database truncated its table, which the operator does not repeat."
        if number
        else ""
    )


def _only_events(frame: DataFrame) -> DataFrame:
    """Leave out tombstones, which follow the deletes that they are of, and what Debezium sends beside events."""
    present = set(frame.columns)
    with_value = frame.where(field("value").isNotNull())
    if IGNORED in present:
        return with_value.where(~sf.col(IGNORED)).drop(IGNORED)
    fields = [name for name in frame.columns if name not in {MESSAGE, CORRUPT_RECORD}]
    # A heartbeat has nothing but its time, a transaction a status, and a change of the schema its statement.
    beside = [reduce(and_, (column_named(name).isNull() for name in fields if name != PROCESSED_AT), ~never())]
    if "status" in present:
        beside.append(sf.col("status").cast("string").isin(*_TRANSACTION))
    if SOURCE in present:
        beside += [sf.col(SOURCE).isNotNull() & sf.col(name).isNotNull() for name in _SCHEMA_CHANGE if name in present]
    is_event = sf.col(OPERATION).isNotNull() if OPERATION in present else never()
    ignored = ~is_event & sf.col(CORRUPT_RECORD).isNull() & reduce(or_, beside)
    return with_value.where(~sf.coalesce(ignored, never()))


def _without_columns(frame: DataFrame) -> DataFrame:
    """No message was an event, so that all are corrupt."""
    value = field("value")
    nothing = sf.lit(None).cast("string").alias(NO_COLUMN)
    return frame.select(MESSAGE, nothing, corrupt_text(value).alias(CORRUPT_RECORD))


def _rows(frame: DataFrame, database: Database, keys: Sequence[str], declared: StructType | None) -> DataFrame:
    """Return the columns of rows, the added ones, and which events are deletes or corrupt."""
    before, after, origin = (_struct(frame, name) for name in (BEFORE, AFTER, SOURCE))
    image = merged(after, before)
    _require_free(image, database)
    deleted = sf.col(OPERATION) == DELETE
    row = sf.when(deleted, shaped(sf.col(BEFORE), before, image)).otherwise(shaped(sf.col(AFTER), after, image))
    frame = frame.where(~sf.coalesce(sf.col(OPERATION) == MESSAGE_OPERATION, never()))
    frame = frame.select(
        MESSAGE,
        CORRUPT_RECORD,
        sf.col(OPERATION).alias(_KIND),
        row.alias(_ROW),
        *database.added(origin),
        (deleted & lacks_key(sf.col(BEFORE), before, keys)).alias(_UNSURE),
        MOVED,
        table_of(origin, keys).alias(TABLE),
        is_snapshot(origin).alias(SNAPSHOT),
    )
    if database is MYSQL:
        frame = frame.withColumn(SEQUENCE_TEXT, sequence_text())
    own = {one.name: _own(one.name, one.dataType, _type_of(declared, one.name)) for one in image.fields}
    lost = [sf.col(_ROW)[name].isNotNull() & column.isNull() for name, (column, may_fail) in own.items() if may_fail]
    placed = [column_named(name).isNotNull() for name in database.ordering]
    good = sf.col(_KIND).isin(*_WRITTEN, DELETE) & sf.col(_ROW).isNotNull() & sf.col(CORRUPT_RECORD).isNull()
    good = sf.coalesce(reduce(and_, placed, good) & ~reduce(or_, lost, sf.col(_UNSURE)), never())
    frame = frame.withColumn(_GOOD, good)
    good = sf.col(_GOOD)
    added = [*database.names, *([SEQUENCE_TEXT] if database is MYSQL else [])]
    columns = {**{name: column_named(name) for name in added}, **{name: column for name, (column, _) in own.items()}}
    kept = [sf.when(good, column).alias(name) for name, column in columns.items()]
    corrupt = sf.when(~good, sf.coalesce(sf.col(CORRUPT_RECORD), corrupt_text(field("value")))).alias(CORRUPT_RECORD)
    is_deleted = (good & (sf.col(_KIND) == DELETE)).alias(IS_DELETED)
    whose = [holder_of().alias(HOLDER), sf.when(sf.col(_KIND) == DELETE, is_sure(keys)).alias(SURE)]
    return frame.select(MESSAGE, *kept, _KIND, MOVED, TABLE, SNAPSHOT, *whose, is_deleted, corrupt)


def _has_columns(frame: DataFrame) -> bool:
    """Tell whether any event says what columns a row has."""
    if not {BEFORE, AFTER, SOURCE, OPERATION} <= set(frame.columns):
        return False
    return bool(_struct(frame, BEFORE).fields or _struct(frame, AFTER).fields)


def _struct(frame: DataFrame, name: str) -> StructType:
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


def _own(name: str, kind: DataType, declared: DataType | None) -> tuple[Column, bool]:
    """Return a column of the database's table in the type that is declared, and whether a value may not fit it."""
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
        return tried_cast(column, declared), True
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
