"""Applies an erasure to the table, in steps that can each be repeated, also to keys with several rows.

Seen with Hudi 1.2.0: of several rows in one file a delete removes the first, so it is repeated. The record index of a
metadata table knows one place for each key, and cannot be rebuilt beside rows with the same key
(`HoodieDuplicateKeyException`). With a bucket index Hudi refuses to write to a partition with two files of one bucket.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.commit_metadata import ERASED_KEY
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    ConcurrencyMode,
    FailureReason,
    Outcome,
    PlannedServiceTask,
    RunMode,
    Service,
    TableType,
    TaskResult,
    WriteOperation,
    as_service,
)
from hudi_jobs.existing_table import has_record_index
from hudi_jobs.journal.records import EraseRecord
from hudi_jobs.operations.check import come_since, in_zone_of_table
from hudi_jobs.operations.erase.keys import PARTITION, RECORD_KEY, Keys, file_group, with_key
from hudi_jobs.operations.operation_run import OperationRun, commit_of, write_as
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.restore_steps import require_nothing_come
from hudi_jobs.operations.rows import are_doubled, current_rows, indexed_by, is_in_buckets
from hudi_jobs.preflight.key_gate import are_found_again
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.cleaning import clean
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.clustering import cluster
from hudi_jobs.table_services.compaction import EVERY_LOG_FILE, compact
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline
from hudi_jobs.table_services.unfinished_work import Others

MOST_COPIES = 20
"""Most rows of a key in a file: each needs a commit of its own."""

_GROUP = "_hoodie_file_group"
_BUCKET = 8
"""Length of the bucket number at the start of a file group's id (`BucketIdentifier`)."""

_ADVICE = "Remove all but the newest row of each key first (repair.deduplicate)."


def require_deletable(work: OperationRun, rows: DataFrame, keys: Keys) -> None:
    """Refuse keys with rows that deletes would leave, or that would keep the metadata table from being rebuilt."""
    found = with_key(rows, keys).withColumn(_GROUP, file_group())
    most = found.groupBy(PARTITION, _GROUP, RECORD_KEY).count().agg(sf.max("count")).first()
    if most is not None and (most[0] or 0) > MOST_COPIES:
        raise refused(f"A key has {most[0]:,} rows in one file; at most {MOST_COPIES} are supported. {_ADVICE}")
    is_indexed = has_record_index(work.table.properties)
    if is_indexed and are_doubled(with_key(rows, keys, without=True), indexed_by(work.table)):
        raise refused(
            "The table has an index of record keys, and other rows share a key, so Hudi could not rebuild that "
            f"index. {_ADVICE} Where a key may be in several partitions, drop that index."
        )
    if is_in_buckets(work.context.task.hudi_options):
        _require_one_file_of_a_bucket(rows, found)


def lie_apart(rows: DataFrame) -> bool:
    """Tell whether rows of the same key are in several file groups."""
    places = rows.withColumn(_GROUP, file_group()).select(PARTITION, _GROUP, RECORD_KEY).distinct()
    return are_doubled(places, (RECORD_KEY,))


def _require_one_file_of_a_bucket(rows: DataFrame, found: DataFrame) -> None:
    places = sf.broadcast(found.select(PARTITION).distinct())
    groups = rows.join(places, PARTITION, "left_semi").select(PARTITION, file_group().alias(_GROUP)).distinct()
    if are_doubled(groups, (PARTITION, sf.substring(_GROUP, 1, _BUCKET))):
        raise refused(
            "A partition of these records has two files of one bucket, as bulk inserts make them, so Hudi "
            f"cannot delete its rows. {_ADVICE}"
        )


_CLEANING = {
    "hoodie.clean.fileversions.retained": "1",
    "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.clean.trigger.max.commits": "0",
    "hoodie.clean.trigger.strategy": "NUM_COMMITS",
}
"""Keeps only the newest version of each file group, and no version of a replaced file group (`CleanPlanner`)."""

_MOST_ROUNDS = 100

_BY_HUDIS_COLUMNS = "_hoodie.spark.sql.writes.prepped"
"""Makes Hudi delete by its meta columns, as `DELETE` of Spark SQL does, instead of recomputed keys."""


def require_as_checked(context: TaskContext, seen: Timeline) -> None:
    """Raise `TaskFailed` when the table changed after the check.

    Rows written since are not among the expected rows, and a new savepoint would keep the keys.
    """
    with stage("The table cannot be looked at again", otherwise=FailureReason.HUDI_ERROR):
        timeline = load_timeline(context)
        come = come_since(context, timeline, seen.commits())
        come |= {each.instant for each in {*timeline.savepoints()} ^ {*seen.savepoints()}}
    require_nothing_come(come, "nothing was erased")


def prepare(context: TaskContext, record: EraseRecord) -> None:
    """Remove leftovers of dead writers, plans of clusterings, and the savepoints of the record."""
    Others(context).roll_back(load_timeline(context))
    _require_no_write_left(context)
    for pending in load_timeline(context).pending_clusterings():
        planned = PlannedServiceTask(mode=RunMode.ROLL_BACK, instant=pending.instant)
        _required(cluster(_for(context, Service.CLUSTERING, {}, planned=planned)))
    _release(context, record.savepoints)


def _release(context: TaskContext, instants: Sequence[str]) -> None:
    """Delete savepoints, also a savepoint that a killed run left pending.

    Hudi makes a savepoint pending before it deletes it (`SavepointHelpers.deleteSavepoint`). A pending instant would
    keep the metadata table from being rebuilt.
    """
    with stage("The savepoints cannot be released", otherwise=FailureReason.HUDI_ERROR):
        timeline = load_timeline(context)
        for instant in instants:
            timeline.drop_begun_savepoint(instant)
        present = {each.instant for each in timeline.savepoints()} & set(instants)
        if not present:
            return
        with write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client:
            for instant in sorted(present):
                client.delete_savepoint(instant)


def _require_no_write_left(context: TaskContext) -> None:
    """Raise while a pending write remains: its files may hold keys, so nothing can be proven.

    With a lock, Hudi's next write leaves the pending write alone, and a killed run of this operation shows a heartbeat
    for some minutes. Without a lock Hudi rolls it back itself.
    """
    left = load_timeline(context).unfinished_writes()
    if left and context.task.concurrency is ConcurrencyMode.OPTIMISTIC:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The write {left[0]} has not completed, and its writer may still be at work, so nothing more is erased "
            "for now. The write is rolled back once its heartbeat has expired.",
        )


def delete_rows(context: TaskContext, record: EraseRecord, keys: Keys) -> str | None:
    """Delete the rows until none is left, and return the last commit; None when there were no rows.

    Of several rows with the same key in a file, a delete removes a single row, so log files are merged before the next
    delete.
    """
    found = commit_of(context, record.uid)
    for _ in range(MOST_COPIES + 1):
        rows = _left(context, keys)
        if rows is not None and found is not None:
            _merge_logs(context)
            rows = _left(context, keys)
        if rows is None:
            return found
        found = _delete(context, record, rows, after=found)
    raise TaskFailed(FailureReason.HUDI_ERROR, "Each time Hudi deletes the rows of the keys, some remain.")


def _left(context: TaskContext, keys: Keys) -> DataFrame | None:
    rows = with_key(current_rows(context), keys)
    return None if rows.isEmpty() else rows


def _delete(context: TaskContext, record: EraseRecord, rows: DataFrame, *, after: str | None) -> str:
    told = {ERASED_KEY: record.erased.digest or ""}
    with in_zone_of_table(context):  # the same zone as for the write
        table = HudiTable.existing(context.spark, context.task.table.base_path)
        is_found = are_found_again(context.spark, table, context.task.hudi_options, rows)
    if is_found and after is None and not (has_record_index(table.properties) and lie_apart(rows)):
        rows = rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_")))
    else:
        told[_BY_HUDIS_COLUMNS] = "true"
    doing = "Hudi could not delete the rows"
    return write_as(context, record.uid, rows, WriteOperation.DELETE, options=told, doing=doing, after=after)


def remove_versions(context: TaskContext, record: EraseRecord) -> int:
    """Merge every log file into its base file, and remove all versions that the newest commit does not need.

    Returns how many files the operation's cleans removed, including cleans of killed runs.
    """
    _merge_logs(context)
    _repeated(lambda: clean(_for(context, Service.CLEANING, _CLEANING)))
    return load_timeline(context).files_cleaned(record.newest)


def _merge_logs(context: TaskContext) -> None:
    if context.task.table.type is TableType.MERGE_ON_READ:
        _repeated(lambda: compact(_for(context, Service.COMPACTION, EVERY_LOG_FILE)))


def _for(context: TaskContext, service: Service, options: dict[str, str], **changes: PlannedServiceTask) -> TaskContext:
    """Return the context for a service under the operation's lease.

    The service makes no savepoint for a takeover: with rows still in log files, the savepoint would keep the keys.
    """
    task = context.task
    merged = {**task.hudi_options, **options}
    return context.of(as_service(task, service, savepoint=None, hudi_options=merged, **changes))


def _repeated(work: Callable[[], TaskResult]) -> None:
    """Repeat a service until it has nothing to do."""
    for _ in range(_MOST_ROUNDS):
        if _required(work()).outcome is Outcome.NOTHING_TO_DO:
            return
    raise TaskFailed(FailureReason.HUDI_ERROR, "Hudi keeps finding more to do; see the driver's log.")


def _required(result: TaskResult) -> TaskResult:
    if result.outcome not in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}:
        raise TaskFailed(result.reason or FailureReason.CONFLICT, result.message)
    return result
