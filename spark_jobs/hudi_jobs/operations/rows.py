"""What a table holds at one of its commits, as counts and checksums by partition.

The checksum is the sum of a hash of each row, so neither the order of rows nor the files that they lie in count. A
column is hashed with its name, and one without a value counts for nothing: a schema that has grown since does not
change the sum.
"""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.as_found.metadata import ENABLED
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures.classification import stage
from hudi_jobs.operations.record import Part, Rows
from hudi_jobs.operations.restore.past import rows_as_of
from hudi_jobs.reading import read_rows
from hudi_jobs.table import HudiTable

MOST_PARTS = 10_000
"""Partitions that a record keeps by their names."""

LONGEST_NAMES = 500_000
"""Characters of the names of all of them."""

_HUDI = "_hoodie_"
_PARTITION, _KEY = "_hoodie_partition_path", "_hoodie_record_key"
_COUNT = "__count"
_HASHES_OF_MAPS = "spark.sql.legacy.allowHashOnMapType"
_SUM = "decimal(38,0)"


def count_rows(context: TaskContext) -> int:
    """Return how many rows the table has now."""
    with stage("The rows of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        return int(current_rows(context).count())


def rows_now(context: TaskContext, *, metadata_table: bool = False) -> Rows:
    """Return what the table holds now, by its metadata table or by listing its files."""
    with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return _summed(context, current_rows(context, metadata_table=metadata_table))


def current_rows(context: TaskContext, *, metadata_table: bool = False) -> DataFrame:
    """Return the rows of the table now, by its metadata table or by listing its files."""
    options, how = context.task.hudi_options, {ENABLED: str(metadata_table).lower()}
    return read_rows(context.spark, context.task.table.base_path, options, **how)


def indexed_by(table: HudiTable) -> tuple[str, ...]:
    """Return the columns by which a table's index of record keys tells rows from one another."""
    return (_PARTITION, _KEY) if table.has_partitioned_record_index() else (_KEY,)


def are_doubled(rows: DataFrame, key: tuple[str | Column, ...]) -> bool:
    """Tell whether rows have the same key as one another."""
    return not rows.groupBy(*key).agg(sf.count("*").alias(_COUNT)).where(sf.col(_COUNT) > 1).isEmpty()


def summed(context: TaskContext, frame: DataFrame) -> Rows:
    """Return what a frame holds that has the columns of the table, Hudi's own too."""
    with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return _summed(context, frame)


def rows_at(context: TaskContext, instant: str, without: Collection[str]) -> Rows:
    """Return what the table holds as of a commit, after which there are the instants `without`."""
    with stage(f"The rows as of commit {instant} cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return _summed(context, rows_as_of(context, instant, without))


def allow_maps(context: TaskContext) -> None:
    """Allow hashes of maps: Spark refuses them because equal ones may differ in order, and here stored ones count."""
    context.spark.conf.set(_HASHES_OF_MAPS, "true")


def _summed(context: TaskContext, frame: DataFrame) -> Rows:
    allow_maps(context)
    partition = sf.col(_PARTITION) if _PARTITION in frame.columns else sf.lit("")
    hashed = frame.select(partition.alias("path"), row_hash(frame).cast(_SUM).alias("hash"))
    return _folded(hashed.groupBy("path").agg(sf.count("*").alias("rows"), sf.sum("hash").alias("checksum")))


def row_hash(frame: DataFrame) -> Column:
    """Return a hash of each row, Hudi's own columns left out; hashes of maps have to be allowed (`allow_maps`)."""
    columns: list[Column] = []
    for name in sorted(frame.columns):
        if not name.startswith(_HUDI):
            column = sf.col(f"`{name.replace('`', '``')}`")
            # The hash leaves out what is null, so the name says in which column a value stands.
            columns += [sf.when(column.isNotNull(), sf.lit(name)), column]
    return sf.xxhash64(*columns)


def _folded(sums: DataFrame) -> Rows:
    """Add the partitions up, one at a time, and keep them apart while they are few."""
    rows = checksum = partitions = names = 0
    parts: list[Part] = []
    for each in sums.toLocalIterator():
        part = Part(path=str(each["path"] or ""), rows=int(each["rows"]), checksum=int(each["checksum"] or 0))
        rows, checksum, partitions = rows + part.rows, checksum + part.checksum, partitions + 1
        names += len(part.path)
        if partitions <= MOST_PARTS and names <= LONGEST_NAMES:
            parts.append(part)
    kept = sorted(parts, key=lambda part: part.path) if len(parts) == partitions else []
    return Rows(rows=rows, checksum=checksum, partitions=partitions, parts=tuple(kept))


def by_partition(expected: Rows, found: Rows) -> tuple[dict[str, Part], dict[str, Part]]:
    """Return the partitions of both by their paths, none unless both have them."""
    if not (expected.is_apart and found.is_apart):
        return {}, {}
    return {part.path: part for part in expected.parts}, {part.path: part for part in found.parts}


def difference(expected: Rows, found: Rows) -> str | None:
    """Return a sentence that says where rows differ, or None where they do not."""
    if expected.are_same(found):
        return None
    before, after = by_partition(expected, found)
    paths = [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
    shown = [f"{path or 'the table'} {_rows(before.get(path))} to {_rows(after.get(path))}" for path in paths[:3]]
    where = f" Rows by partition: {'; '.join(shown)}{f'; and {len(paths) - 3:,} more' if len(paths) > 3 else ''}."
    return (
        f"Expected {expected.rows:,} rows with the checksum {expected.checksum}, found {found.rows:,} with "
        f"{found.checksum}.{where if paths else ''}"
    )


def _rows(part: Part | None) -> str:
    return "none" if part is None else f"{part.rows:,}"
