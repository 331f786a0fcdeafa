"""Fills in the values that updates lack; an event with an unresolved value is bad."""

from collections.abc import Sequence

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, IS_DELETED
from hudi_jobs.ingestion.rules.record_text import corrupt_text
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unavailable import MISSING, filled
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, field
from hudi_jobs.reading import read_rows
from hudi_jobs.schemas.types import column_named
from hudi_jobs.table import HudiTable


def with_values(
    context: TaskContext, task: IngestionTask, table: HudiTable | None, rows: DataFrame, lacking: dict[str, Column]
) -> DataFrame:
    """Fill in the values that updates lack; an event with an unresolved value becomes a bad record."""
    definition = context.task.table
    keys = tuple(dict.fromkeys((*definition.record_key, *definition.partition_by)))
    # A transform's output is not the column's former value.
    if task.transform_sql is not None or not set(keys) <= set(rows.columns):
        keys = ()
    has_rows = keys and table is not None and table.has_schema
    stored = read_rows(context.spark, definition.base_path, context.task.hudi_options) if has_rows else None
    found = filled(rows, lacking, keys=keys, ordering=definition.ordering_fields, table=stored)
    found = found.persist(StorageLevel.MEMORY_AND_DISK)
    if task.bad_records is BadRecordPolicy.FAIL:
        _refuse_missing(found, task)
    return as_bad_records(found, sf.size(MISSING) > 0, rows.columns)


def as_bad_records(rows: DataFrame, bad: Column, columns: Sequence[str], *, marks: Sequence[str] = ()) -> DataFrame:
    """Return these columns with `bad` rows reduced to their `marks`, without values."""
    own = [name for name in columns if name not in {MESSAGE, CORRUPT_RECORD, IS_DELETED, *marks}]
    kept = [sf.when(~bad, column_named(name)).alias(name) for name in own]
    corrupt = sf.when(bad, corrupt_text(field("value"))).otherwise(sf.col(CORRUPT_RECORD)).alias(CORRUPT_RECORD)
    return rows.select(MESSAGE, *kept, *marks, corrupt, (sf.col(IS_DELETED) & ~bad).alias(IS_DELETED))


def _refuse_missing(rows: DataFrame, task: IngestionTask) -> None:
    by_column = (
        rows.select(sf.explode(MISSING).alias("name")).groupBy("name").count().orderBy("name").limit(10).collect()
    )
    if not by_column:
        return
    named = ", ".join(f"{row['name']} of {counted(row['count'], 'update')}" for row in by_column)
    why = (
        "with a transform they cannot be taken from the table"
        if task.transform_sql
        else "the table has no older values"
    )
    raise TaskFailed(
        FailureReason.BAD_RECORDS,
        f"PostgreSQL did not send unchanged large values ({named}), and {why}; set REPLICA IDENTITY FULL for its "
        "table, and have the connector take a new snapshot of the rows.",
    )
