"""The write itself: one Hudi commit that holds the rows and the checkpoint, confirmed by reading the timeline again.

The operator's options come complete. Here the operation is added, and two notes that Hudi copies into the commit's
extra metadata because `hoodie.datasource.write.commitmeta.key.prefix` names their prefix.
"""

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.clock.guard import instants_in_order
from hudi_jobs.contract import CHECKPOINT_KEY, METADATA_PREFIX, FailureReason, TableDefinition, WriteOperation
from hudi_jobs.existing_table import existing_options
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.table import HudiTable

COMBINES = "hoodie.combine.before.upsert"
"""Whether Hudi looks for rows of one key in what an upsert is given, which shuffles all records."""

_PARALLELISM = "hoodie.upsert.shuffle.parallelism"


def write_options(
    options: dict[str, str],
    operation: WriteOperation,
    *,
    notes: dict[str, str],
    checkpoint: str,
    one_of_each: bool = False,
) -> dict[str, str]:
    """Return the options of one write; `notes` tell its commit from all others.

    Of rows that are `one_of_each` key Hudi has none to combine. Who sets the parallelism of that shuffle wants the
    records spread by it, and keeps it.
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

    A continuous run leaves the same notes in each of its commits, and its checkpoint only in one.
    The timeline decides: a write that fails after its commit was completed has succeeded, and one that returns
    without a commit has failed.
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
