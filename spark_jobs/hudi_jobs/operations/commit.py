"""Writes the only commit of an operation at most once, and finds it again by the operation's uid."""

from pyspark.sql import DataFrame

from hudi_jobs.clock.guard import instants_in_order
from hudi_jobs.commit_metadata import OPERATION_KEY, commit_metadata
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import METADATA_PREFIX, FailureReason, WriteOperation
from hudi_jobs.existing_table import existing_options
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.table import HudiTable

_ALONE = {
    "hoodie.archive.automatic": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.clustering.inline": "false",
    "hoodie.compact.inline": "false",
}
"""Keeps services out of the write: an inline clean would follow the table's own policy and retain old versions."""


def commit_of(context: TaskContext, uid: str) -> str | None:
    """Return the commit that the operation has already written, or None."""
    with stage("The table's timeline cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        return None if table is None else table.find_commit({OPERATION_KEY: uid})


def write_as(
    context: TaskContext,
    uid: str,
    rows: DataFrame,
    operation: WriteOperation,
    *,
    options: dict[str, str],
    doing: str,
    after: str | None = None,
) -> str:
    """Write rows without Hudi's meta columns as the operation's commit, and return its instant.

    The timeline decides: a write that fails after its commit completed has succeeded. `doing` names what failed in
    messages, and `after` is an earlier commit of the same operation.
    """
    base_path = context.task.table.base_path
    options = {
        **context.task.hudi_options,
        **_ALONE,
        "hoodie.datasource.write.operation": operation.hudi_name,
        "hoodie.datasource.write.commitmeta.key.prefix": METADATA_PREFIX,
        **options,
        **commit_metadata(context.run, context.task, context.asked_operation),
        OPERATION_KEY: uid,
    }
    failure: TaskFailed | None = None
    try:
        with (
            stage(doing, otherwise=FailureReason.HUDI_ERROR),
            instants_in_order(context.spark, base_path, options) as zoned,
        ):
            kept = existing_options(HudiTable.open(context.spark, base_path), zoned)
            rows.write.format("hudi").options(**kept).mode("append").save(base_path)
    except TaskFailed as error:
        failure = error
    found = commit_of(context, uid)
    if found is not None and found != after:
        return found
    raise failure or TaskFailed(FailureReason.HUDI_ERROR, "Hudi returned without an error, but there is no commit.")
