"""Counts and checksums a table's rows by partition, now or as of a commit, beside newer commits and plans.

Hudi's own time travel refuses a commit from before the last clean, even with a savepoint, and a commit from after a
pending write (`TimelineUtils.validateTimestampAsOf`). So the relation gets the timeline that a restore to that commit
would leave. Nothing is written.

The checksum is the sum of a hash of each row, so it does not depend on the order of rows, on files, or on the order of
map entries, which Hudi changes when it copies rows. A column is hashed with its name, and a null counts for nothing, so
added columns do not change the sum.
"""

from collections.abc import Collection, Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from hudi_jobs.clock import completions_in_order
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.existing_table import ENABLED
from hudi_jobs.journal.records import Part, Rows
from hudi_jobs.schemas.types import column_named, has_type
from hudi_jobs.spark.failures import stage
from hudi_jobs.spark.jvm import JavaObject, classes, frame_of_relation, scala_map, spark_session
from hudi_jobs.table import HudiTable, read_rows

_AS_OF = "as.of.instant"
_COMPACTION = "compaction"
_NEVER = frozenset({"clean", "restore"})


def rows_as_of(context: TaskContext, instant: str, without: Collection[str]) -> DataFrame:
    """Return the rows at a completed commit; `without` are the later instants, which a restore would undo."""
    spark, base_path = context.spark, context.task.table.base_path
    with completions_in_order(spark, base_path, context.task.hudi_options):
        return _rows_as_of(spark, base_path, instant, without)


def _rows_as_of(spark: SparkSession, base_path: str, instant: str, without: Collection[str]) -> DataFrame:
    table = HudiTable.existing(spark, base_path)
    jvm, meta = classes(spark), table.meta
    given = scala_map(spark, {"path": base_path, ENABLED: "false", _AS_OF: instant})
    options = jvm.org.apache.hudi.DataSourceOptionsHelper.parametersWithReadDefaults(given)
    source = getattr(getattr(jvm.org.apache.hudi, "DefaultSource$"), "MODULE$")
    relation = source.createRelation(spark_session(spark).sqlContext(), meta, None, options)
    # Making the relation has read the timeline again; the files are listed when the rows are read.
    timeline, left = meta.getActiveTimeline(), jvm.java.util.ArrayList()
    for each in timeline.getInstants():
        if _stays(each, instant, without):
            left.add(each)
    timeline.setInstants(left)
    return frame_of_relation(spark, relation)


def _stays(each: JavaObject, instant: str, without: Collection[str]) -> bool:
    """Tell whether the timeline holds an instant after a restore; pending compactions define file slices."""
    time, action = str(each.requestedTime()), str(each.getAction())
    if time in without or action in _NEVER:
        return False
    return bool(each.isCompleted()) or (action == _COMPACTION and time < instant)


INDEX, BUCKET = "hoodie.index.type", "BUCKET"


def is_in_buckets(options: Mapping[str, str]) -> bool:
    """Tell whether the hash of a key decides its file within the partition."""
    return options.get(INDEX) == BUCKET


MOST_PARTS = 10_000
"""Most partitions that a record stores by name."""

LONGEST_NAMES = 500_000
"""Characters of all stored partition names together."""

_HUDI = "_hoodie_"
_PARTITION, _KEY = "_hoodie_partition_path", "_hoodie_record_key"
_COUNT = "__count"
_SUM = "decimal(38,0)"


def count_rows(context: TaskContext) -> int:
    """Return the number of rows now."""
    with stage("The rows of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        return int(current_rows(context).count())


def rows_now(context: TaskContext, *, metadata_table: bool = False) -> Rows:
    """Return the table's rows as sums, through its metadata table or by listing its files."""
    with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return _summed(current_rows(context, metadata_table=metadata_table))


def current_rows(context: TaskContext, *, metadata_table: bool = False) -> DataFrame:
    """Return the table's rows, through its metadata table or by listing its files."""
    options, how = context.task.hudi_options, {ENABLED: str(metadata_table).lower()}
    return read_rows(context.spark, context.task.table.base_path, options, **how)


def indexed_by(table: HudiTable) -> tuple[str, ...]:
    """Return the columns that identify a row in the table's record index."""
    return (_PARTITION, _KEY) if table.has_partitioned_record_index() else (_KEY,)


def are_doubled(rows: DataFrame, key: tuple[str | Column, ...]) -> bool:
    """Tell whether rows share a key."""
    return not rows.groupBy(*key).agg(sf.count("*").alias(_COUNT)).where(sf.col(_COUNT) > 1).isEmpty()


def summed(frame: DataFrame) -> Rows:
    """Return the sums of a frame with the table's columns, including Hudi's own."""
    with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return _summed(frame)


def rows_at(context: TaskContext, instant: str, without: Collection[str]) -> Rows:
    """Return the sums as of a commit; `without` are the later instants."""
    with stage(f"The rows as of commit {instant} cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return _summed(rows_as_of(context, instant, without))


def _summed(frame: DataFrame) -> Rows:
    partition = sf.col(_PARTITION) if _PARTITION in frame.columns else sf.lit("")
    hashed = frame.select(partition.alias("path"), row_hash(frame).cast(_SUM).alias("hash"))
    return _folded(hashed.groupBy("path").agg(sf.count("*").alias("rows"), sf.sum("hash").alias("checksum")))


def row_hash(frame: DataFrame) -> Column:
    """Return a hash of each row without Hudi's own columns."""
    columns: list[Column] = []
    for field in sorted(frame.schema.fields, key=lambda field: field.name):
        if not field.name.startswith(_HUDI):
            column = column_named(field.name)
            # xxhash64 skips nulls, so the name tells which column holds a value.
            columns += [sf.when(column.isNotNull(), sf.lit(field.name)), _without_maps(column, field.dataType)]
    return sf.xxhash64(*columns)


def _without_maps(value: Column, kind: DataType) -> Column:
    """Return a value with each map replaced by an array of its entries, sorted by key.

    Spark neither hashes nor compares maps, because equal maps may differ in order. Map keys contain no maps.
    """
    match kind:
        case MapType():
            part = kind.valueType
            entries = sf.transform(
                sf.map_entries(value), lambda each: sf.struct(each["key"], _without_maps(each["value"], part))
            )
            return sf.sort_array(entries)
        case ArrayType() if has_type(kind, MapType):
            part = kind.elementType
            return sf.transform(value, lambda each: _without_maps(each, part))
        case StructType() if has_type(kind, MapType):
            parts = [_without_maps(value[field.name], field.dataType) for field in kind.fields]
            return sf.when(value.isNotNull(), sf.struct(*parts))
        case _:
            return value


def _folded(sums: DataFrame) -> Rows:
    """Add up the partitions one at a time, and keep them while they are few."""
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
    """Return the partitions of both sides by path; empty unless both have them."""
    if not (expected.is_apart and found.is_apart):
        return {}, {}
    return {part.path: part for part in expected.parts}, {part.path: part for part in found.parts}


def difference(expected: Rows, found: Rows) -> str | None:
    """Return a sentence on the difference, or None when the rows are equal."""
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
