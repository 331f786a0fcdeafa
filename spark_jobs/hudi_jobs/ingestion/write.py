"""Writes a Hudi commit that holds the rows and the checkpoint, and confirms it from the timeline.

The operator's options are complete. This module adds the operation, and two notes that Hudi copies into the commit's
extra metadata because `hoodie.datasource.write.commitmeta.key.prefix` names their prefix.
"""

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.clock import instants_in_order
from hudi_jobs.contract import CHECKPOINT_KEY, METADATA_PREFIX, FailureReason, TableDefinition, WriteOperation
from hudi_jobs.existing_table import existing_options
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable

COMBINES = "hoodie.combine.before.upsert"
"""Whether Hudi combines rows of the same key in the input of an upsert, which shuffles all records."""

_PARALLELISM = "hoodie.upsert.shuffle.parallelism"


def write_options(
    options: dict[str, str],
    operation: WriteOperation,
    *,
    notes: dict[str, str],
    checkpoint: str,
    one_of_each: bool = False,
) -> dict[str, str]:
    """Return the options of a write; `notes` distinguish its commit from all other commits.

    Rows that are `one_of_each` key need no combining by Hudi. An option for the parallelism of that shuffle means that
    the records shall be spread by it, so it keeps the shuffle.
    """
    return {
        **options,
        **({COMBINES: "false"} if one_of_each and _PARALLELISM not in options else {}),
        "hoodie.datasource.write.operation": operation.hudi_name,
        "hoodie.datasource.write.commitmeta.key.prefix": METADATA_PREFIX,
        CHECKPOINT_KEY: checkpoint,
        **notes,
    }


def write_commit(
    spark: SparkSession, frame: DataFrame, table: TableDefinition, options: dict[str, str], notes: dict[str, str]
) -> str:
    """Write the frame and return the instant of the commit that carries the notes and the checkpoint.

    A continuous run leaves the same notes in each of its commits, and its checkpoint only in one of them. The timeline
    decides: a write that fails after its commit was completed has succeeded, and a write that returns without a commit
    has failed.
    """
    failure: TaskFailed | None = None
    try:
        with (
            stage("Hudi could not write", otherwise=FailureReason.HUDI_ERROR),
            instants_in_order(spark, table.base_path, options) as zoned,
        ):
            kept = existing_options(HudiTable.open(spark, table.base_path), zoned)
            frame.write.format("hudi").options(**kept).mode("append").save(table.base_path)
    except TaskFailed as error:
        failure = error
    with stage("The table's timeline cannot be read after the write", otherwise=FailureReason.HUDI_ERROR):
        written = HudiTable.open(spark, table.base_path)
        instant = None if written is None else written.find_commit({**notes, CHECKPOINT_KEY: options[CHECKPOINT_KEY]})
    if instant is not None:
        return instant
    raise failure or TaskFailed(
        FailureReason.HUDI_ERROR, "Hudi returned without an error, but the timeline has no commit."
    )
