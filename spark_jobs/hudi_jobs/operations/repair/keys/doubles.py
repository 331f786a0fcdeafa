"""Finds rows of a table with the same key, and ranks the row that stays first.

A key is the record key, with its partition when the table's index looks up keys within partitions. The row that wins by
Hudi's rules for the table stays: that with the greatest ordering value, and among equals that of the newest commit; or,
when the last write wins, that of the newest commit. Rows equal in all of these are ordered by their place in the
commit, and finally by content, so that every run keeps the same row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from hudi_jobs.contract.table.merging import columns_of, ordering_of
from hudi_jobs.operations.buckets import BUCKET, INDEX
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.rows import row_hash
from hudi_jobs.schemas.types import column_named

PARTITION, KEY = "_hoodie_partition_path", "_hoodie_record_key"

_OF_A_PARTITION = frozenset({"BLOOM", BUCKET, "SIMPLE", "RECORD_LEVEL_INDEX"})
_OF_THE_TABLE = frozenset({"GLOBAL_BLOOM", "GLOBAL_SIMPLE", "GLOBAL_RECORD_LEVEL_INDEX", "RECORD_INDEX"})
_SEQUENCE = "_hoodie_commit_seqno"
_TIME, _PLACES = "_hoodie_commit_time", (_SEQUENCE, "_hoodie_file_name")
_NUMBERS = r"_(\d{1,19})_(\d{1,19})$"
"""Spark's task partition and the record number at the end of a sequence number (`HoodieRecord.generateSequenceId`)."""

_COUNT, _RANK = "_hoodie_copies", "_hoodie_rank"  # no table has a column of its own with this prefix
_SUM = "decimal(38,0)"


def key_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of a key; raise `TaskFailed` for an unknown index."""
    index = options.get(INDEX, "")
    if index in _OF_THE_TABLE:
        return (KEY,)
    if index in _OF_A_PARTITION:
        return (PARTITION, KEY)
    raise refused(f"The index of the table is {index[:40]!a}, and it is not known where that index looks up a key.")


def order_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ordering columns, the most significant first; the greatest row stays."""
    stored = properties.get("hoodie.table.ordering.fields", properties.get("hoodie.table.precombine.field"))
    fields = columns_of(stored)
    return (_TIME, *fields, *_PLACES) if ordering_of(properties).ignored else (*fields, _TIME, *_PLACES)


@dataclass(frozen=True)
class Figures:
    """The number of keys with a checksum over them, the number of shared keys, and of surplus rows."""

    keys: int
    checksum: int
    doubled: int
    surplus: int


@dataclass(frozen=True)
class Doubles:
    """A table's rows with Hudi's columns, grouped by key; hashing of maps must be allowed."""

    rows: DataFrame
    key: tuple[str, ...]
    order: tuple[str, ...]

    def figures(self) -> Figures:
        """Count the keys."""
        found = self._counted.agg(
            sf.count("*").alias("keys"),
            sf.sum(sf.xxhash64(*self.key).cast(_SUM)).alias("checksum"),
            sf.coalesce(sf.sum(sf.when(sf.col(_COUNT) > 1, 1)), sf.lit(0)).alias("doubled"),
            sf.coalesce(sf.sum(sf.col(_COUNT) - 1), sf.lit(0)).alias("surplus"),
        ).first()
        assert found is not None, "a sum over nothing is a row as well"
        return Figures(int(found.keys), int(found.checksum or 0), int(found.doubled), int(found.surplus))

    def going(self, most: int) -> dict[str, int]:
        """Return the number of rows to remove per affected partition, for at most `most` + 1 partitions."""
        going = self._ranked.where(sf.col(_RANK) > 1).groupBy(PARTITION).count().orderBy(PARTITION)
        return {str(row[0] or ""): int(row[1]) for row in going.limit(most + 1).collect()}

    def staying(self, partitions: tuple[str, ...]) -> DataFrame:
        """Return all rows that stay in the partitions."""
        inside = sf.col(PARTITION).isin(*partitions)
        others = self.rows.where(inside).join(self._doubled, list(self.key), "left_anti")
        newest = self._ranked.where(inside & (sf.col(_RANK) == 1)).drop(_RANK)
        return others.select(*self._columns).unionByName(newest.select(*self._columns))

    def untouched(self, partitions: tuple[str, ...]) -> DataFrame:
        """Return all rows of other partitions."""
        return self.rows.where(~sf.col(PARTITION).isin(*partitions)).select(*self._columns)

    @property
    def _columns(self) -> list[Column]:
        return [column_named(name) for name in self.rows.columns]

    @cached_property
    def _counted(self) -> DataFrame:
        return self.rows.groupBy(*self.key).agg(sf.count("*").alias(_COUNT))

    @cached_property
    def _doubled(self) -> DataFrame:
        return self._counted.where(sf.col(_COUNT) > 1).drop(_COUNT)

    @cached_property
    def _ranked(self) -> DataFrame:
        """The rows with shared keys; the row that stays has rank 1."""
        order = [self._place(name).desc_nulls_last() for name in self.order]
        rows = self.rows.join(self._doubled, list(self.key), "left_semi")
        window = Window.partitionBy(*self.key).orderBy(*order, row_hash(rows).desc())
        return rows.withColumn(_RANK, sf.row_number().over(window))

    def _place(self, name: str) -> Column:
        column = column_named(name) if name in self.rows.columns else sf.col(name)
        return in_sequence(column) if name == _SEQUENCE else column


def in_sequence(column: Column) -> Column:
    """Return texts that sort Hudi's sequence numbers numerically: unpadded, record 10 sorts before record 9."""
    numbers = (sf.lpad(sf.regexp_extract(column, _NUMBERS, number), 19, "0") for number in (1, 2))
    return sf.concat(*numbers, column)
