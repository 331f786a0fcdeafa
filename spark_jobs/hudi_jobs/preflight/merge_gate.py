"""Checks that Hudi 1.2.0 merges a table's log files to the same rows as the tool that wrote them.

Hudi 1.2.0 reads the same rows before and after a compaction, so its own reads reveal no difference.
"""

from pyspark.sql import DataFrame

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.merging import EarlierMerge, earlier_merge_of
from hudi_jobs.contract.table.properties import shown
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.preflight.log_records import NotComparable
from hudi_jobs.preflight.record_frames import keys_merged_otherwise
from hudi_jobs.table import HudiTable

_NAMED = 3
_ADVICE = (
    "Compact the table once with the tool that wrote it, which writes the rows that it reads; or leave the table in "
    "Observe."
)


def require_same_merge(context: TaskContext, table: HudiTable, doing: str) -> None:
    """Raise `TaskFailed` if log files would merge to different rows; `doing` names the merging operation."""
    sentence = merge_refusal(context, table, doing)
    if sentence is not None:
        raise TaskFailed(FailureReason.ROWS_WOULD_CHANGE, f"{sentence} Nothing was planned.")


def merge_refusal(context: TaskContext, table: HudiTable, doing: str) -> str | None:
    """Return why log files may not be merged, or None.

    The opened table's properties tell for free whether rows can differ; only then the table is read again.
    """
    merge = earlier_merge_of(table.properties)
    if merge is None:
        return None
    with stage("The log files of the table cannot be compared", otherwise=FailureReason.HUDI_ERROR):
        now = HudiTable.existing(context.spark, table.base_path)
        try:
            found = keys_merged_otherwise(context.spark, now, merge, context.task.hudi_options)
        except NotComparable as reason:
            return f"{doing} of {table.base_path} may change rows: {reason} {_ADVICE}"
        return None if found is None else _told(found, merge, f"{doing} of {table.base_path}")


def _told(found: DataFrame, merge: EarlierMerge, doing: str) -> str | None:
    groups = found.groupBy("file_group").count()
    keys, number = groups.selectExpr("coalesce(sum(count), 0)", "count(*)").collect()[0]
    if not keys:
        return None
    named = [shown(row.file_group) for row in groups.orderBy("count", "file_group", ascending=False).take(_NAMED)]
    payload = merge.payload if merge.is_stored else "no payload class"
    return (
        f"{doing} would change {counted(keys, 'row')}. Log files hold late changes: Hudi 0.x ranks them by "
        f"{shown(merge.ordering)}, and Hudi 1.2.0 merges them otherwise (table version 6, {payload}). File groups: "
        f"{listed(named, _NAMED, count=number)}. {_ADVICE}"
    )
