"""Rebuilds the metadata table or its record index (RebuildMetadataTable, RebuildRecordIndex).

Rebuilding lists all files of the table, and reads all keys for the record index. A run killed in between leaves a table
without a metadata table, which readers read by listing files. So the next run can wait for a writer that began since:
its files might be missing in a metadata table built meanwhile.
"""

from typing import Any

from hudi_jobs.clock import zone_left_shown
from hudi_jobs.contract import FailureReason
from hudi_jobs.existing_table import metadata_partitions
from hudi_jobs.journal.records import RepairRecord
from hudi_jobs.operations.check import metadata_options_of, require_known_indexes
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.repair_step import Found, Step, once_begun, require_at_rest, require_no_heartbeat
from hudi_jobs.operations.restore_steps import remake_metadata_table, remove_metadata_table
from hudi_jobs.operations.rows import are_doubled, current_rows, difference, indexed_by, rows_now
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import classes, engine_context
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.plans import require_properties_inside
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.timeline import Timeline

_RECORD_INDEX = "record_index"
_WITHOUT_BACKUP = False


def _look_at_table(work: OperationRun) -> Found:
    found = _found(work)
    return Found(f"rebuild the metadata table, with {', '.join(found['indexes'])}", found)


def _look_at_index(work: OperationRun) -> Found:
    if _RECORD_INDEX not in metadata_partitions(work.table.properties):
        raise refused("The table has no index of record keys.")
    return Found("rebuild the index of record keys", _found(work))


def _found(work: OperationRun) -> dict[str, Any]:
    present = metadata_partitions(work.table.properties)
    if not present:
        raise refused("The table has no metadata table; declare metadataTable.enabled, and the next write creates it.")
    with work.obstacles.each():
        require_known_indexes(work.table)
    _alone(work)
    work.obstacles.require_none()
    if _RECORD_INDEX in present and are_doubled(current_rows(work.context), indexed_by(work.table)):
        raise refused(
            "Some rows share a key, so Hudi cannot build an index of record keys; remove the older rows first "
            "(repair.deduplicate), or drop that index where a key may be in several partitions."
        )
    return {"metadata_options": metadata_options_of(work.table), "indexes": tuple(sorted(present))}


def _alone(work: OperationRun) -> Timeline:
    """Return the timeline of a table at rest; refuse a heartbeat or a pending instant."""
    with work.obstacles.each():
        require_no_heartbeat(work.context)
    timeline = load_timeline(work.context)
    require_properties_inside(timeline.meta, work.table.base_path)
    require_at_rest(work, timeline, "a metadata table")
    return timeline


def _remake_table(work: OperationRun, record: RepairRecord) -> None:
    with once_begun():
        _alone(work)
    remove_metadata_table(work.context)
    reach(Phase.PREPARED)
    remake_metadata_table(work.context, record.metadata_options)


def _remake_index(work: OperationRun, record: RepairRecord) -> None:
    context = work.context
    with once_begun():
        meta = _alone(work).meta
    with (
        stage("The index of record keys cannot be removed", otherwise=FailureReason.HUDI_ERROR),
        zone_left_shown(context.spark, work.table.base_path),
    ):
        if _RECORD_INDEX in _present(work):
            utilities = classes(context.spark).org.apache.hudi.metadata.HoodieTableMetadataUtil
            utilities.deleteMetadataTablePartition(meta, engine_context(context.spark), _RECORD_INDEX, _WITHOUT_BACKUP)
    reach(Phase.PREPARED)
    remake_metadata_table(context, record.metadata_options)


def _require_remade(work: OperationRun, record: RepairRecord) -> None:
    require_indexes(work, record)
    wrong = difference(rows_now(work.context), rows_now(work.context, metadata_table=True))
    if wrong is not None:
        remove_metadata_table(work.context)
        raise TaskFailed(
            FailureReason.HUDI_ERROR, f"Readers of the new metadata table miss rows, so it was removed: {wrong}"
        )


def require_indexes(work: OperationRun, record: RepairRecord) -> None:
    """Raise `TaskFailed` when the metadata table lacks any of its earlier indexes."""
    lacking = sorted(set(record.indexes) - _present(work))
    if lacking:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi did not rebuild {', '.join(lacking)}; see the driver's log.")


def _present(work: OperationRun) -> frozenset[str]:
    table = HudiTable.open(work.context.spark, work.table.base_path)
    return metadata_partitions(table.properties) if table is not None else frozenset()


REBUILD_METADATA_TABLE = Step(_look_at_table, _remake_table, _require_remade)
REBUILD_RECORD_INDEX = Step(_look_at_index, _remake_index, _require_remade)
