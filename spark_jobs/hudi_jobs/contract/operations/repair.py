"""The repair of a HudiOperation: one named step."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document

LEAST_AGE_SECONDS = 3_600
"""The least age of an orphan: the writer of a younger file may be about to commit it."""

MOST_AGE_SECONDS = 10 * 366 * 86_400

MOST_FILES_NAMED = 5
"""The most files that a report lists by their paths: the report has to fit into an outcome."""

LONGEST_FILE_NAMED = 300
"""The most characters of such a path; the end of a longer path is shown."""

AgeSeconds = Annotated[int, Field(ge=LEAST_AGE_SECONDS, le=MOST_AGE_SECONDS)]


class RepairStep(StrEnum):
    """The defect that a repair removes."""

    ROLLBACK_INFLIGHT = "RollbackInflight"
    """Roll back a write or a clustering that has begun and that nobody works on any more."""

    REMOVE_CORRUPT_PLAN = "RemoveCorruptPlan"
    """Remove the plan of a pending instant that cannot be read."""

    REBUILD_METADATA_TABLE = "RebuildMetadataTable"
    """Remove the metadata table, and build it again with the indexes that it had."""

    REBUILD_RECORD_INDEX = "RebuildRecordIndex"
    """Remove the record index, and build it again."""

    RESTORE_PROPERTIES = "RestoreProperties"
    """Write hoodie.properties from its backup."""

    REMOVE_ORPHAN_FILES = "RemoveOrphanFiles"
    """Remove data files that no instant accounts for."""

    DEDUPLICATE = "Deduplicate"
    """Keep the newest row of each key, and remove its duplicates."""


class Repair(Document):
    """The step of a repair; the operation names the instant that some steps act on.

    `older_than_seconds` is the age from which on a file can be an orphan.
    """

    step: RepairStep
    older_than_seconds: AgeSeconds | None = None
