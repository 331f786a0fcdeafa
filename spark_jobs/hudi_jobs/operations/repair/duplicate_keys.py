"""Finds rows that share a key, ranks the row that stays first, and counts the rows to remove for the record.

A key is the record key, with its partition when the table's index looks up keys within partitions. The row that wins by
Hudi's rules for the table stays: that with the greatest ordering value, and among equals that of the newest commit; or,
when the last write wins, that of the newest commit. Rows equal in all of these are ordered by their place in the
commit, and finally by content, so that every run keeps the same row.

After an earlier run's count other commits may have come; then everything is counted again.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.index import obstacles
from hudi_jobs.contract.table.merging import columns_of, ordering_of
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.existing_table import has_record_index, metadata_partitions
from hudi_jobs.journal.records import RepairRecord, Rows
from hudi_jobs.operations.check import metadata_options_of, require_known_indexes, require_same_rows
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.repair_step import Found, require_at_rest, require_no_heartbeat, rows_to_keep
from hudi_jobs.operations.restore_steps import lost_metadata_table, remake_metadata_table
from hudi_jobs.operations.rows import (
    BUCKET,
    INDEX,
    are_doubled,
    current_rows,
    indexed_by,
    is_in_buckets,
    row_hash,
    summed,
)
from hudi_jobs.preflight.key_gate import require_keys
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline

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


MOST_PARTITIONS = 1_000
"""Most partitions to overwrite in a repair."""

_LONGEST_NAMES = 100_000
"""Characters of all partition names together, which are a single option of the write."""

BETWEEN = ","
"""Separator of the partition names."""

IS_DELETED = "_hoodie_is_deleted"
_NAMED = 3


@dataclass(frozen=True)
class DuplicateCount:
    """The result of a look: the figures, and the number of rows to remove per partition."""

    doubles: Doubles
    figures: Figures
    going: Mapping[str, int]

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions with rows to remove."""
        return tuple(sorted(self.going))

    @property
    def what(self) -> str:
        """The effect of the repair, as a sentence part."""
        going = [f"{path or 'the table'} {count:,}" for path, count in self.going.items()]
        rows, keys = counted(self.figures.surplus, "older row"), counted(self.figures.doubled, "key")
        where = counted(len(self.going), "partition")
        return f"remove {rows} of {keys} and rewrite {where} (rows to remove: {listed(going, _NAMED)})"


def look(work: OperationRun) -> Found:
    """Count the shared keys of a table at rest, and check that its rows can be rewritten."""
    with work.obstacles.each():
        require_no_heartbeat(work.context)
    require_at_rest(work, load_timeline(work.context), "such a commit")
    require_plans_inside(work.context)
    _require_rewritable(work)
    commits = load_timeline(work.context).commits()
    seen = count_duplicates(work)
    if not seen.figures.surplus:
        return Found("remove no row, because no key occurs twice", is_nothing=True)
    return Found(seen.what, _recorded(work, seen, commits))


def _require_rewritable(work: OperationRun) -> None:
    for sentence in obstacles(work.table.properties):
        with work.obstacles.each():
            raise refused(sentence)
    with work.obstacles.each():
        require_known_indexes(work.table)
    with work.obstacles.each():
        require_same_rows(work, "The deduplication")
    work.obstacles.require_none()


def _recorded(work: OperationRun, seen: DuplicateCount, commits: Collection[str]) -> dict[str, Any]:
    """Return the figures for the record; refuse rows that the overwrite could not write or would lose."""
    if seen.figures.surplus:
        by_rows = is_in_buckets(work.context.task.hudi_options)
        require_keys(work.context.spark, work.table, work.context.task, by_rows=by_rows)
        with work.obstacles.each():
            _require_writable(seen)
        _require_indexable(work.table, seen.doubles)
    rows = rows_to_keep(work)
    return {
        "rows_before": rows.rows,
        "expected": _expected(seen) if seen.figures.surplus else rows,
        "count": seen.figures.surplus,
        "keys": seen.figures.keys,
        "keys_checksum": seen.figures.checksum,
        "commits_before": tuple(sorted(commits)),
        "metadata_options": metadata_options_of(work.table),
        "indexes": tuple(sorted(metadata_partitions(work.table.properties))),
    }


def count_duplicates(work: OperationRun) -> DuplicateCount:
    """Count the shared keys now."""
    context, table = work.context, work.table
    key, order = key_columns(context.task.hudi_options), order_of(table.properties)
    with stage("The keys of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        doubles = Doubles(current_rows(context), key, order)
        figures = doubles.figures()
        going = doubles.going(MOST_PARTITIONS) if figures.surplus else {}
    if len(going) > MOST_PARTITIONS:
        raise refused(f"Rows would be removed from more than {MOST_PARTITIONS:,} partitions, too many for one commit.")
    return DuplicateCount(doubles, figures, going)


def _require_writable(seen: DuplicateCount) -> None:
    """Refuse partition names that an option cannot hold, and rows that a write would treat as deletes."""
    if any(BETWEEN in path for path in seen.partitions):
        raise refused("A partition with such rows has a comma in its name, so it cannot be overwritten alone.")
    if sum(map(len, seen.partitions)) > _LONGEST_NAMES:
        raise refused("The names of the partitions with such rows are too long for one commit.")
    rows = seen.doubles.rows
    if IS_DELETED in rows.columns:
        with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
            if not rows.where(rows[IS_DELETED]).isEmpty():
                raise refused(f"The table has rows with {IS_DELETED}, which a write would leave out.")


def _require_indexable(table: HudiTable, doubles: Doubles) -> None:
    """Refuse keys in several partitions together with a record index over the whole table."""
    if not has_record_index(table.properties) or set(doubles.key) <= set(indexed_by(table)):
        return
    with stage("The keys of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        if are_doubled(doubles.rows.select(*doubles.key).distinct(), indexed_by(table)):
            raise refused(
                "The index of the table looks up keys within their partition only, some keys are in several "
                "partitions, and the metadata table has an index of record keys of the whole table, which Hudi "
                "could not rebuild; drop that index."
            )


def _expected(seen: DuplicateCount) -> Rows:
    """Return the rows that the table will hold."""
    doubles, partitions = seen.doubles, seen.partitions
    return summed(doubles.untouched(partitions).unionByName(doubles.staying(partitions)))


def counted_again(work: OperationRun, record: RepairRecord) -> tuple[RepairRecord, DuplicateCount]:
    """Return the current count and the record with it: commits may have come after an earlier look."""
    commits = load_timeline(work.context).commits()
    with _giving_back_the_metadata_table(work, record):
        seen = count_duplicates(work)
        if commits == {*record.commits_before}:
            _require_as_recorded(seen.figures, record)
            return record, seen
        _require_rewritable(work)
        record = record.following(_recorded(work, seen, commits))
    work.save(record)
    return record, seen


def _require_as_recorded(found: Figures, record: RepairRecord) -> None:
    if (found.surplus, found.keys, found.checksum) != (record.count, record.keys, record.keys_checksum):
        raise TaskFailed(
            FailureReason.HUDI_ERROR,
            "The keys of the table are not those that were counted before, although no commit has come since; no row "
            "was removed. Find out what else changes the files of the table.",
        )


@contextmanager
def _giving_back_the_metadata_table(work: OperationRun, record: RepairRecord) -> Iterator[None]:
    """Rebuild a metadata table that an earlier run removed, before raising a final refusal."""
    try:
        yield
    except TaskFailed as error:
        if error.reason is not FailureReason.OPERATION_REFUSED:
            raise
        remake_metadata_table(work.context, record.metadata_options)
        lost = lost_metadata_table(work.context, record.metadata_options)
        raise TaskFailed(error.reason, f"{error.message} {lost}".rstrip()) from error
