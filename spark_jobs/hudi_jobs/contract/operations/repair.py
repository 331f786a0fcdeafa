"""A repair that a HudiOperation asks for: one named step."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document

LEAST_AGE_SECONDS = 3_600
"""A file that is younger is no orphan: whoever wrote it may be about to commit it."""

MOST_AGE_SECONDS = 10 * 366 * 86_400

MOST_FILES_NAMED = 5
"""Files that a report lists by their paths: it has to fit into an outcome."""

LONGEST_FILE_NAMED = 300
"""Characters of such a path, of which the end is shown."""

AgeSeconds = Annotated[int, Field(ge=LEAST_AGE_SECONDS, le=MOST_AGE_SECONDS)]


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

    REMOVE_ORPHAN_FILES = "RemoveOrphanFiles"
    """Remove data files that no instant accounts for."""

    DEDUPLICATE = "Deduplicate"
    """Of rows with the same key, keep the newest."""


class Repair(Document):
    """Which step a run does; the instant that some of them are about is that of the operation.

    `older_than_seconds` is the age from which on a file can be an orphan.
    """

    step: RepairStep
    older_than_seconds: AgeSeconds | None = None
