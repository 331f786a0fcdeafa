"""Remembers deleted rows' positions, so that a late older event does not restore them.

Hudi compares an event with the existing row: a delete leaves nothing to compare with in a CopyOnWrite table, nor in a
compacted MergeOnRead table. So deletes are kept by hashes of their keys: the newest in the checkpoint, and the others
in files beside the table (`spilled.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.frames import local_frame
from hudi_jobs.ingestion.rows import IS_DELETED
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import Database
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, field
from hudi_jobs.schemas.types import column_named

MOST_DELETED = 1_000
"""The most deletes in a checkpoint: some tens of kB in each commit."""

KEPT_DELETED = MOST_DELETED // 2
"""The number of deletes that remain in a full checkpoint, so that not every batch with a delete writes a file."""

LATE = "_debezium_late"
"""True for an event older than its row's delete."""

HASH, PLACE = "_debezium_hash", "_debezium_deleted"
"""Columns of a frame of deletes."""

_DIGITS = 24

Place = tuple[int | str, ...]
Deleted = Mapping[str, Place]
"""Positions of deleted rows, by key hash."""


@dataclass(frozen=True)
class Split:
    """The newest deletes, and the rest, up to the position `below`, if a checkpoint cannot hold all."""

    newest: Deleted
    others: DataFrame | None = None
    below: Place | None = None


def deletes_in(spark: SparkSession, deleted: Deleted, database: Database) -> DataFrame:
    """Return a checkpoint's deletes as a frame."""
    return local_frame(spark, deleted.items(), schema_of(database))


def with_late(rows: DataFrame, deletes: DataFrame | None, keys: Sequence[str], database: Database) -> DataFrame:
    """Return the rows with the column `LATE`; each key has at most one delete."""
    if deletes is None:
        return rows.withColumn(LATE, never())
    joined = rows.withColumn(HASH, hash_of(rows, keys)).join(deletes, HASH, "left")
    late = ~sf.col(IS_DELETED) & (place_of(database) < sf.col(PLACE))
    return joined.withColumn(LATE, sf.coalesce(late, never())).drop(HASH, PLACE)


def after(before: Deleted, rows: DataFrame, keys: Sequence[str], database: Database) -> Split:
    """Return the known deletes after a batch with deletes."""
    gone = rows.where(sf.col(IS_DELETED)).select(hash_of(rows, keys).alias(HASH), place_of(database).alias(PLACE))
    gone = last_of_each(gone.where(sf.col(HASH).isNotNull()))
    newest = _newest(gone)
    if len(newest) > MOST_DELETED:
        return _split(gone, before, database)
    every = {**before, **{hashed: max(place, before.get(hashed, place)) for hashed, place in newest.items()}}
    if len(every) <= MOST_DELETED:
        return Split(every)
    ordered = sorted(every.items(), key=lambda each: each[1], reverse=True)
    kept, others = ordered[:KEPT_DELETED], ordered[KEPT_DELETED:]
    return Split(dict(kept), deletes_in(rows.sparkSession, dict(others), database), others[0][1])


def _split(gone: DataFrame, before: Deleted, database: Database) -> Split:
    """Return a large batch's and the earlier deletes; the last of the rest is also among the newest."""
    every = last_of_each(gone.unionByName(deletes_in(gone.sparkSession, before, database)))
    newest = dict(list(_newest(every).items())[:KEPT_DELETED])
    below = min(newest.values())
    return Split(newest, every.where(sf.col(PLACE) <= _literal(below, database)), below)


def _newest(deletes: DataFrame) -> dict[str, Place]:
    found = deletes.orderBy(sf.desc(PLACE)).limit(MOST_DELETED + 1).collect()
    return {str(row[HASH]): tuple(row[PLACE]) for row in found}


def last_of_each(deletes: DataFrame) -> DataFrame:
    """Return the last delete of each key."""
    return deletes.groupBy(HASH).agg(sf.max(PLACE).alias(PLACE))


def is_before(place: Place, database: Database) -> Column:
    """Tell whether an event precedes a position, so that it may be older than a delete up to there."""
    return place_of(database) < _literal(place, database)


def hash_of(rows: DataFrame, keys: Sequence[str]) -> Column:
    """Return a hash of a row's key, or of its message's key if a transform makes the row's."""
    same_row = list(map(column_named, keys)) if set(keys) <= set(rows.drop(MESSAGE).columns) else [field("key")]
    named = sf.struct(*(column.alias(f"k{number}") for number, column in enumerate(same_row)))
    is_whole = reduce(and_, [column.isNotNull() for column in same_row])
    return sf.when(is_whole, sf.substring(sf.sha2(sf.to_json(named), 256), 1, _DIGITS))


def place_of(database: Database) -> Column:
    """Return an event's position in the log."""
    return sf.struct(*(column_named(name).alias(f"o{number}") for number, name in enumerate(database.ordering)))


def type_of_places(database: Database) -> StructType:
    """Return the type of `place_of`."""
    kinds = {name: kind for name, _, kind in database.columns}
    return StructType([StructField(f"o{number}", kinds[name]) for number, name in enumerate(database.ordering)])


def schema_of(database: Database) -> StructType:
    """Return the columns of a frame of deletes."""
    return StructType([StructField(HASH, StringType()), StructField(PLACE, type_of_places(database))])


def _literal(place: Sequence[int | str], database: Database) -> Column:
    parts = zip(place, type_of_places(database).fields, strict=True)
    return sf.struct(*(sf.lit(part).cast(one.dataType).alias(one.name) for part, one in parts))
