"""Finds the checkpoint that applies after a restore, and checks that its input still exists."""

from collections.abc import Collection
from dataclasses import replace

from hudi_jobs.commit_metadata import OPERATION_KEY, commit_metadata
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import CHECKPOINT_KEY, Checkpoint, FailureReason, OperationTableTask, WriteOperation
from hudi_jobs.ingestion.batch import Undone
from hudi_jobs.ingestion.checkpoint import decode_checkpoint, newest_progress
from hudi_jobs.ingestion.sources.registry import source_of
from hudi_jobs.ingestion.write import write_commit, write_options
from hudi_jobs.journal.records import RestoreRecord
from hudi_jobs.operations.refusal import refused
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import Commit, HudiTable

_ADVICE = (
    "Name a newer commit, or set reingest: false: ingestion then continues where it was, and reads nothing of what is "
    "undone again."
)


class SourceFailed(TaskFailed):
    """The source did not answer whether input can be read again: it may be down, or gone for good."""


def checkpoints_undone(table: HudiTable, removed: Collection[str]) -> Undone | None:
    """Return the checkpoints that these commits carry; None when the current checkpoint stays.

    A compaction requested before the target stays, also when it completed later and carries one of these checkpoints.
    """
    newest = newest_progress(table)
    at = newest_progress(table, without={*removed, *_carriers(table, removed)})
    if newest is None or newest == at:
        return None
    found = (one for commit in table.commits() if commit.instant in removed and (one := _checkpoint(commit)))
    return Undone(at, newest, (one for one in found if at is None or one.sequence > at.sequence))


def checkpoint_to_commit(
    table: HudiTable, removed: Collection[str], undone: Undone | None, *, reingest: bool
) -> Checkpoint | None:
    """Return the checkpoint to commit after a restore, or None when the table already has the right checkpoint.

    Raises `TaskFailed` when nothing had been read at the target, but a remaining commit carries a checkpoint.
    """
    if undone is None:
        return None
    if not reingest:
        return undone.newest
    if newest_progress(table, without=removed) == undone.at:
        return None
    if undone.at is None:
        raise refused(
            "A remaining compaction carries the checkpoint of undone commits, and there is no earlier checkpoint that "
            f"could replace it. {_ADVICE}"
        )
    return replace(undone.at, sequence=undone.newest.sequence + 1)


def _carriers(table: HudiTable, removed: Collection[str]) -> set[str]:
    """Return the remaining commits that carry a checkpoint of a removed commit, as services do."""
    left, going, beside = {*removed}, set[int](), dict[str, int]()
    for commit in table.commits():
        if not left:
            break
        one = _checkpoint(commit)
        if commit.instant in left:
            left.remove(commit.instant)
            going |= set() if one is None else {one.sequence}
        elif one is not None:
            beside[commit.instant] = one.sequence
    return {instant for instant, sequence in beside.items() if sequence in going}


def _checkpoint(commit: Commit) -> Checkpoint | None:
    return decode_checkpoint(commit.notes.get(CHECKPOINT_KEY))


def require_input(context: TaskContext[OperationTableTask], undone: Undone) -> None:
    """Refuse when the input of the undone checkpoints may not be readable again.

    Without a declared ingestion nothing is read, so there is no source to ask. Raises `SourceFailed` when the source
    does not answer.
    """
    task = context.task.ingestion
    if task is None:
        return
    try:
        said = other_kind(undone, task.source.kind) or source_of(context, task).not_again(undone)
    except TaskFailed as failure:
        raise SourceFailed(failure.reason, failure.message) from failure
    if said:
        raise refused(f"{said} {_ADVICE}")


def other_kind(undone: Undone, kind: str) -> str:
    """Return a sentence when the undone rows came from another kind of source than the declared source.

    A run never commits a checkpoint of another kind than the previous checkpoint (`require_kind`).
    """
    kinds = {one.kind for one in (undone.at, undone.newest) if one is not None} - {kind}
    if not kinds:
        return ""
    return (
        f"What is undone was read from a source of the kind {min(kinds)!a}, but the spec declares a source of the "
        f"kind {kind!a}, which does not read it again."
    )


def commit_checkpoint(context: TaskContext, record: RestoreRecord) -> str | None:
    """Commit the record's checkpoint without rows, once, and return the commit."""
    table = HudiTable.open(context.spark, context.task.table.base_path)
    if record.checkpoint is None or table is None:
        return None
    found = table.find_commit({OPERATION_KEY: record.uid, CHECKPOINT_KEY: record.checkpoint})
    if found is not None:
        return found
    schema = table.schema()
    if schema is None:
        raise TaskFailed(FailureReason.HUDI_ERROR, "The table has no schema, so no checkpoint can be committed to it.")
    notes = commit_metadata(context.run, context.task, context.asked_operation)
    options = write_options(context.task.hudi_options, WriteOperation.UPSERT, notes=notes, checkpoint=record.checkpoint)
    return write_commit(context.spark, context.spark.createDataFrame([], schema), context.task.table, options, notes)
