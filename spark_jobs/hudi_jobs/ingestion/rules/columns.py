"""Refuses columns that a batch cannot be written with, and names such columns after a failure of Hudi."""

from collections.abc import Sequence

from pyspark.sql.types import StructType

from hudi_jobs.contract import INDEX_KEY, FailureReason, TableType, Task, WriteOperation
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rules.partitions import PartitionStyle
from hudi_jobs.schemas.old_lists import lists_of_one_field
from hudi_jobs.schemas.writable import Finding, Roles, findings, twins, unread_partitions
from hudi_jobs.table import HudiTable

_SMALL_FILES = "hoodie.parquet.small.file.limit"
_OF_OLD_LISTS = ("is not a group", "Parquet/Avro schema mismatch")
"""The signs of Hudi's failure to read a list of structs with one field (apache/hudi#19782, apache/hudi#5985)."""

_MOST = 5


def roles_of(task: Task, operation: WriteOperation, table: HudiTable | None) -> Roles:
    """Return the roles of the columns of a task's table; the table is None before its first commit."""
    definition, options = task.table, task.hudi_options
    # Updates of a MergeOnRead table go to log files, unless the same batch has new rows for the small base file.
    in_logs = options.get(INDEX_KEY, "").startswith("Bucket") or options.get(_SMALL_FILES) == "0"
    times = PartitionStyle.of(table).times
    return Roles(
        record_key=definition.record_key,
        partition_by=definition.partition_by,
        ordering=definition.ordering_fields,
        operation=operation,
        rewrites=definition.type is TableType.COPY_ON_WRITE or not in_logs,
        times=frozenset() if times is None else times.columns,
    )


def require_distinct_names(schema: StructType) -> None:
    """Raise `TaskFailed` for columns with the same name; no later check works on a frame with such columns."""
    _require(list(twins(schema)))


def require_writable(schema: StructType, roles: Roles, stored: StructType | None) -> None:
    """Raise `TaskFailed` for columns that Hudi cannot write or read back; `stored` are the table's columns."""
    _require(list(findings(schema, roles, stored=stored)))


def partitions_unread(table: HudiTable | None, schema: StructType | None, roles: Roles) -> str:
    """Return a remark on partition columns of an existing table with values that readers do not get back.

    Encoded folder names may come from a writer with times that readers understand.
    """
    if schema is None or PartitionStyle.of(table).encoded:
        return ""
    return " ".join(one.sentence for one in unread_partitions(schema, roles.partition_by, roles.times))


def explained(failure: TaskFailed, schema: StructType, roles: Roles) -> TaskFailed:
    """Return a failure of Hudi with the columns of the table that are known to fail."""
    if failure.reason is not FailureReason.HUDI_ERROR:
        return failure
    known = [one.sentence for one in findings(schema, roles)]
    lists = lists_of_one_field(schema) if any(text in failure.message for text in _OF_OLD_LISTS) else ()
    known += [
        f"The column {column} is an array of structs with one field, which Hudi cannot read in files of releases until "
        "now; cluster the table once, or compact it."
        for column, _ in lists
    ]
    if not known:
        return failure
    return TaskFailed(
        failure.reason, f"{failure.message.rstrip()} Known to fail in this table: {' '.join(known[:_MOST])}"
    )


def _require(found: Sequence[Finding]) -> None:
    if found:
        more = f" And {len(found) - _MOST} more." if len(found) > _MOST else ""
        sentences = " ".join(one.sentence for one in found[:_MOST])
        raise TaskFailed(FailureReason.SCHEMA_INCOMPATIBLE, f"{sentences}{more} Nothing was written.")
