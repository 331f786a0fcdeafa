"""A repair that a HudiOperation asks for: one named step."""

from enum import StrEnum

from hudi_jobs.contract.document import Document


class RepairStep(StrEnum):
    """What is mended."""

    ROLLBACK_INFLIGHT = "RollbackInflight"
    """Undo a write or a clustering that has begun and that nobody works on any more."""

    REMOVE_CORRUPT_PLAN = "RemoveCorruptPlan"
    """Remove the plan of a pending instant that cannot be read."""

    REBUILD_METADATA_TABLE = "RebuildMetadataTable"
    """Remove the metadata table, and make it again with the indexes that it had."""

    REBUILD_RECORD_INDEX = "RebuildRecordIndex"
    """Remove the index of record keys, and make it again."""

    RESTORE_PROPERTIES = "RestoreProperties"
    """Write hoodie.properties from its backup."""


class Repair(Document):
    """Which step a run does; the instant that some of them are about is that of the operation."""

    step: RepairStep
