"""Rolls back a dead tool's pending write or clustering, with its files (RollbackInflight)."""

from hudi_jobs.contract import FailureReason
from hudi_jobs.journal.records import RepairRecord
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.repair_step import Found, Step, once_begun, pending_instant, require_dead
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline

_UNDOABLE = frozenset({"commit", "deltacommit", "replacecommit", "clustering"})
_COMPACTIONS = frozenset({"compaction", "logcompaction"})


def _look(work: OperationRun) -> Found:
    timeline = load_timeline(work.context)
    named = pending_instant(work, timeline)
    if named.action in _COMPACTIONS:
        raise refused(
            f"Hudi cannot roll back the {named.action} {named.instant}; finish it with runService: Compaction, or, if "
            "its plan cannot be read, remove the plan with removeCorruptPlan."
        )
    if named.action not in _UNDOABLE:
        raise refused(f"A pending {named.action} is not rolled back: the next run of the same kind finishes it.")
    require_dead(work, named, timeline, timeline.files_of(named.instant))
    return Found(f"roll back the {named.action} {named.instant}")


def _mend(work: OperationRun, record: RepairRecord) -> None:
    if not _is_pending(work, record):
        return
    context, instant = work.context, str(record.instant)
    timeline = load_timeline(context)
    if instant not in {each.target for each in timeline.unfinished_rollbacks()}:
        with once_begun():
            require_dead(work, pending_instant(work, timeline), timeline, timeline.files_of(instant))
    require_plans_inside(context)
    with (
        stage(f"The instant {instant} cannot be rolled back", otherwise=FailureReason.HUDI_ERROR),
        write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client,
    ):
        client.rollback(instant)


def _require_mended(work: OperationRun, record: RepairRecord) -> None:
    if _is_pending(work, record):
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi did not roll back {record.instant}; see the driver's log.")


def _is_pending(work: OperationRun, record: RepairRecord) -> bool:
    timeline = load_timeline(work.context)
    rollbacks = {each.target for each in timeline.unfinished_rollbacks()}
    return record.instant in {each.instant for each in timeline.begun()} | rollbacks


ROLLBACK_INFLIGHT = Step(_look, _mend, _require_mended)
