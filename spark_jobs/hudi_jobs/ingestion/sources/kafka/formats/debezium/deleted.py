"""Rows that were deleted a short while ago, so that an older event that comes late brings none of them back.

Hudi compares an event with the row that is there: a delete leaves nothing to compare with in a CopyOnWrite table, nor
in a MergeOnRead one that was compacted. So the newest deletes are kept with the checkpoint, as hashes of their keys.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from hudi_jobs.ingestion.rows import IS_DELETED
from hudi_jobs.ingestion.rules.partitions import never
from hudi_jobs.ingestion.schemas.types import column_named
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import Database
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, field

MOST_DELETED = 1_000
"""Deletes that are kept: some tens of kB in each commit, at most."""

LATE = "_debezium_late"
"""Column that is true for an event that is older than the delete of its row."""

_DIGITS = 24
_HASH, _DELETED = "_debezium_hash", "_debezium_deleted"

Place = tuple[int | str, ...]
Deleted = Mapping[str, Place]
"""Where rows were deleted, by the hashes of their keys."""


def with_late(rows: DataFrame, deleted: Deleted, keys: Sequence[str], database: Database) -> DataFrame:
    """Return the rows with the column `LATE`."""
    if not deleted:
        return rows.withColumn(LATE, never())
    schema = StructType([StructField(_HASH, StringType()), StructField(_DELETED, type_of_places(database))])
    known = rows.sparkSession.createDataFrame([(hashed, place) for hashed, place in deleted.items()], schema)
    joined = rows.withColumn(_HASH, hash_of(rows, keys)).join(sf.broadcast(known), _HASH, "left")
    late = ~sf.col(IS_DELETED) & (place_of(database) < sf.col(_DELETED))
    return joined.withColumn(LATE, sf.coalesce(late, never())).drop(_HASH, _DELETED)


def after(before: Deleted, rows: DataFrame, keys: Sequence[str], database: Database) -> dict[str, Place]:
    """Return the deletes that are kept after a batch with some: the newest."""
    gone = (
        rows.where(sf.col(IS_DELETED))
        .groupBy(hash_of(rows, keys).alias(_HASH))
        .agg(sf.max(place_of(database)).alias("at"))
    )
    newest = gone.where(sf.col(_HASH).isNotNull()).orderBy(sf.desc("at")).limit(MOST_DELETED).collect()
    found = {str(row[_HASH]): tuple(row["at"]) for row in newest}
    everything = {**before, **{hashed: max(place, before.get(hashed, place)) for hashed, place in found.items()}}
    return dict(sorted(everything.items(), key=lambda each: each[1], reverse=True)[:MOST_DELETED])


def hash_of(rows: DataFrame, keys: Sequence[str]) -> Column:
    """Return what stands for the key of a row, or for that of its message where a transform makes the row's key."""
    same_row = list(map(column_named, keys)) if set(keys) <= set(rows.drop(MESSAGE).columns) else [field("key")]
    named = sf.struct(*(column.alias(f"k{number}") for number, column in enumerate(same_row)))
    is_whole = reduce(and_, [column.isNotNull() for column in same_row])
    return sf.when(is_whole, sf.substring(sf.sha2(sf.to_json(named), 256), 1, _DIGITS))


def place_of(database: Database) -> Column:
    """Return where an event stands in the log."""
    return sf.struct(*(column_named(name).alias(f"o{number}") for number, name in enumerate(database.ordering)))


def type_of_places(database: Database) -> StructType:
    """Return the type of what `place_of` returns."""
    kinds = {name: kind for name, _, kind in database.columns}
    return StructType([StructField(f"o{number}", kinds[name]) for number, name in enumerate(database.ordering)])
