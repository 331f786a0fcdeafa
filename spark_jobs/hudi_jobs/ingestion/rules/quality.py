"""Rows that must not be written: unparsable, unfit for their columns, or without key, order or partition.

Hudi 1.2.0 writes a row without an ordering value and cannot compare it (`BufferedRecordMergerFactory`, HUDI issue
19636). From then on every write to its file group fails, and in a MergeOnRead table every read too.

The pass that materialises the rows for the writer also counts them, so a good run reads its input once. Only a run with
bad rows reads the source again, to locate them or to copy them to the quarantine.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import shortened
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, IS_DELETED, SourceRows
from hudi_jobs.ingestion.rules.columns import any_of, never
from hudi_jobs.schemas.row_faults import UNFIT
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import fill_cache, in_shuffle_files, query_execution

_MOST_EXAMPLES = 3
_COLUMNS_TOLD = 5
_LONGEST_NAME = 100
_SOURCE = "source"
_KEPT = "kept"
_LIMIT = re.compile("(Global|Local)Limit")


@dataclass(frozen=True)
class Counts:
    """Counts of a run's rows: all rows of the source, the unparsable rows, and the rows by each fault.

    `passed_over` counts items that are no rows, such as messages without a value. `deletes` are rows of the source that
    delete their record, and `deleting` the deletes among the transform's rows.
    """

    read: int
    corrupt: int
    keyless: int
    misplaced: int = 0
    passed_over: int = 0
    unordered: int = 0
    unfit: int = 0
    ambiguous: Mapping[str, int] = field(default_factory=dict)
    """The counts by column of the record key."""
    deletes: int = 0
    deleting: int = 0

    @property
    def bad(self) -> int:
        """Rows that the table does not get."""
        return self.corrupt + self.unwritable

    @property
    def unwritable(self) -> int:
        """Rows that are readable and cannot be written."""
        return self.keyless + sum(self.ambiguous.values()) + self.misplaced + self.unordered + self.unfit

    @property
    def left_out(self) -> int:
        """Deletes that the transform left out."""
        return max(self.deletes - self.deleting, 0)


@dataclass(frozen=True)
class Faults:
    """The conditions, by column, of rows that are not written: no whole key, no partition, no ordering value.

    `ambiguous` are the conditions that another row may have the same key. A row that is `unfit` for its columns meets
    no other condition: each bad row counts once.
    """

    keyless: Mapping[str, Column]
    misplaced: Mapping[str, Column]
    unordered: Mapping[str, Column]
    ambiguous: Mapping[str, Column] = field(default_factory=dict)
    unfit: Column = field(default_factory=never)

    def beside_unfit(self, unfit: Column) -> "Faults":
        """Return the conditions, each for rows that fit the declared columns."""

        def fit(conditions: Mapping[str, Column]) -> dict[str, Column]:
            return {name: ~unfit & one for name, one in conditions.items()}

        return Faults(fit(self.keyless), fit(self.misplaced), fit(self.unordered), fit(self.ambiguous), unfit)

    @property
    def has_no_key(self) -> Column:
        """Whether a row's record key is not whole."""
        return any_of(self.keyless)

    @property
    def ambiguous_in(self) -> dict[str, Column]:
        """Whether the first ambiguous column in a row's whole key is this column."""
        found, before = {}, self.has_no_key
        for name, condition in self.ambiguous.items():
            found[name] = ~before & condition
            before |= condition
        return found

    @property
    def unidentified(self) -> Column:
        """Whether a row has no record key of its own."""
        return self.has_no_key | any_of(self.ambiguous)

    @property
    def only_misplaced(self) -> Column:
        """Whether a row has a record key of its own and no partition: each bad row counts once."""
        return ~self.unidentified & any_of(self.misplaced)

    @property
    def only_unordered(self) -> Column:
        """Whether a row has a key and a partition, and no ordering value."""
        return ~self.unidentified & ~any_of(self.misplaced) & any_of(self.unordered)

    @property
    def any(self) -> Column:
        """Whether a row is not written."""
        return self.unidentified | any_of(self.misplaced) | any_of(self.unordered) | self.unfit


def without_order(names: Sequence[str]) -> dict[str, Column]:
    """Return for each ordering column the condition that a row lacks its value."""
    return {name: column_named(name).isNull() for name in names}


def observed(rows: SourceRows) -> DataFrame:
    """Return the parsed rows; reading them also counts all rows."""
    return replace(rows, frame=rows.frame.observe(_SOURCE, *_source_counts(rows))).parsed


def observed_faults(frame: DataFrame, faults: Faults) -> DataFrame:
    """Return the rows to write; reading them also counts the rows that must not be written, and deletes."""
    has_deletes = isinstance(frame.schema[IS_DELETED].dataType, BooleanType) if IS_DELETED in frame.columns else False
    deleting = sf.when(sf.col(IS_DELETED), 1) if has_deletes else sf.lit(None)
    return frame.observe(
        _KEPT,
        sf.count(sf.when(faults.has_no_key, 1)).alias("keyless"),
        sf.count(sf.when(faults.only_misplaced, 1)).alias("misplaced"),
        sf.count(sf.when(faults.only_unordered, 1)).alias("unordered"),
        sf.count(deleting).alias("deleting"),
        sf.count(sf.when(faults.unfit, 1)).alias("unfit"),
        *(sf.count(sf.when(one, 1)).alias(f"ambiguous_{n}") for n, one in enumerate(faults.ambiguous_in.values())),
    )


def keep(rows: SourceRows, frame: DataFrame, faults: Faults, *, shuffled: bool) -> tuple[DataFrame, Counts]:
    """Compute the rows to write once and keep them; return a frame that reads them again, and the counts.

    Rows that were shuffled after they were counted are read from the shuffle's files; other rows are kept in the cache.

    Spark leaves the source out, or reads only its beginning, if the transform needs no more of it (`WHERE false`,
    `LIMIT`). Then a separate pass counts the source's rows, so that no bad row goes unnoticed.
    """
    is_whole = not _LIMIT.search(str(query_execution(frame).analyzed().toString()))
    kept, found = in_shuffle_files(frame) if shuffled else (frame, {})
    if _KEPT not in found:
        kept = (observed_faults(kept, faults) if shuffled else kept).persist(StorageLevel.MEMORY_AND_DISK)
        found |= fill_cache(kept)
    read, corrupt, passed_over, deletes = found[_SOURCE] if is_whole and _SOURCE in found else _count_source(rows)
    keyless, misplaced, unordered, deleting, unfit, *ambiguous = found[_KEPT]
    return kept, Counts(
        read=read,
        corrupt=corrupt,
        keyless=keyless,
        misplaced=misplaced,
        passed_over=passed_over,
        unordered=unordered,
        unfit=unfit,
        ambiguous=dict(zip(faults.ambiguous, ambiguous, strict=True)),
        deletes=deletes,
        deleting=deleting,
    )


def count_unparsable(rows: SourceRows) -> Counts:
    """Count rows without any column, and so without a record key."""
    read, corrupt, passed_over, _ = _count_source(rows)
    return Counts(read=read, corrupt=corrupt, keyless=read - corrupt - passed_over, passed_over=passed_over)


def _count_source(rows: SourceRows) -> Row:
    return rows.frame.agg(*_source_counts(rows)).collect()[0]


def _source_counts(rows: SourceRows) -> tuple[Column, Column, Column, Column]:
    corrupt = sf.count(rows.is_corrupt) if rows.may_be_corrupt else sf.count(sf.lit(None))
    passed_over = sf.lit(None) if rows.passed_over is None else sf.when(column_named(rows.passed_over), 1)
    is_good = sf.col(CORRUPT_RECORD).isNull() if rows.may_be_corrupt else ~never()
    deletes = sf.when(sf.col(IS_DELETED) & is_good, 1) if rows.deletes else sf.lit(None)
    return (
        sf.count(sf.lit(1)).alias("read"),
        corrupt.alias("corrupt"),
        sf.count(passed_over).alias("passed_over"),
        sf.count(deletes).alias("deletes"),
    )


def refuse(counts: Counts, rows: SourceRows, unwritable: tuple[DataFrame, Faults]) -> None:
    """Raise `TaskFailed` with the counts of bad rows, and the places or columns of bad rows."""
    if counts.corrupt:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{counts.corrupt:,} of {counts.read:,} rows cannot be read as {rows.format}"
            f"{_examples(rows)}; correct the source, or set the policy for bad records to Quarantine.",
        )
    if counts.unfit:
        frame, faults = unwritable
        unfit = frame.where(faults.unfit)
        fault = unfit.agg(sf.min(UNFIT)).collect()[0][0]
        told = columns_told(by_column(unfit, sf.col(UNFIT)["column"]))
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{counts.unfit:,} of {counts.read:,} rows do not fit their columns:{_why(fault).removeprefix(':')}. "
            f"{told} Correct the source, convert the values in the transform, or set the policy for bad records to "
            "Quarantine.",
        )
    if counts.keyless:
        raise TaskFailed(
            FailureReason.RECORD_KEY_NULL,
            f"{counts.keyless:,} of {counts.read:,} rows have no value in a record key column; correct the source, "
            "fill the key in the transform, or set the policy for bad records to Quarantine.",
        )
    for name, number in counts.ambiguous.items():
        _refuse_ambiguous(name, number, counts.read)
    if counts.unordered:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{counts.unordered:,} of {counts.read:,} rows have no value in an ordering column. Hudi could not change "
            "the rows stored beside them or, in a MergeOnRead table, read those. Correct the source, fill the "
            "column in the transform, or set the policy for bad records to Quarantine.",
        )
    raise TaskFailed(
        FailureReason.BAD_RECORDS,
        f"{counts.misplaced:,} of {counts.read:,} rows have a value in a partition column that does not map to a "
        "folder of its own inside the table (see the documentation of partitionBy); correct the source, replace the "
        "value in the transform, or set the policy for bad records to Quarantine.",
    )


def _refuse_ambiguous(name: str, number: int, read: int) -> None:
    if number:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"{number:,} of {read:,} rows have in the record key column {name} a text with which another row could "
            "have the same key and silently replace it: Hudi writes a key of several columns as name:value,name:value, "
            "and __empty__ for an empty text. Such a text is __empty__, __null__, or holds a comma, the name of the "
            "next key column and a colon. Correct the source, replace the value in the transform, or set the policy "
            "for bad records to Quarantine.",
        )


def by_column(corrupt: DataFrame, name: Column) -> Counter[str]:
    """Return bad rows by the column in their fault; `whole row` where no column is known."""
    column = sf.coalesce(name, sf.lit("whole row"))
    found = corrupt.groupBy(column.alias("column")).agg(sf.count(sf.lit(1)).alias("rows"))
    most = found.orderBy(sf.desc("rows"), "column").limit(_COLUMNS_TOLD + 1).collect()
    return Counter({str(row["column"]): int(row["rows"]) for row in most})


def columns_told(columns: Mapping[str, int]) -> str:
    """Return a sentence with the columns that made the most rows bad."""
    most = sorted(((rows, name) for name, rows in columns.items() if rows), key=lambda one: (-one[0], one[1]))
    told = [f"{shortened(name, _LONGEST_NAME)} {rows:,}" for rows, name in most[:_COLUMNS_TOLD]]
    return f"Bad rows by column: {', '.join(told)}{', and others' * (len(most) > _COLUMNS_TOLD)}."


def _examples(rows: SourceRows) -> str:
    corrupt = rows.corrupt
    if corrupt is None or rows.origin is None:
        return ""
    origin = rows.origin.name
    with rows.reading():
        count, fault = sf.count(sf.lit(1)).alias("count"), sf.min(FAULT).alias(FAULT)
        places = corrupt.groupBy(origin).agg(count, fault).orderBy(sf.desc("count"), origin)
        found = places.limit(_MOST_EXAMPLES + 1).collect()
    named = [f"{row['count']:,} in {row[origin]}{_why(row[FAULT])}" for row in found[:_MOST_EXAMPLES]]
    return f" ({', '.join(named)}{', and more' if len(found) > _MOST_EXAMPLES else ''})"


def _why(fault: Row | None) -> str:
    """Return the column and the cause of a fault, escaped and bounded: the column's name comes from a file."""
    if fault is None:
        return ""
    column = "" if fault["column"] is None else f"column {fault['column'][:_LONGEST_NAME]!a} "
    return f": {column}{fault['cause']}"
