"""Fills in the values that updates lack: large values that PostgreSQL did not send.

An event with an unresolved value is bad.

Debezium puts a placeholder in the place of such a value. Hudi 1.2.0 could fill them in itself (`FILL_UNAVAILABLE`), but
leaves the placeholders of binary columns in MergeOnRead tables, and those of text columns when it clusters such a
table. So the value is taken from an older event of the batch, or from the row in the table, before the write.
"""

import base64
import hashlib
import uuid
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from operator import and_, or_

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask
from hudi_jobs.contract.wording import counted
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED, corrupt_text
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.connect import VARIABLE_DECIMAL
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import CHANGE_TYPE, DELETE, UPDATE
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.holders import MOVED
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, field
from hudi_jobs.schemas.types import column_named, same
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable, read_rows

PLACEHOLDER = "__debezium_unavailable_value"
MISSING = "_debezium_missing"
"""The names of columns without a found value."""

_BYTES = PLACEHOLDER.encode()
_UUID = str(uuid.UUID(bytes=hashlib.md5(_BYTES, usedforsecurity=False).digest(), version=3))
_CODED = (base64.b64encode(_BYTES).decode(), base64.urlsafe_b64encode(_BYTES).decode(), _BYTES.hex())
_PAIRS = tuple(f'{{"{PLACEHOLDER}"{colon}"{PLACEHOLDER}"}}' for colon in (":", ": ", " : "))
_TEXTS = tuple(dict.fromkeys((PLACEHOLDER, *_CODED, *_PAIRS)))
"""The placeholder as text, including bytes sent as text (`binary.handling.mode`, or JSON without a schema) and a map
sent as JSON.
"""

_MOST_KEYS = 2_000
_NUMBERS = (ShortType, IntegerType, LongType, FloatType, DoubleType)


def is_unavailable(column: Column, kind: DataType) -> Column | None:
    """Return the condition for a column's placeholder, or None if its type cannot hold a placeholder.

    The shapes are those of Debezium's `UnchangedToastedPlaceholder`.
    """
    if isinstance(kind, ArrayType):
        return _is_unavailable_array(column, kind.elementType)
    if isinstance(kind, StringType):
        return column.isin(*_TEXTS)
    if isinstance(kind, BinaryType):
        return column == sf.lit(_BYTES)
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType):
        return sf.array_contains(sf.map_keys(column), PLACEHOLDER)
    if isinstance(kind, StructType) and PLACEHOLDER in kind.fieldNames():
        return column[PLACEHOLDER].isNotNull()
    return None


def _is_unavailable_array(column: Column, element: DataType) -> Column | None:
    if isinstance(element, StringType):
        known = sf.array(*map(sf.lit, _TEXTS))
        return sf.arrays_overlap(column, known) | (column == sf.array(sf.lit(_UUID)))
    if isinstance(element, BinaryType):
        return sf.array_contains(column, sf.lit(_BYTES))
    if isinstance(element, StructType) and element.simpleString() == VARIABLE_DECIMAL:
        values = sf.transform(column, lambda one: one["value"])
        return values == sf.array(*(sf.lit(bytes([one])) for one in _BYTES))
    shapes = _elements(element)
    return reduce(or_, (column == sf.array(*shape).cast(ArrayType(element)) for shape in shapes)) if shapes else None


def _elements(kind: DataType) -> list[list[Column]]:
    """Return the possible elements of an array with an element per byte of the placeholder."""
    if isinstance(kind, _NUMBERS):
        return [[sf.lit(one) for one in _BYTES]]
    if isinstance(kind, BooleanType):
        return [[sf.lit(one != 0) for one in _BYTES]]
    if isinstance(kind, DateType):
        return [[sf.date_add(sf.lit("1970-01-01").cast("date"), one) for one in _BYTES]]
    if isinstance(kind, TimestampType):
        return [[of_number(sf.lit(one)) for one in _BYTES] for of_number in (sf.timestamp_millis, sf.timestamp_micros)]
    if isinstance(kind, DecimalType):
        return [[sf.lit(Decimal(one).scaleb(-kind.scale)) for one in _BYTES]]
    return []


def unavailable_columns(schema: StructType) -> dict[str, Column]:
    """Return the columns with possibly missing values, and their conditions; for a delete only the key matters.

    Not only updates omit values: a row with a changed key arrives as new and lacks them as well.
    """
    found = {one.name: is_unavailable(column_named(one.name), one.dataType) for one in schema.fields}
    written = sf.col(CHANGE_TYPE) != DELETE
    return {
        name: sf.coalesce(written & condition, never()) for name, condition in found.items() if condition is not None
    }


def filled(
    events: DataFrame,
    missing: dict[str, Column],
    *,
    keys: Sequence[str],
    ordering: Sequence[str],
    table: DataFrame | None,
) -> DataFrame:
    """Return the events with placeholders replaced by values, and the names of unresolved columns in `MISSING`.

    The newest older value counts, from the batch or the table. Without `keys`, events with the same message key belong
    to the same row. Only an update has older values under its key: values from before a delete, or before a key change,
    belong to another row.
    """
    same_row = list(map(column_named, keys)) or [field("key")]
    has_key = reduce(and_, [column.isNotNull() for column in same_row])
    window = Window.partitionBy(*same_row).orderBy(*map(column_named, ordering), field("offset"), field("partition"))
    so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = {
        name: sf.when(
            has_key & ~(condition & _has_older()),
            sf.struct(
                _order(ordering).alias("at"),
                column_named(name).alias("value"),
                (~condition & (sf.col(CHANGE_TYPE) != DELETE)).alias("usable"),
            ),
        )
        for name, condition in missing.items()
    }
    found = events.withColumns({f"_known_{n}": known[name] for n, name in enumerate(missing)})
    found = found.withColumns(
        {f"_last_{n}": sf.last(f"_known_{n}", ignorenulls=True).over(so_far) for n, _ in enumerate(missing)}
    )
    found = _with_rows_of(table, found, missing, keys, ordering)
    values = {name: _value(n, name, condition, found) for n, (name, condition) in enumerate(missing.items())}
    lost = [sf.when(condition & values[name].isNull(), sf.lit(name)) for name, condition in missing.items()]
    replaced = {name: sf.when(c, values[name]["value"]).otherwise(column_named(name)) for name, c in missing.items()}
    kept = [replaced.get(name, column_named(name)).alias(name) for name in events.columns]
    return found.select(*kept, sf.array_compact(sf.array(*lost)).alias(MISSING))


def _has_older() -> Column:
    """Tell whether the row had its record key before the event."""
    return (sf.col(CHANGE_TYPE) == UPDATE) & ~sf.col(MOVED)


def _order(ordering: Sequence[str]) -> Column:
    return sf.struct(*(column_named(name).alias(f"o{place}") for place, name in enumerate(ordering)))


def _with_rows_of(
    table: DataFrame | None, events: DataFrame, missing: dict[str, Column], keys: Sequence[str], ordering: Sequence[str]
) -> DataFrame:
    """Join the table's rows for keys with events that lack a value."""
    if table is None or not {*keys, *ordering} <= set(table.columns):
        return events.withColumn("_table", sf.lit(None).cast("struct<at: int>"))
    lacking = events.where(reduce(or_, missing.values())).select(*map(column_named, keys)).distinct()
    some = lacking.limit(_MOST_KEYS + 1).collect()
    known = {one.name: one.dataType for one in table.schema.fields}
    wanted = {one.name: one.dataType for one in events.schema.fields}
    values = [
        column_named(name).alias(f"v{n}")
        for n, name in enumerate(missing)
        if name in known and same(known[name], wanted[name])
    ]
    if len(some) <= _MOST_KEYS:
        table = table.where(_among(keys, some))
    named = [column_named(name).alias(f"_key{n}") for n, name in enumerate(keys)]
    row = sf.struct(_order(ordering).alias("at"), *values)
    rows = table.select(*named, row.alias("_table"))
    newest = rows.groupBy(*(f"_key{n}" for n, _ in enumerate(keys))).agg(
        sf.max_by("_table", sf.col("_table")["at"]).alias("_table")
    )
    same_key = [column_named(name) == sf.col(f"_key{n}") for n, name in enumerate(keys)]
    return events.join(newest, reduce(and_, same_key), "left")


def _among(keys: Sequence[str], some: Sequence[Sequence[object]]) -> Column:
    """Return a condition per key column that lets Hudi and Parquet skip files."""
    conditions = [
        column_named(name).isin([row[place] for row in some if row[place] is not None])
        for place, name in enumerate(keys)
    ]
    return reduce(and_, conditions)


def _value(number: int, name: str, condition: Column, events: DataFrame) -> Column:
    """Return the newest older value in a struct, or null."""
    kind = events.schema[name].dataType
    last = sf.col(f"_last_{number}")
    in_batch = sf.when(last["usable"], sf.struct(last["value"].alias("value")))
    has = events.schema["_table"].dataType
    if not isinstance(has, StructType) or f"v{number}" not in has.fieldNames():
        return sf.when(condition & _has_older(), in_batch)
    stored = sf.col("_table")[f"v{number}"]
    lacks = is_unavailable(stored, kind)
    usable = sf.col("_table").isNotNull() & ~sf.coalesce(never() if lacks is None else lacks, never())
    in_table = sf.when(usable, sf.struct(stored.alias("value")))
    newer = usable & (last.isNull() | (sf.col("_table")["at"] > last["at"]))
    return sf.when(condition & _has_older(), sf.when(newer, in_table).otherwise(in_batch))


def with_values(
    context: TaskContext, task: IngestionTask, table: HudiTable | None, rows: DataFrame, lacking: dict[str, Column]
) -> DataFrame:
    """Fill in the values that updates lack; an event with an unresolved value becomes a bad record."""
    definition = context.task.table
    keys = tuple(dict.fromkeys((*definition.record_key, *definition.partition_by)))
    # A transform's output is not the column's former value.
    if task.transform_sql is not None or not set(keys) <= set(rows.columns):
        keys = ()
    has_rows = keys and table is not None and table.has_schema
    stored = read_rows(context.spark, definition.base_path, context.task.hudi_options) if has_rows else None
    found = filled(rows, lacking, keys=keys, ordering=definition.ordering_fields, table=stored)
    found = found.persist(StorageLevel.MEMORY_AND_DISK)
    if task.bad_records is BadRecordPolicy.FAIL:
        _refuse_missing(found, task)
    return as_bad_records(found, sf.size(MISSING) > 0, rows.columns)


def as_bad_records(rows: DataFrame, bad: Column, columns: Sequence[str], *, marks: Sequence[str] = ()) -> DataFrame:
    """Return these columns with `bad` rows reduced to their `marks`, without values."""
    own = [name for name in columns if name not in {MESSAGE, CORRUPT_RECORD, IS_DELETED, *marks}]
    kept = [sf.when(~bad, column_named(name)).alias(name) for name in own]
    corrupt = sf.when(bad, corrupt_text(field("value"))).otherwise(sf.col(CORRUPT_RECORD)).alias(CORRUPT_RECORD)
    return rows.select(MESSAGE, *kept, *marks, corrupt, (sf.col(IS_DELETED) & ~bad).alias(IS_DELETED))


def _refuse_missing(rows: DataFrame, task: IngestionTask) -> None:
    by_column = (
        rows.select(sf.explode(MISSING).alias("name")).groupBy("name").count().orderBy("name").limit(10).collect()
    )
    if not by_column:
        return
    named = ", ".join(f"{row['name']} of {counted(row['count'], 'update')}" for row in by_column)
    why = (
        "with a transform they cannot be taken from the table"
        if task.transform_sql
        else "the table has no older values"
    )
    raise TaskFailed(
        FailureReason.BAD_RECORDS,
        f"PostgreSQL did not send unchanged large values ({named}), and {why}; set REPLICA IDENTITY FULL for its "
        "table, and have the connector take a new snapshot of the rows.",
    )
