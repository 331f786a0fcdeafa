"""Tracks which database row holds a record key that differs from the key of the table in the database.

Two rows may exchange their record keys in a transaction, or a new row may take a removed row's key. The delete of the
row that leaves a key then follows the row that has it now, and would remove the new row. So a row that left a key no
longer matters once another row holds it. A transaction may span several batches: the checkpoint keeps, for the newest
keys, which rows came to a key by an update and which left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask
from hudi_jobs.contract.wording import counted
from hudi_jobs.frames import local_frame
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import (
    AFTER,
    BEFORE,
    DELETE,
    OPERATION,
    UPDATE,
    Database,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.deleted import (
    LATE,
    Place,
    hash_of,
    place_of,
    type_of_places,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import field
from hudi_jobs.spark.failures import TaskFailed

MOST_HOLDERS = 1_000
HOLDER, MOVED, SURE = "_debezium_holder", "_debezium_moved", "_debezium_sure"
"""Columns: the event's database row, whether an update changed its record key, and whether the message's key proves
that no other row has the record key.
"""

TAKEN = "_debezium_taken"
"""True for an event that a later delete of another row would override, in the table or before it."""

_DIGITS = 12
_BEHIND_SCHEMA, _LONGEST = 6, 1_000_000
HELD = "_debezium_held"
"""The remembered holder of an event's record key."""

_HASH, _LIVES, _VOID = "_debezium_hash", "_debezium_lives", "_debezium_void"


@dataclass(frozen=True)
class Holder:
    """The row that came to a record key at a position in the log, or left it there."""

    row: str
    has_left: bool
    place: Place


Holders = Mapping[str, Holder]
"""Holders of record keys, by key hash."""


def holder_of() -> Column:
    """Return a hash of an event's database row, from the values in its message's key; null without a key.

    A key's schema may change while the row stays: a JSON schema is left out, and so is a registry schema's number. The
    row's own values do not identify it: for a removed row PostgreSQL may send only its key.
    """
    key = field("key")
    in_registry = sf.substring(key, 1, 1) == sf.lit(b"\x00")
    body = sf.when(in_registry, sf.substring(key, _BEHIND_SCHEMA, _LONGEST)).otherwise(key)
    in_json = (sf.get_json_object(_text(), path).cast("binary") for path in ("$.payload", "$"))
    return sf.substring(sf.sha2(sf.coalesce(*in_json, body), 256), 1, _DIGITS)


def is_sure(keys: Sequence[str]) -> Column:
    """Tell whether the message's JSON key has only columns of the record key: then it identifies the row."""
    named = sf.json_object_keys(sf.coalesce(sf.get_json_object(_text(), "$.payload"), _text()))
    return sf.coalesce(sf.size(sf.array_except(named, sf.array(*map(sf.lit, keys)))) == 0, never())


def _text() -> Column:
    return sf.decode(field("key"), "UTF-8")


def with_held(rows: DataFrame, known: Holders, keys: Sequence[str], database: Database) -> DataFrame:
    """Return the rows with their record key's remembered holder, and with `TAKEN`."""
    at = StructField("at", type_of_places(database))
    held = StructType([at, StructField("row", StringType()), StructField("left", BooleanType())])
    if not known:
        return rows.withColumns({HELD: sf.lit(None).cast(held), TAKEN: never()})
    schema = StructType([StructField(_HASH, StringType()), StructField(HELD, held)])
    values = [(hashed, (one.place, one.row, one.has_left)) for hashed, one in known.items()]
    stored = sf.broadcast(local_frame(rows.sparkSession, values, schema))
    joined = rows.withColumn(_HASH, hash_of(rows, keys)).join(stored, _HASH, "left").drop(_HASH)
    taken = sf.col(LATE) & sf.col(HELD)["left"] & (sf.col(HELD)["row"] != sf.col(HOLDER))
    return joined.withColumn(TAKEN, sf.coalesce(taken, never()))


def doubts() -> dict[str, Column]:
    """Return the counts that tell whether anything has to be settled."""
    return {
        "moved": sf.col(MOVED) | sf.col(HELD).isNotNull(),
        "unsure": sf.col(IS_DELETED) & ~sf.col(SURE),
        "taken": sf.col(TAKEN),
    }


def confirmed(rows: DataFrame, keys: Sequence[str], database: Database) -> tuple[DataFrame, int]:
    """Return the rows with `TAKEN` only for rows that stay at the key, and their number."""
    hashed = rows.withColumn(_HASH, hash_of(rows, keys))
    lives = sf.max(_came(database)).over(Window.partitionBy(_HASH, HOLDER))["lives"]
    marked = hashed.withColumn(TAKEN, sf.col(TAKEN) & lives).drop(_HASH).persist(StorageLevel.MEMORY_AND_DISK)
    return marked, marked.where(TAKEN).count()


def _came(database: Database) -> Column:
    lives = (~sf.col(IS_DELETED)).alias("lives")
    return sf.struct(place_of(database), field("partition"), field("offset"), lives)


def settled(rows: DataFrame, keys: Sequence[str], database: Database, *, moved: bool, unsure: bool) -> DataFrame:
    """Return the rows without events of rows that left a record key held by another row."""
    if not moved and not (unsure and _are_shared(rows, keys)):
        return rows
    named = sf.coalesce(hash_of(rows, keys), sf.expr("uuid()"))  # a row without a key stands alone
    hashed = rows.withColumn(_HASH, named)
    of_key, of_row = Window.partitionBy(_HASH), Window.partitionBy(_HASH, HOLDER)
    lived = hashed.withColumn(_LIVES, sf.max(_came(database)).over(of_row)["lives"])
    is_held = sf.coalesce(~sf.col(HELD)["left"] & (sf.col(HELD)["row"] != sf.col(HOLDER)), never())
    left_now = sf.coalesce(~sf.col(_LIVES) & (sf.col(HELD)["row"] == sf.col(HOLDER)), never())
    alive = sf.coalesce(sf.max(sf.when(sf.col(HOLDER).isNotNull(), sf.col(_LIVES))).over(of_key), never())
    others = alive | (is_held & ~sf.max(left_now).over(of_key))
    voided = lived.withColumn(_VOID, sf.col(HOLDER).isNotNull() & ~sf.col(_LIVES) & others)
    return voided.where(~sf.col(_VOID)).drop(_HASH, _LIVES, _VOID).persist(StorageLevel.MEMORY_AND_DISK)


def _are_shared(rows: DataFrame, keys: Sequence[str]) -> bool:
    """Tell whether events of the same record key, including a delete, belong to several database rows."""
    found = rows.groupBy(hash_of(rows, keys).alias(_HASH)).agg(
        sf.max(IS_DELETED).alias("gone"), sf.min(HOLDER).alias("least"), sf.max(HOLDER).alias("greatest")
    )
    shared = sf.col(_HASH).isNotNull() & sf.col("gone") & (sf.col("least") != sf.col("greatest"))
    return not found.where(shared).isEmpty()


def after(before: Holders, rows: DataFrame, keys: Sequence[str], database: Database) -> dict[str, Holder]:
    """Return the holders to keep after a batch with moved rows or events of held keys."""
    came = sf.struct(place_of(database).alias("at"), sf.col(IS_DELETED).alias("left"), sf.col(HOLDER).alias("row"))
    newest = rows.groupBy(hash_of(rows, keys).alias(_HASH)).agg(
        sf.max(came).alias("last"), sf.max(doubts()["moved"]).alias("counts")
    )
    is_known = sf.col(_HASH).isNotNull() & sf.col("last")["row"].isNotNull()
    wanted = newest.where(is_known & sf.col("counts")).orderBy(sf.desc("last"))
    found = {
        str(row[_HASH]): Holder(row["last"]["row"], row["last"]["left"], tuple(row["last"]["at"]))
        for row in wanted.limit(MOST_HOLDERS).collect()
    }
    older = {hashed: one for hashed, one in before.items() if hashed not in found or one.place > found[hashed].place}
    everything = {**found, **older}
    return dict(sorted(everything.items(), key=lambda each: each[1].place, reverse=True)[:MOST_HOLDERS])


def refuse_taken(number: int, task: IngestionTask) -> None:
    """Raise `TaskFailed` for events so late that another row's delete would override them."""
    if number and task.bad_records is BadRecordPolicy.FAIL:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{counted(number, 'event')} arrived for rows with a record key that another row of the database had held "
            "before, as when two rows swap their keys: the table would lose them. In a new table, use the key of "
            "the database table as recordKey, or set the policy for bad records to Quarantine.",
        )


def encoded(holders: Holders) -> dict[str, list[object]]:
    """Return holders in the checkpoint's form."""
    return {hashed: [one.row, one.has_left, *one.place] for hashed, one in holders.items()}


def with_former_keys(frame: DataFrame, keys: Sequence[str], before: StructType, after: StructType) -> DataFrame:
    """Insert a delete of the old row before an update that changes the record key.

    Debezium does this itself if the key of the database's table changes; a record key may have other columns. Without
    the whole former key, which PostgreSQL may omit, the old row is unknown. Both halves are marked as `MOVED`.
    """
    if not set(keys) <= set(before.fieldNames()) & set(after.fieldNames()):
        return frame.withColumn(MOVED, never())
    old, new = ([sf.col(image)[name] for name in keys] for image in (BEFORE, AFTER))
    is_whole = reduce(and_, [column.isNotNull() for column in (*old, *new)])
    differs = reduce(or_, [one != other for one, other in zip(old, new, strict=True)])
    operation = sf.col(OPERATION)
    changed = (operation == UPDATE) & sf.col(CORRUPT_RECORD).isNull() & is_whole & differs
    both, itself = sf.array(sf.lit(DELETE), operation), sf.array(operation)
    marked = frame.withColumn(MOVED, sf.coalesce(changed, never()))
    return marked.withColumn(OPERATION, sf.explode(sf.when(sf.col(MOVED), both).otherwise(itself)))


def lacks_key(image: Column, kind: StructType, keys: Sequence[str]) -> Column:
    """Tell whether a deleted row's image lacks its record key, judged by its message's JSON key.

    Without REPLICA IDENTITY FULL, PostgreSQL sends only its own key's columns, and Debezium then puts a zero or an
    empty text into other non-null columns (`ValueConverters.convertValue`): a delete with such a key would leave the
    row in place. An image with any other value is whole.
    """
    types = {one.name: one.dataType for one in kind.fields}
    text = sf.decode(field("key"), "UTF-8")
    named = sf.json_object_keys(sf.coalesce(sf.get_json_object(text, "$.payload"), text))
    lacking = [~sf.array_contains(named, name) & _is_empty(image[name], types[name]) for name in keys if name in types]
    others = [sf.array_contains(named, name) | _is_empty(image[name], each) for name, each in types.items()]
    return sf.coalesce(reduce(or_, lacking, never()) & reduce(and_, others, ~never()), never())


def _is_empty(column: Column, kind: DataType) -> Column:
    """Tell whether a value is null, or stands for a missing value."""
    if isinstance(kind, NumericType):
        is_nothing = column == 0
    elif isinstance(kind, BooleanType):
        is_nothing = ~column
    elif isinstance(kind, StringType | BinaryType):
        is_nothing = sf.length(column) == 0
    elif isinstance(kind, DateType):
        is_nothing = column == sf.lit("1970-01-01").cast("date")
    else:
        is_nothing = never()
    return column.isNull() | sf.coalesce(is_nothing, never())
