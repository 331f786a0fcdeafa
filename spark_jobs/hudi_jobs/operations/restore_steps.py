"""Restores the table in steps that can each be repeated, and rechecks an operation that an earlier run has recorded.

A newer savepoint ends a restore midway, so it is deleted first. Undone instants may stay pending, as every clustering
does, and then writes to their files or later compactions fail, so they are rolled back afterwards. The metadata table
is removed before and rebuilt after: Hudi restores it only as far back as its own last compaction, and a run may be
killed in between.
"""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TypeGuard

from py4j.protocol import Py4JJavaError

from hudi_jobs.clock import zone_left_shown
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, OperationPhase
from hudi_jobs.contract.wording import listed
from hudi_jobs.existing_table import ENABLED, RECORD_INDEXES, partitions_of
from hudi_jobs.journal.history import History, Restore
from hudi_jobs.journal.records import RestoreRecord, Rows, VersionRecord
from hudi_jobs.operations.checkpoints import SourceFailed
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import UNCHANGED
from hudi_jobs.operations.rows import difference, rows_now
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import classes, elements, engine_context
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import WriteClient, write_client
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline
from hudi_jobs.table_services.unfinished_work import Others

_WITHOUT_BACKUP = False
_DOUBLED = "HoodieDuplicateKeyException"
_NAMED = 5

_LOG_FILES_APART_FROM = 8
"""The first version with the commit's own instant in the names of its log files."""

_MOST_STATES = 3
"""Most rollbacks of an instant: a clustering may be pending under two actions at once."""


def restore_of(context: TaskContext, record: RestoreRecord) -> Restore | None:
    """Return the restore that a run of this operation began or completed."""
    found = [each for each in _history(context).restores() if each.instant > record.newest]
    return next((each for each in reversed(found) if each.target == record.target), None)


def prepare(context: TaskContext, record: RestoreRecord) -> None:
    """Remove leftovers of dead writers, the savepoints of the record, and the metadata table."""
    Others(context).roll_back(load_timeline(context))
    timeline = load_timeline(context)
    present = {each.instant for each in timeline.savepoints()}
    with stage("The newer savepoints cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        for instant in record.removed:
            timeline.drop_begun_savepoint(instant)
        with _client(context, {ENABLED: "false"}) as client:
            for instant in record.savepoints:
                if instant in present:
                    client.delete_savepoint(instant)
    remove_metadata_table(context)


def remove_metadata_table(context: TaskContext) -> None:
    """Remove the metadata table, if any."""
    meta = load_timeline(context).meta
    with (
        stage("The metadata table cannot be removed", otherwise=FailureReason.HUDI_ERROR),
        zone_left_shown(context.spark, context.task.table.base_path),
    ):
        utilities = classes(context.spark).org.apache.hudi.metadata.HoodieTableMetadataUtil
        utilities.deleteMetadataTable(meta, engine_context(context.spark), _WITHOUT_BACKUP)


def drop_where_rows_are_missed(context: TaskContext, expected: Rows) -> None:
    """Remove the metadata table when its readers miss rows that listing the files shows."""
    wrong = difference(expected, rows_now(context, metadata_table=True)) if has_metadata_table(context) else None
    if wrong is not None:
        context.log("the metadata table is removed, because its readers miss rows", difference=wrong)
        remove_metadata_table(context)


def restore(context: TaskContext, record: RestoreRecord) -> Restore:
    """Restore the table to the record's target, or finish the restore, and return it from the timeline."""
    context.log("restoring", target=record.target, removed=len(record.removed))
    with (
        stage(f"The restore to {record.target} did not complete", otherwise=FailureReason.HUDI_ERROR),
        _client(context, {ENABLED: "false"}) as client,
    ):
        client.restore(record.target)
    found = restore_of(context, record)
    if found is None or not found.is_completed:
        raise TaskFailed(FailureReason.HUDI_ERROR, "Hudi returned without an error, but no restore has completed.")
    return found


def roll_back_what_stayed(context: TaskContext, done: Restore) -> None:
    """Roll back the instants that the restore undid but left pending.

    These are each clustering, and the service that the restore was undoing when its run ended: Hudi first makes a
    completed commit pending, which changes a service's action, and a continued restore skips an instant with another
    action than in its plan (`BaseRestoreActionExecutor.getInstantsToRollback`).
    """
    left: list[str] = []
    for _ in range(_MOST_STATES):
        left = _left_pending(context, done)
        if not left:
            load_timeline(context).drop_rollbacks_of(done.undone)
            return
        context.log("rolling back what the restore has left pending", instants=left)
        with (
            stage("What was undone and stays pending cannot be rolled back", otherwise=FailureReason.HUDI_ERROR),
            _client(context, {ENABLED: "false"}) as client,
        ):
            for instant in reversed(left):
                client.undo(instant)
    raise TaskFailed(FailureReason.HUDI_ERROR, f"What was undone stays pending: {listed(left, _NAMED)}.")


def _left_pending(context: TaskContext, done: Restore) -> list[str]:
    """Return the instants that the restore undid but left pending, oldest first.

    Before version 8 log files carry the instant of a pending compaction, and are removed with it. There, a compaction
    stays when others have written since.
    """
    table = HudiTable.existing(context.spark, context.task.table.base_path)
    timeline = Timeline(context.spark, table)
    left = sorted({each.instant for each in timeline.begun()} & {*done.undone})
    under = [each.instant for each in timeline.pending_compactions() if each.instant in left]
    if under and table.version < _LOG_FILES_APART_FROM:
        later = [each.instant for each in History(context.spark, timeline).writes if each.instant > done.instant]
        if later:
            raise TaskFailed(
                FailureReason.NOT_VERIFIED,
                f"The restore is complete except for the pending compaction {under[0]}. Its removal would remove what "
                f"others have written since ({listed(later, _NAMED)}). Another restore to the same commit "
                "undoes these writes and the compaction.",
            )
    return left


def remove_what_was_left(context: TaskContext) -> None:
    """Remove an earlier run's leftovers: a begun commit of the checkpoint, and a metadata table.

    The run may have been killed during either. A pending write would keep the metadata table from being rebuilt.
    """
    Others(context).roll_back(load_timeline(context))
    remove_metadata_table(context)


def has_metadata_table(context: TaskContext) -> bool:
    """Tell whether readers find a metadata table."""
    return bool(load_timeline(context).meta.getTableConfig().isMetadataTableAvailable())


def lost_metadata_table(context: TaskContext, options: Mapping[str, str]) -> str:
    """Return a sentence when the metadata table of these options no longer exists.

    A write creates only the indexes that options name (see `existing_table`).
    """
    if not options or has_metadata_table(context):
        return ""
    is_indexed = any(options.get(option) == "true" for option in RECORD_INDEXES)
    first = "remove rows with the same key (repair.deduplicate), if there are any; " if is_indexed else ""
    indexes = sorted(partitions_of(options) - {"files"})
    without = f", without {listed(indexes, len(indexes))}" if indexes else ""
    how = f"{first}declare metadataTable.enabled, and the next write creates it{without}"
    return f"The metadata table no longer exists: {how}."


def remake_metadata_table(context: TaskContext, metadata_options: Mapping[str, str]) -> None:
    """Rebuild the table's metadata table, unless instants are pending (see `existing_table`).

    A savepoint that a run left pending would prevent the rebuild for good, so it is dropped first. Hudi cannot build a
    record index over rows with the same key; then no metadata table remains.
    """
    with stage("The metadata table cannot be rebuilt", otherwise=FailureReason.HUDI_ERROR):
        Others(context).drop_savepoints(load_timeline(context))
        if not metadata_options:
            return
        try:
            with _client(context, metadata_options) as client:
                client.initialise_metadata_table()
        except Py4JJavaError as error:
            if _DOUBLED not in str(error):
                raise
            context.log("no metadata table is made, because rows have the same key")
            remove_metadata_table(context)


def _client(context: TaskContext, options: Mapping[str, str]) -> AbstractContextManager[WriteClient]:
    return write_client(context.spark, context.task.table.base_path, {**context.task.hudi_options, **options})


def _history(context: TaskContext) -> History:
    return History(context.spark, load_timeline(context))


_FINAL = frozenset(
    {
        FailureReason.OPERATION_REFUSED,
        FailureReason.INVALID_REQUEST,
        FailureReason.TABLE_MISMATCH,
        FailureReason.TIMELINE_ZONE_UNKNOWN,
        FailureReason.FILE_SLICES_UNCERTAIN,
        FailureReason.PATH_OUTSIDE_TABLE,
        FailureReason.SOURCE_NOT_FOUND,
        FailureReason.UPSTREAM_UNSUPPORTED,
        FailureReason.UPSTREAM_REWOUND,
        FailureReason.CHECKPOINT_DAMAGED,
    }
)
"""Reasons that never resolve by themselves: repeating an operation that failed for them would never succeed."""


def require_nothing_come(come: Collection[str], unchanged: str) -> None:
    """Raise `TaskFailed` when instants appeared or disappeared after the check read the rows."""
    if come:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The timeline has changed since the table was checked ({listed(sorted(come), _NAMED)}), so {unchanged}, "
            "and another run checks again. Stop all other writers.",
        )


def is_final(error: Exception) -> TypeGuard[TaskFailed]:
    """Tell whether a repeated check would always fail."""
    return isinstance(error, TaskFailed) and error.reason in _FINAL


def not_begun_again(
    work: OperationRun, earlier: RestoreRecord | VersionRecord, error: Exception, *, savepoints: Collection[str] = ()
) -> None:
    """Report what an earlier run recorded; on a final refusal, drop the record and raise.

    A report in the phase Checking says that the table is unchanged, so the refusal ends the operation. The earlier run
    may have removed the `savepoints` and the metadata table: the refusal says so. A missing source is retried only
    until the operation's budget of failures is used up, so that a person can delete the operation.
    """
    report, options = earlier.report(), earlier.metadata_options
    only_checked = report.copy_with(phase=OperationPhase.CHECKING)
    work.report(report)
    if not is_final(error):
        if isinstance(error, TaskFailed):
            remake_metadata_table(work.context, options)
        if isinstance(error, SourceFailed):
            left = removed_before(work, options, savepoints)
            work.report(only_checked)
            raise TaskFailed(error.reason, f"{error.message} {left}".rstrip())
        return
    remake_if_possible(work, options)
    left = removed_before(work, options, savepoints)
    work.journal.forget(earlier.uid)
    work.report(only_checked)
    bare = error.message.removesuffix(UNCHANGED).rstrip()
    raise TaskFailed(FailureReason.OPERATION_REFUSED, f"{bare} {UNCHANGED} {left}".rstrip())


def removed_before(work: OperationRun, options: Mapping[str, str], savepoints: Collection[str]) -> str:
    """Return sentences on the savepoints and the metadata table that an earlier run removed, or an empty text."""
    gone = set(savepoints) - {each.instant for each in load_timeline(work.context).savepoints()}
    named = listed(sorted(gone, reverse=True), _NAMED)
    saved = f"But an earlier run has already removed the savepoints of these commits: {named}." if gone else ""
    return f"{saved} {lost_metadata_table(work.context, options)}".strip()


def remake_if_possible(work: OperationRun, options: Mapping[str, str]) -> None:
    """Rebuild the metadata table; remove it when it could only be rebuilt in part."""
    try:
        remake_metadata_table(work.context, options)
    except TaskFailed as failure:
        work.context.log("the metadata table is not made again", reason=failure.reason, why=failure.message)
        made = load_timeline(work.context).meta.getTableConfig().getMetadataPartitions()
        if not partitions_of(options) <= {str(name) for name in elements(made)}:
            remove_metadata_table(work.context)
