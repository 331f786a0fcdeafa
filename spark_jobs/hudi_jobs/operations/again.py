"""A check that is made again, because an earlier run has recorded its own and changed nothing that cannot be undone."""

from collections.abc import Collection, Mapping
from typing import TypeGuard

from hudi_jobs.as_found.metadata import partitions_of
from hudi_jobs.contract import FailureReason, OperationPhase
from hudi_jobs.contract.wording import listed
from hudi_jobs.failures import TaskFailed
from hudi_jobs.jvm import elements
from hudi_jobs.operations.refusal import UNCHANGED
from hudi_jobs.operations.restore.checkpoints import SourceFailed
from hudi_jobs.operations.restore.record import RestoreRecord
from hudi_jobs.operations.restore.steps import lost_metadata_table, remake_metadata_table, remove_metadata_table
from hudi_jobs.operations.versions.record import VersionRecord
from hudi_jobs.operations.work import Work
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
"""Reasons that do not pass by themselves, so that an operation with a record would be repeated without end."""


def require_nothing_come(come: Collection[str], unchanged: str) -> None:
    """Raise `TaskFailed` for instants that have come to the table, or gone, since its check read every row."""
    if come:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The timeline has changed since the table was checked ({listed(sorted(come), _NAMED)}), so {unchanged}, "
            "and another run checks again. Stop all other writers.",
        )


def is_final(error: Exception) -> TypeGuard[TaskFailed]:
    """Whether a check that is made again would fail for ever."""
    return isinstance(error, TaskFailed) and error.reason in _FINAL


def not_begun_again(
    work: Work, earlier: RestoreRecord | VersionRecord, error: Exception, *, savepoints: Collection[str] = ()
) -> None:
    """Report what an earlier run has recorded; forget it, and raise a refusal, where every later run would meet that.

    A report that only came to check says that the table is whole, so that a refusal is final. But the earlier run may
    have removed the `savepoints` and the metadata table: the refusal says so. Nor is a source waited for without end
    that may be gone: such a report lets the budget of failures end the operation, and a person delete it.
    """
    report, options = earlier.report(), earlier.metadata_options
    only_checked = report.model_copy(update={"phase": OperationPhase.CHECKING})
    work.say(report)
    if not is_final(error):
        if isinstance(error, TaskFailed):
            remake_metadata_table(work.context, options)
        if isinstance(error, SourceFailed):
            left = removed_before(work, options, savepoints)
            work.say(only_checked)
            raise TaskFailed(error.reason, f"{error.message} {left}".rstrip())
        return
    remake_if_possible(work, options)
    left = removed_before(work, options, savepoints)
    work.journal.forget(earlier.uid)
    work.say(only_checked)
    bare = error.message.removesuffix(UNCHANGED).rstrip()
    raise TaskFailed(FailureReason.OPERATION_REFUSED, f"{bare} {UNCHANGED} {left}".rstrip())


def removed_before(work: Work, options: Mapping[str, str], savepoints: Collection[str]) -> str:
    """Return sentences on the savepoints and the metadata table that an earlier run has removed, or nothing."""
    gone = set(savepoints) - {each.instant for each in load_timeline(work.context).savepoints()}
    named = listed(sorted(gone, reverse=True), _NAMED)
    saved = f"But an earlier run has already removed the savepoints of these commits: {named}." if gone else ""
    return f"{saved} {lost_metadata_table(work.context, options)}".strip()


def remake_if_possible(work: Work, options: Mapping[str, str]) -> None:
    """Make the metadata table again; where that fails, leave none rather than a part of it."""
    try:
        remake_metadata_table(work.context, options)
    except TaskFailed as failure:
        work.context.log("the metadata table is not made again", reason=failure.reason, why=failure.message)
        made = load_timeline(work.context).meta.getTableConfig().getMetadataPartitions()
        if not partitions_of(options) <= {str(name) for name in elements(made)}:
            remove_metadata_table(work.context)
