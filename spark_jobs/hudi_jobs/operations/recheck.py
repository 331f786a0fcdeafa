"""Rechecks an operation that an earlier run has recorded but not yet carried out."""

from collections.abc import Collection, Mapping
from typing import TypeGuard

from hudi_jobs.contract import FailureReason, OperationPhase
from hudi_jobs.contract.wording import listed
from hudi_jobs.existing_table.metadata import partitions_of
from hudi_jobs.failures import TaskFailed
from hudi_jobs.journal.restore_record import RestoreRecord
from hudi_jobs.journal.version_record import VersionRecord
from hudi_jobs.jvm import elements
from hudi_jobs.operations.checkpoints import SourceFailed
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import UNCHANGED
from hudi_jobs.operations.restore_steps import lost_metadata_table, remake_metadata_table, remove_metadata_table
from hudi_jobs.services.preparation import load_timeline

_NAMED = 5

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
