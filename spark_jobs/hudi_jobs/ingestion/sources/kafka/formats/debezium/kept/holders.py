"""Which row of the database has a record key, where that is not the key of the database's table.

Two rows may exchange their record keys in one transaction, or a new row may take the key of one that goes. The delete
of the row that leaves a key then comes behind the row that has it now, and would remove that one. So a row that is gone
from a key says nothing of it where another one has it. A transaction may be read in several batches: which rows came to
a key by an update, and which left one, is kept with the checkpoint, for the newest of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rows import IS_DELETED
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import Database
from hudi_jobs.ingestion.sources.kafka.formats.debezium.kept.deleted import (
    LATE,
    Place,
    hash_of,
    place_of,
    type_of_places,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import field
from hudi_jobs.local_frame import local_frame

MOST_HOLDERS = 1_000
HOLDER, MOVED, SURE = "_debezium_holder", "_debezium_moved", "_debezium_sure"
"""Columns: which row of the database an event is of, whether an update gave it another record key, and whether the
key of the message tells that no other row has that record key."""

TAKEN = "_debezium_taken"
"""Column that is true for an event which a later delete of another row would beat, in the table or before it."""

_DIGITS = 12
_BEHIND_SCHEMA, _LONGEST = 6, 1_000_000
HELD = "_debezium_held"
"""Column with who has the record key of an event, by what is kept."""

_HASH, _LIVES, _VOID = "_debezium_hash", "_debezium_lives", "_debezium_void"


@dataclass(frozen=True)
class Holder:
    """The row that came to a record key at a place in the log, or left it there."""

    row: str
    has_left: bool
    place: Place


Holders = Mapping[str, Holder]
"""Holders of record keys by the hashes of these."""


def holder_of() -> Column:
    """Return what stands for a row of the database, the values in the key of its message; null where that has none.

    The schema of a key may change, and the row stays: that in JSON is left out, and the number of one in a registry.
    The values of the row do not stand for it: of one that is gone PostgreSQL may send no more than its key.
    """
    key = field("key")
    in_registry = sf.substring(key, 1, 1) == sf.lit(b"\x00")
    body = sf.when(in_registry, sf.substring(key, _BEHIND_SCHEMA, _LONGEST)).otherwise(key)
    in_json = (sf.get_json_object(_text(), path).cast("binary") for path in ("$.payload", "$"))
    return sf.substring(sf.sha2(sf.coalesce(*in_json, body), 256), 1, _DIGITS)


def is_sure(keys: Sequence[str]) -> Column:
    """Tell whether the message's key, in JSON, has no other columns than the record key: it is told by that then."""
    named = sf.json_object_keys(sf.coalesce(sf.get_json_object(_text(), "$.payload"), _text()))
    return sf.coalesce(sf.size(sf.array_except(named, sf.array(*map(sf.lit, keys)))) == 0, never())


def _text() -> Column:
    return sf.decode(field("key"), "UTF-8")


def with_held(rows: DataFrame, known: Holders, keys: Sequence[str], database: Database) -> DataFrame:
    """Return the rows with who has their record key by what is kept, and with `TAKEN`."""
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
    """Return what is counted to know whether anything is to be settled."""
    return {
        "moved": sf.col(MOVED) | sf.col(HELD).isNotNull(),
        "unsure": sf.col(IS_DELETED) & ~sf.col(SURE),
        "taken": sf.col(TAKEN),
    }


def confirmed(rows: DataFrame, keys: Sequence[str], database: Database) -> tuple[DataFrame, int]:
    """Return the rows with `TAKEN` for those that do not leave the key, as what comes again does; and how many."""
    hashed = rows.withColumn(_HASH, hash_of(rows, keys))
    lives = sf.max(_came(database)).over(Window.partitionBy(_HASH, HOLDER))["lives"]
    marked = hashed.withColumn(TAKEN, sf.col(TAKEN) & lives).drop(_HASH).persist(StorageLevel.MEMORY_AND_DISK)
    return marked, marked.where(TAKEN).count()


def _came(database: Database) -> Column:
    lives = (~sf.col(IS_DELETED)).alias("lives")
    return sf.struct(place_of(database), field("partition"), field("offset"), lives)


def settled(rows: DataFrame, keys: Sequence[str], database: Database, *, moved: bool, unsure: bool) -> DataFrame:
    """Return the rows without what rows of the database say of a record key that another one has."""
    if not moved and not (unsure and _are_shared(rows, keys)):
        return rows
    named = sf.coalesce(hash_of(rows, keys), sf.expr("uuid()"))  # what has no key is for itself
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
    """Tell whether events of one record key, with a delete among them, are of several rows of the database."""
    found = rows.groupBy(hash_of(rows, keys).alias(_HASH)).agg(
        sf.max(IS_DELETED).alias("gone"), sf.min(HOLDER).alias("least"), sf.max(HOLDER).alias("greatest")
    )
    shared = sf.col(_HASH).isNotNull() & sf.col("gone") & (sf.col("least") != sf.col("greatest"))
    return not found.where(shared).isEmpty()


def after(before: Holders, rows: DataFrame, keys: Sequence[str], database: Database) -> dict[str, Holder]:
    """Return the holders that are kept after a batch in which rows moved, or that has events of held keys."""
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
    """Raise `TaskFailed` where events came so late that a delete of another row would beat them."""
    if number and task.bad_records is BadRecordPolicy.FAIL:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{counted(number, 'event')} arrived for rows whose record key another row of the database had held "
            "before, as when two rows swap their keys: the table would lose them. In a new table, use the key of "
            "the database table as recordKey, or set the policy for bad records to Quarantine.",
        )


def encoded(holders: Holders) -> dict[str, list[object]]:
    """Return holders as a checkpoint has them."""
    return {hashed: [one.row, one.has_left, *one.place] for hashed, one in holders.items()}
