"""Counts the rows before a repair, and compares them with the view of metadata table readers."""

from hudi_jobs.journal.record import Rows
from hudi_jobs.journal.repair_record import RepairRecord
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.restore_steps import has_metadata_table
from hudi_jobs.operations.rows import difference, rows_now


def rows_to_keep(work: OperationRun) -> Rows:
    """Return the rows; refuse when readers of the metadata table see other rows, because one view is wrong."""
    rows = rows_now(work.context)
    wrong = difference(rows, rows_now(work.context, metadata_table=True)) if has_metadata_table(work.context) else None
    if wrong is not None:
        raise refused(
            f"Readers that use the metadata table see other rows than readers that list files: {wrong} Rebuild the "
            "metadata table first (repair.rebuildMetadataTable)."
        )
    return rows


def require_as_the_metadata_table(work: OperationRun, record: RepairRecord) -> None:
    """Raise `TaskFailed` when readers of the metadata table see other rows than expected."""
    if record.expected is None or not has_metadata_table(work.context):
        return
    wrong = difference(record.expected, rows_now(work.context, metadata_table=True))
    if wrong is not None:
        raise work.not_verified(
            record,
            f"The repair {record.step} is done, but readers that use the metadata table see other rows: {wrong} "
            "Rebuild the metadata table (repair.rebuildMetadataTable), and find out what else has written to the "
            "table.",
        )
