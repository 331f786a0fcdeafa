"""What a source knows of the order of its rows and of deletes, which Hudi does not learn by itself."""

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType, StructType

from hudi_jobs.contract import FailureReason, IngestionTask, TableDefinition, WriteOperation
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.partitions import never
from hudi_jobs.ingestion.quality import without_key
from hudi_jobs.ingestion.rows import IS_DELETED, SEQUENCE, SourceRows
from hudi_jobs.ingestion.types import column_named

_RANK, _ASIDE = "_rank", "_aside"


def require_marks(rows: SourceRows, schema: StructType, definition: TableDefinition, task: IngestionTask) -> None:
    """Raise `TaskFailed` where a transform has left out what tells the newer row, or the deleted one."""
    present = set(schema.fieldNames())
    upserts = task.operation is WriteOperation.UPSERT
    if rows.ordered and upserts and not definition.ordering_fields and SEQUENCE not in present:
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The result of the transform has no column {SEQUENCE}, which tells which of two rows with one key came "
            "later; select it as well, or declare orderingFields.",
        )
    if rows.deletes and IS_DELETED not in present:
        raise TaskFailed(
            FailureReason.TRANSFORM_INVALID,
            f"The result of the transform has no column {IS_DELETED}, without which deleted records would be written "
            "as rows; select it as well.",
        )
    if rows.deletes and not isinstance(schema[IS_DELETED].dataType, BooleanType):
        raise TaskFailed(FailureReason.TRANSFORM_INVALID, f"The column {IS_DELETED} is no longer a boolean.")


def last_of_each(frame: DataFrame, definition: TableDefinition, task: IngestionTask, unwritable: Column) -> DataFrame:
    """Keep of rows that Hudi could not put in order the one that came last, without the column that says so.

    Hudi 1.2.0 keeps any one of the rows of a write that have one key and equal ordering values, or no ordering fields.
    Only an upsert does; the other operations write every row. What is not written in any case, by the condition or
    because it has no key, stays for whoever counts it, and takes the place of no row before it.
    """
    if SEQUENCE not in frame.columns:
        return frame
    if task.operation is not WriteOperation.UPSERT:
        return frame.drop(SEQUENCE)
    same = [*definition.record_key, *definition.ordering_fields]
    if not _is_global(definition):
        same += definition.partition_by
    window = Window.partitionBy(*map(column_named, dict.fromkeys(same))).orderBy(_ASIDE, sf.col(SEQUENCE).desc())
    aside = without_key(frame.schema, definition.record_key) | unwritable
    ranked = frame.withColumn(_ASIDE, aside).withColumn(_RANK, sf.row_number().over(window))
    return ranked.where((sf.col(_RANK) == 1) | sf.col(_ASIDE)).drop(_RANK, _ASIDE, SEQUENCE)


def with_mark_of_deletes(frame: DataFrame, table: StructType) -> DataFrame:
    """Return rows of which none deletes with the mark that the table's rows have, where it has been given one."""
    if IS_DELETED not in table.fieldNames() or IS_DELETED in frame.columns:
        return frame
    return frame.withColumn(IS_DELETED, never())


def lost_deletes(definition: TableDefinition) -> Column:
    """Return the condition that a row is to delete a record and does not say in which partition: nothing would be."""
    unknown = reduce(or_, (column_named(name).isNull() for name in definition.partition_by), never())
    return sf.col(IS_DELETED).eqNullSafe(~never()) & unknown


def _is_global(definition: TableDefinition) -> bool:
    return definition.index is not None and definition.index.startswith("Global")
