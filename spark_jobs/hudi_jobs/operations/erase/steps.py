"""What an erasure does to the table, in steps that may each be done again."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from hudi_jobs.as_found.metadata import has_record_index
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
)
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.gates.key_gate import are_found_again
from hudi_jobs.notes import ERASED_KEY
from hudi_jobs.operations.again import require_nothing_come
from hudi_jobs.operations.check import come_since, in_zone_of_table
from hudi_jobs.operations.commit import commit_of, write_as
from hudi_jobs.operations.erase.copies import MOST_COPIES, lie_apart
from hudi_jobs.operations.erase.keys import Keys, with_key
from hudi_jobs.operations.erase.record import EraseRecord
from hudi_jobs.operations.rows import current_rows
from hudi_jobs.services.cleaning import clean
from hudi_jobs.services.client import write_client
from hudi_jobs.services.clustering import cluster
from hudi_jobs.services.compaction import EVERY_LOG_FILE, compact
from hudi_jobs.services.others import Others
from hudi_jobs.services.preparation import load_timeline
from hudi_jobs.services.timeline import Timeline
from hudi_jobs.table import HudiTable

_CLEANING = {
    "hoodie.clean.fileversions.retained": "1",
    "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.clean.trigger.max.commits": "0",
    "hoodie.clean.trigger.strategy": "NUM_COMMITS",
}
"""Of each file group the newest version stays, and of one that was replaced none (`CleanPlanner`)."""

_MOST_ROUNDS = 100

_BY_HUDIS_COLUMNS = "_hoodie.spark.sql.writes.prepped"
"""By what Hudi's own columns say of a row, as `DELETE` of Spark SQL does, and not by a key that is made again."""


def require_as_checked(context: TaskContext, seen: Timeline) -> None:
    """Raise `TaskFailed` where something has come to the table since the check, which read every row in between.

    Rows that others have written since are no rows that are expected afterwards, and a new savepoint keeps the keys.
    """
    with stage("The table cannot be looked at again", otherwise=FailureReason.HUDI_ERROR):
        timeline = load_timeline(context)
        come = come_since(context, timeline, seen.commits())
        come |= {each.instant for each in {*timeline.savepoints()} ^ {*seen.savepoints()}}
    require_nothing_come(come, "nothing was erased")


def prepare(context: TaskContext, record: EraseRecord) -> None:
    """Remove what dead writers have left, plans of clusterings, and the savepoints of the record."""
    Others(context).roll_back(load_timeline(context))
    _require_no_write_left(context)
    for pending in load_timeline(context).pending_clusterings():
        planned = PlannedServiceTask(mode=RunMode.ROLL_BACK, instant=pending.instant)
        _required(cluster(_for(context, Service.CLUSTERING, {}, planned)))
    _release(context, record.savepoints)


def _release(context: TaskContext, instants: Sequence[str]) -> None:
    """Delete savepoints, and what a run that was killed meanwhile has left of one.

    Hudi makes a savepoint pending before it deletes it (`SavepointHelpers.deleteSavepoint`). Beside anything that is
    pending there would be no metadata table again.
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
    """Raise where a write stays pending beside which nothing can be proven: its files may hold keys.

    Under a lock Hudi's next write leaves it alone, and what a killed run of this operation has begun shows a heartbeat
    for some minutes. Without one Hudi rolls it back itself.
    """
    left = load_timeline(context).unfinished_writes()
    if left and context.task.concurrency is ConcurrencyMode.OPTIMISTIC:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The write {left[0]} has not completed, and its writer may still be at work, so nothing more is erased "
            "for now. The write is rolled back once its heartbeat has expired.",
        )


def delete_rows(context: TaskContext, record: EraseRecord, keys: Keys) -> str | None:
    """Delete the rows, and again while there are any; return the last commit of these, None where there were no rows.

    A delete takes one of the rows that have the same key in one file, and log files are merged before the next one.
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
    with in_zone_of_table(context):  # as the write is done
        table = HudiTable.existing(context.spark, context.task.table.base_path)
        is_found = are_found_again(context.spark, table, context.task.hudi_options, rows)
    if is_found and after is None and not (has_record_index(table.properties) and lie_apart(rows)):
        rows = rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_")))
    else:
        told[_BY_HUDIS_COLUMNS] = "true"
    doing = "Hudi could not delete the rows"
    return write_as(context, record.uid, rows, WriteOperation.DELETE, options=told, doing=doing, after=after)


def remove_versions(context: TaskContext, record: EraseRecord) -> int:
    """Merge every log file into its base file, and remove what no reader of the newest commit needs.

    Returns how many files the cleans of the operation have removed, also those of runs that were ended.
    """
    _merge_logs(context)
    _repeated(lambda: clean(_for(context, Service.CLEANING, _CLEANING)))
    return load_timeline(context).files_cleaned(record.newest)


def _merge_logs(context: TaskContext) -> None:
    if context.task.table.type is TableType.MERGE_ON_READ:
        _repeated(lambda: compact(_for(context, Service.COMPACTION, EVERY_LOG_FILE, PlannedServiceTask())))


def _for(
    context: TaskContext, service: Service, options: dict[str, str], planned: PlannedServiceTask | None = None
) -> TaskContext:
    """Return what a service is run with, under the lease that the operation holds.

    It makes no savepoint of a takeover: on a commit whose rows are still in log files, that would keep the keys.
    """
    task = context.task
    changes = {"service": service, "operation": None, "planned": planned, "savepoint": None}
    return replace(context, task=task.model_copy(update={**changes, "hudi_options": {**task.hudi_options, **options}}))


def _repeated(work: Callable[[], TaskResult]) -> None:
    """Do it until there is nothing to do."""
    for _ in range(_MOST_ROUNDS):
        if _required(work()).outcome is Outcome.NOTHING_TO_DO:
            return
    raise TaskFailed(FailureReason.HUDI_ERROR, "Hudi keeps finding more to do; see the driver's log.")


def _required(result: TaskResult) -> TaskResult:
    if result.outcome not in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}:
        raise TaskFailed(result.reason or FailureReason.CONFLICT, result.message)
    return result
