"""What a restore does to the checkpoint: which one counts afterwards, and whether its input is still there."""

from collections.abc import Collection

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    Checkpoint,
    FailureReason,
    KafkaSource,
    WriteOperation,
)
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.checkpoint import newest_checkpoint
from hudi_jobs.ingestion.sources.kafka.offsets.losses import named
from hudi_jobs.ingestion.sources.kafka.source import Kafka
from hudi_jobs.ingestion.write import write_commit, write_options
from hudi_jobs.notes import OPERATION_KEY, commit_notes
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.restore.record import RestoreRecord
from hudi_jobs.table import HudiTable


def checkpoint_at(table: HudiTable, removed: Collection[str]) -> Checkpoint | None:
    """Return the newest checkpoint of the commits that stay."""
    staying = (commit.notes for commit in table.commits() if commit.instant not in removed)
    return newest_checkpoint(notes[CHECKPOINT_KEY] for notes in staying if CHECKPOINT_KEY in notes)


def require_input(context: TaskContext, checkpoint: Checkpoint | None) -> None:
    """Refuse where messages that are to be read again are no longer in their topics."""
    task = context.task.ingestion
    if task is None or checkpoint is None or not isinstance(task.source, KafkaSource):
        return
    losses = Kafka(context, task).losses_after(checkpoint)
    if losses:
        raise refused(
            f"Messages that would have to be read again are no longer in the topic ({named(losses)}); restore to a "
            "newer commit, or without reading again."
        )


def commit_checkpoint(context: TaskContext, record: RestoreRecord) -> str | None:
    """Commit the checkpoint from before a restore without rows, unless that has been done; return the commit."""
    table = HudiTable.open(context.spark, context.task.table.base_path)
    if record.checkpoint is None or table is None:
        return None
    found = table.find_commit({OPERATION_KEY: record.uid, CHECKPOINT_KEY: record.checkpoint})
    if found is not None:
        return found
    schema = table.schema()
    if schema is None:
        raise TaskFailed(FailureReason.HUDI_ERROR, "The table has no schema, so no checkpoint can be committed to it.")
    notes = commit_notes(context.run, context.task)
    options = write_options(context.task.hudi_options, WriteOperation.UPSERT, notes=notes, checkpoint=record.checkpoint)
    return write_commit(context.spark, context.spark.createDataFrame([], schema), context.task.table, options, notes)
