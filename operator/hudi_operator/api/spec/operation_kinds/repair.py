"""What a repair asks for: one named step."""

from collections.abc import Mapping
from typing import Self

from pydantic import ConfigDict, model_validator

from hudi_jobs.contract import RepairStep
from hudi_operator.api.spec.operation_kinds.going_back import InstantText
from hudi_operator.api.values.base import Model, rules
from hudi_operator.api.values.choice import exactly_one, given_fields


class InstantRepair(Model):
    """A step that is about one pending instant."""

    instant: InstantText
    """Its requested time."""


class TableRepair(Model):
    """A step that is about the table as a whole, and has no options."""


REPAIR_FIELDS: Mapping[RepairStep, str] = {
    RepairStep.ROLLBACK_INFLIGHT: "rollbackInflight",
    RepairStep.REMOVE_CORRUPT_PLAN: "removeCorruptPlan",
    RepairStep.REBUILD_METADATA_TABLE: "rebuildMetadataTable",
    RepairStep.REBUILD_RECORD_INDEX: "rebuildRecordIndex",
    RepairStep.RESTORE_PROPERTIES: "restoreProperties",
}
"""The field of the spec for each step."""


class RepairSpec(Model):
    """Mend one thing that keeps the table from working. The rows stay as they are, and are compared."""

    rollback_inflight: InstantRepair | None = None
    """Undo a write or a clustering that has begun, and whose tool is dead."""

    remove_corrupt_plan: InstantRepair | None = None
    """Remove the plan of a pending instant that cannot be read; a copy stays below the table."""

    rebuild_metadata_table: TableRepair | None = None
    """Remove the metadata table, and make it again with the indexes that it had."""

    rebuild_record_index: TableRepair | None = None
    """Remove the index of record keys, and make it again."""

    restore_properties: TableRepair | None = None
    """Write hoodie.properties again from its backup, where it is missing or its checksum is wrong."""

    model_config = ConfigDict(json_schema_extra=rules(exactly_one(REPAIR_FIELDS.values(), "give one step of a repair")))

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        """Refuse a step of a newer release, beside the rule of the CRD."""
        if len(given_fields(self, REPAIR_FIELDS)) != 1:
            raise ValueError("give one step of a repair that this release knows")
        return self

    @property
    def step(self) -> RepairStep:
        """What is mended."""
        return next(iter(given_fields(self, REPAIR_FIELDS)))

    @property
    def instant(self) -> str | None:
        """The instant that the step is about."""
        given = self.rollback_inflight or self.remove_corrupt_plan
        return given.instant if given is not None else None
