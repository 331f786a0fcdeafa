"""Keeps the newest of rows with the same key, and removes the others in one commit (Deduplicate).

A delete by key would remove the newest row too, and an update changes each row with the key (`HoodieWriteMergeHandle`).
Hudi's own `DedupeSparkJob` replaces base files in place, outside of the timeline. So the affected partitions are
overwritten with the rows that stay: one commit that replaces their file groups, and can be undone until a clean removes
these. The metadata table is removed before and rebuilt afterwards: its record index has one place for several rows, and
Hudi 1.2.0 was seen to fail when an overwrite of named partitions asks it for their file groups in executors, without a
timeline server.

The overwrite replaces everything that it finds when it begins, long after the rows were read. So the commits of the
timeline are compared with those from before the read, right before and once more after the overwrite.
"""

from hudi_jobs.contract import CHECKPOINT_KEY, FailureReason, OperationPhase, WriteOperation
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.existing_table import ENABLED
from hudi_jobs.ingestion.checkpoint import encode_checkpoint, newest_progress
from hudi_jobs.journal.records import RepairRecord
from hudi_jobs.operations.operation_run import OperationRun, commit_of, write_as
from hudi_jobs.operations.repair.duplicate_keys import (
    BETWEEN,
    IS_DELETED,
    DuplicateCount,
    count_duplicates,
    counted_again,
    look,
)
from hudi_jobs.operations.repair.metadata import require_indexes
from hudi_jobs.operations.repair.repair_step import Step, require_as_the_metadata_table
from hudi_jobs.operations.restore_steps import remake_metadata_table, remove_metadata_table, require_nothing_come
from hudi_jobs.operations.rows import is_in_buckets
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.plans import require_commits_inside, require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.unfinished_work import Others

_NAMED = 3
_STATIC_PARTITIONS = "hoodie.static.overwrite.partition.paths"
_PLAIN = {
    "hoodie.combine.before.insert": "false",
    "hoodie.datasource.write.insert.drop.duplicates": "false",
}
"""Writes the rows unchanged."""

_BY_ROWS = {
    "hoodie.bulkinsert.overwrite.operation.type": WriteOperation.INSERT_OVERWRITE.hudi_name,
    "hoodie.datasource.write.row.writer.enable": "true",
}
"""An overwrite without an index lookup, which fails when a bucket has two files."""


def _mend(work: OperationRun, record: RepairRecord) -> RepairRecord:
    context = work.context
    require_plans_inside(context)
    Others(context).roll_back(load_timeline(context))
    if record.phase is OperationPhase.VERIFYING:
        return record
    commit, seen = commit_of(context, record.uid), None
    if commit is None:
        _require_nothing_pending(work)
        record, seen = counted_again(work, record)
    remove_metadata_table(context)
    reach(Phase.PREPARED)
    if seen is not None and seen.figures.surplus:
        commit = _overwrite(work, record, seen)
    reach(Phase.CHANGED)
    record = record.copy_with(commit=commit)
    work.save(record)
    remake_metadata_table(context, record.metadata_options)
    return record


def _require_nothing_pending(work: OperationRun) -> None:
    begun = load_timeline(work.context).begun()
    if begun:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The {begun[0].action} {begun[0].instant} is pending, and its run may be at work; it is rolled back once "
            "its heartbeat has expired.",
        )


def _overwrite(work: OperationRun, record: RepairRecord, seen: DuplicateCount) -> str:
    rows = seen.doubles.staying(seen.partitions)
    rows = rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_") and name != IS_DELETED))
    options = {**_PLAIN, ENABLED: "false"}
    if seen.partitions != ("",):
        options[_STATIC_PARTITIONS] = BETWEEN.join(seen.partitions)
    checkpoint = newest_progress(_opened(work))
    if checkpoint is not None:
        options[CHECKPOINT_KEY] = encode_checkpoint(checkpoint)
    doing = "Hudi could not overwrite the partitions"
    operation = WriteOperation.INSERT_OVERWRITE
    if is_in_buckets(work.context.task.hudi_options):
        operation, options = WriteOperation.BULK_INSERT, options | _BY_ROWS
    _require_as_counted(work, record)
    return write_as(work.context, record.uid, rows, operation, options=options, doing=doing)


def _require_as_counted(work: OperationRun, record: RepairRecord) -> None:
    """Raise when anything came after the rows were read: the overwrite replaces all files that it finds."""
    timeline = load_timeline(work.context)
    come = timeline.commits() ^ {*record.commits_before} | {each.instant for each in timeline.begun()}
    require_nothing_come(come, "no row was removed")


def _require_alone(work: OperationRun, record: RepairRecord) -> None:
    """Raise when a commit came beside the overwrite, or a writer is still at work on the replaced files."""
    _require_nothing_pending(work)
    come = load_timeline(work.context).commits() - {*record.commits_before, record.commit}
    if come and record.commits_before:
        raise work.not_verified(
            record,
            f"The older rows were removed by {record.commit}, but other commits came meanwhile "
            f"({listed(sorted(come), _NAMED)}), and what they wrote to the same partitions may have been replaced. "
            "Compare the table with what their writers wrote, and write again what is missing.",
        )


def _require_mended(work: OperationRun, record: RepairRecord) -> None:
    if record.commit is not None:
        require_commits_inside(_opened(work), (record.commit,))
        _require_alone(work, record)
    found = count_duplicates(work).figures
    if (found.keys, found.checksum, found.surplus) != (record.keys, record.keys_checksum, 0):
        raise work.not_verified(
            record,
            f"The older rows were removed, but the table has {counted(found.keys, 'key')} of {record.keys:,}, of "
            f"which {found.doubled:,} occur twice. Find out what else has written to the table before anything else "
            "is written.",
        )
    require_indexes(work, record)
    require_as_the_metadata_table(work, record)


def _opened(work: OperationRun) -> HudiTable:
    return HudiTable.existing(work.context.spark, work.table.base_path)


DEDUPLICATE = Step(look, _mend, _require_mended)
