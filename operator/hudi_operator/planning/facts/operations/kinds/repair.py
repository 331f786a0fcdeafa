"""A repair: the driver examines the defect, because the operator reads no files of a plan or an index."""

from collections.abc import Mapping
from typing import Any

from hudi_jobs.contract import RepairStep
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.operation_kind import Answer, OperationDefinition, fails, waits_for_table
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import SavepointReason

_WORDS = {
    RepairStep.ROLLBACK_INFLIGHT: "rollback of the pending instant {}",
    RepairStep.REMOVE_CORRUPT_PLAN: "removal of the plan {}",
    RepairStep.REBUILD_METADATA_TABLE: "rebuild of the metadata table",
    RepairStep.REBUILD_RECORD_INDEX: "rebuild of the index of record keys",
    RepairStep.RESTORE_PROPERTIES: "recovery of hoodie.properties",
    RepairStep.REMOVE_ORPHAN_FILES: "removal of orphan files",
    RepairStep.DEDUPLICATE: "removal of older rows with the same key",
}


def _admit(resource: HudiOperation, observation: Observation) -> Answer | str | None:
    timeline, instant = observation.snapshot.timeline, resource.spec.instant
    if timeline is None:
        return waits_for_table(observation)
    if instant is not None and instant not in {one.time for one in timeline.pending}:
        message = f"The table has no pending instant {instant}. Nothing was changed."
        return fails(SavepointReason.INSTANT_NOT_FOUND, message)
    return instant


def _remember(resource: HudiOperation, _: HudiTable) -> Mapping[str, Any]:
    repair = resource.spec.repair
    assert repair is not None, "the kind says so"
    return {"repair": {"step": repair.step, "older_than_seconds": repair.older_than_seconds}}


def _wording(job: NamedOperationJob) -> str:
    return _WORDS[job.repair.step].format(job.instant) if job.repair is not None else "repair"


REPAIR = OperationDefinition(
    admit=_admit, remember=_remember, wording=_wording, may_be_left=True, beside_strangers=True
)
