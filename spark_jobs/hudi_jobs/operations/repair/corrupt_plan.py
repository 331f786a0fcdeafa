"""Removes a pending instant's plan that Hudi cannot read and that blocks all planning (RemoveCorruptPlan).

Only a plan without an executor is removed: written files would count as committed once the instant is older than the
active timeline. Before table version 8 log files carry the instant of the pending compaction (`CompactionAdminClient`),
and would lose their base file with its plan.
"""

from hudi_jobs.contract import FailureReason
from hudi_jobs.journal.records import RepairRecord
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.repair_step import (
    Found,
    Step,
    checksum_of,
    is_there,
    keep_copy,
    pending_instant,
    remove,
    require_copy,
    require_dead,
)
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table_services.plans import PLANS, can_be_read
from hudi_jobs.table_services.preparation import load_timeline

_OWN_INSTANTS_IN_LOGS = 8


def _look(work: OperationRun) -> Found:
    timeline = load_timeline(work.context)
    named = pending_instant(work, timeline)
    if named.action not in PLANS:
        raise refused(f"A {named.action} has no plan; if nobody works on it any more, use rollbackInflight.")
    files = timeline.files_of(named.instant)
    require_dead(work, named, timeline, files)
    if len(files) != 1 or not files[0].endswith(".requested"):
        raise refused(
            f"The {named.action} {named.instant} is inflight and may have written files, so its plan is not removed."
        )
    if "compaction" in named.action and work.table.version < _OWN_INSTANTS_IN_LOGS:
        raise refused(
            f"The table has version {work.table.version}, where log files belong to the pending compaction: without "
            "its plan readers would miss their base files. Upgrade the table with the tool that wrote it."
        )
    checksum = checksum_of(work.context, files[0])
    if can_be_read(work.context.spark, timeline.meta, named.instant):
        raise refused(
            f"The requested {named.action} {named.instant} is readable; finish it, or roll it back (rollbackInflight)."
        )
    what = f"remove the plan of the {named.action} {named.instant}, which cannot be read, and keep a copy of it"
    return Found(what, {"file": files[0], "checksum": checksum})


def _mend(work: OperationRun, record: RepairRecord) -> None:
    file = str(record.file)
    if is_there(work.context, file):
        keep_copy(work.context, file, str(record.checksum))
        reach(Phase.PREPARED)
        remove(work.context, file)


def _require_mended(work: OperationRun, record: RepairRecord) -> None:
    if record.instant in {each.instant for each in load_timeline(work.context).begun()}:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"The plan of {record.instant} is still there.")
    require_copy(work.context, str(record.file), str(record.checksum))


REMOVE_CORRUPT_PLAN = Step(_look, _mend, _require_mended)
