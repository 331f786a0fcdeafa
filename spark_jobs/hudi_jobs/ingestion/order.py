"""Applies a source's order of rows and its deletes, which Hudi does not learn by itself."""

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from hudi_jobs.contract import FailureReason, IngestionTask, TableDefinition, WriteOperation
from hudi_jobs.contract.table.index import obstacles
from hudi_jobs.ingestion.rows import IS_DELETED, SEQUENCE, SourceRows
from hudi_jobs.ingestion.rules.columns import PartitionStyle, any_of, never, without_key
from hudi_jobs.ingestion.rules.quality import Counts
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable

_RANK, _ASIDE = "_rank", "_aside"
_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
_KEYS = (*_WHOLE_NUMBERS, StringType)
_PARTITIONS = (*_KEYS, DateType)
_ORDERINGS = (*_WHOLE_NUMBERS, DateType, TimestampType)


def require_marks(
    rows: SourceRows,
    schema: StructType,
    definition: TableDefinition,
    task: IngestionTask,
    computed: Collection[str] = (),
) -> None:
    """Raise `TaskFailed` when a transform drops the column that orders rows or marks deletes.

    `computed` are the columns that the transform makes itself. It may give the same key to both halves of an update,
    one of them a delete: they have the same place in the log.
    """
    present = set(schema.fieldNames())
    upserts = task.operation is WriteOperation.UPSERT
    if rows.ordered and upserts and not definition.ordering_fields and SEQUENCE not in present:
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The result of the transform has no column {SEQUENCE}, which tells which of two rows with the same key "
            "is newer. Select it in the transform, or declare orderingFields.",
        )
    made = next((name for name in definition.record_key if name in computed), None)
    if rows.ordered and rows.deletes and upserts and made is not None and SEQUENCE not in present:
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The transform computes the record key column {made}, so a delete may have the key of a row that came "
            f"with it, and the result has no column {SEQUENCE}, which tells which of them counts. Select it in the "
            "transform.",
        )
    if rows.deletes and IS_DELETED not in present:
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The result of the transform has no column {IS_DELETED}, without which deleted records would be written "
            "as rows. Select it in the transform.",
        )
    if rows.deletes and not isinstance(schema[IS_DELETED].dataType, BooleanType):
        raise TaskFailed(FailureReason.TRANSFORM_INVALID, f"The column {IS_DELETED} is no longer a boolean.")


def require_declared_order(
    rows: SourceRows, schema: StructType, names: Collection[str], computed: Collection[str]
) -> None:
    """Raise `TaskFailed` when an ordering field is a text only for lack of a declaration.

    Texts order as texts: of versions 9 and 10 the ninth would be the newer (apache/hudi#2075, #2345). The transform
    defines the types of `computed` columns.
    """
    texts = [name for name in names if rows.guessed and name not in computed]
    name = next((one for one in texts if isinstance(schema[one].dataType, StringType)), None)
    if name is not None:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The ordering field {name} is a text because the source declares no columns, and texts order as texts: "
            f"'9' is after '10'. Declare the columns of the source, with {name} as BIGINT or TIMESTAMP, or as STRING "
            f"where its texts order as they are (2026-01-31), or cast {name} in the transform.",
        )


def require_deletes(counts: Counts, computed: Collection[str]) -> None:
    """Raise `TaskFailed` when a transform's condition drops deletes, because their rows would stay for good.

    A transform that makes the mark itself, for example to keep deleted rows or to group all rows, may drop them.
    """
    if counts.left_out and IS_DELETED not in computed:
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The transform leaves out {counts.left_out:,} of {counts.deletes:,} deletes, so the rows that they delete "
            "would stay in the table. A delete may have no value but its key, so that a condition on another column "
            f"is not true of it. Let deletes pass, as in WHERE amount > 0 OR {IS_DELETED}.",
        )


def leaves_one_of_each(table: HudiTable | None, schema: StructType, definition: TableDefinition) -> bool:
    """Tell whether `last_of_each` can leave the row of each key that Hudi would keep.

    Then Hudi has no rows to combine, and need not shuffle all its records again
    (`HoodieWriteHelper.deduplicateRecords`). Hudi compares keys and partitions as texts, so only columns with a
    different text for each value qualify; and in a delete, an ordering value of zero counts as none.
    """
    if table is None or definition.index is None or any(obstacles(table.properties)):
        return False
    if definition.ordering_fields and IS_DELETED in schema.fieldNames():
        return False
    keys, partitions, ordering = (
        [schema[name].dataType for name in names]
        for names in (definition.record_key, definition.partition_by, definition.ordering_fields)
    )
    style = PartitionStyle.of(table)
    return (
        len(keys) == 1
        and max(len(partitions), len(ordering)) <= 1
        and all(isinstance(one, _KEYS) for one in keys)
        and all(isinstance(one, _ORDERINGS) for one in ordering)
        and all(isinstance(one, _PARTITIONS) for one in partitions)
        and not style.slashed
        and style.times is None
    )


def last_of_each(
    frame: DataFrame, definition: TableDefinition, task: IngestionTask, unwritable: Column, *, one_of_each: bool = False
) -> DataFrame:
    """Keep the last of rows that Hudi could not put in order, and drop the order column.

    Of rows in a write with the same key and equal or no ordering values, Hudi 1.2.0 keeps any. Only an upsert combines
    rows; other operations write every row. Rows that are never written, by the condition or for lack of a key, stay to
    be counted, and replace no earlier row. Of a delete and a row of the same place, as in an update when a transform
    restores the former key, the row stays.

    `one_of_each` also chooses by ordering values, so that a single row of each key remains.
    """
    if SEQUENCE not in frame.columns:
        return frame
    if task.operation is not WriteOperation.UPSERT:
        return frame.drop(SEQUENCE)
    ordering = [column_named(name) for name in definition.ordering_fields]
    alike = (*definition.record_key, *(() if one_of_each else definition.ordering_fields))
    same = [_told_apart(frame.schema, name) for name in alike]
    if not _is_global(definition):
        same += [_folder_of(frame.schema, name) for name in definition.partition_by]
    latest = [one.desc() for one in ordering] if one_of_each else []
    alive = [sf.col(IS_DELETED).asc()] if IS_DELETED in frame.columns else []
    window = Window.partitionBy(*same).orderBy(_ASIDE, *latest, sf.col(SEQUENCE).desc(), *alive)
    aside = any_of(without_key(frame.schema, definition.record_key)) | unwritable
    ranked = frame.withColumn(_ASIDE, aside).withColumn(_RANK, sf.row_number().over(window))
    return ranked.where((sf.col(_RANK) == 1) | sf.col(_ASIDE)).drop(_RANK, _ASIDE, SEQUENCE)


def _told_apart(schema: StructType, name: str) -> Column:
    """Return a column with a value per value of Hudi: Spark's windows take -0.0 for 0.0, and Hudi compares texts."""
    column = column_named(name)
    return column.cast("string") if isinstance(schema[name].dataType, FloatType | DoubleType) else column


def _folder_of(schema: StructType, name: str) -> Column:
    """Return a partition column with a value per folder: an empty text shares the folder of null."""
    column = _told_apart(schema, name)
    return sf.nullif(column, sf.lit("")) if isinstance(schema[name].dataType, StringType) else column


def with_mark_of_deletes(frame: DataFrame, table: StructType) -> DataFrame:
    """Return rows without deletes with the table's delete mark, if the table has this column."""
    if IS_DELETED not in table.fieldNames() or IS_DELETED in frame.columns:
        return frame
    return frame.withColumn(IS_DELETED, never())


def lost_deletes(definition: TableDefinition) -> dict[str, Column]:
    """Return for each partition column the condition for a delete without its value, which would delete nothing."""
    is_delete = sf.col(IS_DELETED).eqNullSafe(~never())
    return {name: is_delete & column_named(name).isNull() for name in definition.partition_by}


def _is_global(definition: TableDefinition) -> bool:
    return definition.index is not None and definition.index.startswith("Global")
