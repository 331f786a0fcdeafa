"""The spec of a repair: a single named step."""

from collections.abc import Mapping
from typing import Self

from pydantic import ConfigDict, model_validator

from hudi_jobs.contract import RepairStep
from hudi_operator.api.values.base import (
    Duration,
    InstantText,
    Model,
    at_least,
    duration_or,
    exactly_one,
    given_fields,
    parse_duration,
    rules,
)


class InstantRepair(Model):
    """A step on a pending instant."""

    instant: InstantText
    """Requested time of the pending instant."""


class TableRepair(Model):
    """A step for the whole table, without options."""


class OrphanFilesRepair(Model):
    """Which files count as orphans."""

    older_than: Duration = "24h"
    """Age since the last change from which on a file is removed; at least `1h`, at most ten years."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            at_least("olderThan", "1h"),
            (
                f"{duration_or('olderThan', older_than)} <= duration('87600h')",
                "olderThan must be at most 87600h",
            ),
        )
    )


REPAIR_FIELDS: Mapping[RepairStep, str] = {
    RepairStep.ROLLBACK_INFLIGHT: "rollbackInflight",
    RepairStep.REMOVE_CORRUPT_PLAN: "removeCorruptPlan",
    RepairStep.REBUILD_METADATA_TABLE: "rebuildMetadataTable",
    RepairStep.REBUILD_RECORD_INDEX: "rebuildRecordIndex",
    RepairStep.RESTORE_PROPERTIES: "restoreProperties",
    RepairStep.REMOVE_ORPHAN_FILES: "removeOrphanFiles",
    RepairStep.DEDUPLICATE: "deduplicate",
}
"""The field of the spec for each step."""


class RepairSpec(Model):
    """Run a repair step on a table. The rows stay, except duplicates to remove, and are compared."""

    rollback_inflight: InstantRepair | None = None
    """Roll back a write or a clustering that has begun and that no running tool will finish."""

    remove_corrupt_plan: InstantRepair | None = None
    """Remove the plan of a pending instant that cannot be read; a copy stays below the table."""

    rebuild_metadata_table: TableRepair | None = None
    """Remove the metadata table, and build it again with the indexes that it had."""

    rebuild_record_index: TableRepair | None = None
    """Remove the record index, and build it again."""

    restore_properties: TableRepair | None = None
    """Write hoodie.properties again from its backup, where it is missing, empty, truncated or damaged."""

    remove_orphan_files: OrphanFilesRepair | None = None
    """Remove orphan files: data files of no instant, as dead writers leave them."""

    deduplicate: TableRepair | None = None
    """Keep the newest row of each key, and remove its duplicates in one commit."""

    model_config = ConfigDict(
        json_schema_extra=rules(exactly_one(REPAIR_FIELDS.values(), "exactly one step of a repair must be set"))
    )

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        """Refuse a step of a newer release, beside the rule of the CRD."""
        if len(given_fields(self, REPAIR_FIELDS)) != 1:
            raise ValueError("exactly one step of a repair that this release knows must be set")
        return self

    @property
    def step(self) -> RepairStep:
        """The repair step."""
        return next(iter(given_fields(self, REPAIR_FIELDS)))

    @property
    def instant(self) -> str | None:
        """The instant that the step acts on."""
        given = self.rollback_inflight or self.remove_corrupt_plan
        return given.instant if given is not None else None

    @property
    def older_than_seconds(self) -> int | None:
        """The age in seconds from which on a file counts as an orphan."""
        given = self.remove_orphan_files
        return int(parse_duration(given.older_than).total_seconds()) if given is not None else None
