"""Maps each step of repairs to its functions."""

from collections.abc import Mapping

from hudi_jobs.contract import RepairStep
from hudi_jobs.operations.repair.corrupt_plan import REMOVE_CORRUPT_PLAN
from hudi_jobs.operations.repair.deduplicate import DEDUPLICATE
from hudi_jobs.operations.repair.metadata import REBUILD_METADATA_TABLE, REBUILD_RECORD_INDEX
from hudi_jobs.operations.repair.orphan_files import REMOVE_ORPHAN_FILES
from hudi_jobs.operations.repair.properties import RESTORE_PROPERTIES
from hudi_jobs.operations.repair.repair_step import Step
from hudi_jobs.operations.repair.rollback_inflight import ROLLBACK_INFLIGHT

STEPS: Mapping[RepairStep, Step] = {
    RepairStep.ROLLBACK_INFLIGHT: ROLLBACK_INFLIGHT,
    RepairStep.REMOVE_CORRUPT_PLAN: REMOVE_CORRUPT_PLAN,
    RepairStep.REBUILD_METADATA_TABLE: REBUILD_METADATA_TABLE,
    RepairStep.REBUILD_RECORD_INDEX: REBUILD_RECORD_INDEX,
    RepairStep.RESTORE_PROPERTIES: RESTORE_PROPERTIES,
    RepairStep.REMOVE_ORPHAN_FILES: REMOVE_ORPHAN_FILES,
    RepairStep.DEDUPLICATE: DEDUPLICATE,
}
