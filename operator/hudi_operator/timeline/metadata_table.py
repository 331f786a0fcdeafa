"""Reads the metadata table, a Hudi table inside `.hoodie/metadata` that must keep up with the data."""

from dataclasses import dataclass

from hudi_operator.timeline.errors import NotAHudiTable
from hudi_operator.timeline.model import Action, Timeline
from hudi_operator.timeline.reader import TimelineReader
from hudi_operator.timeline.rules.counters import COMMITS

METADATA_FOLDER = ".hoodie/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
# The instants that build the metadata table have artificial times of zeros
# (`HoodieTableMetadata.SOLO_COMMIT_TIMESTAMP`).
_BUILD_PREFIX = "0" * 14


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """The metadata table's own timeline, and the data table's completed commits missing from it."""

    timeline: Timeline
    missing: tuple[str, ...]


def read_metadata_table(reader: TimelineReader, base_path: str, data: Timeline) -> MetadataTable | None:
    """Read the metadata table of a table, or return None if it has none.

    Every completed commit of the data has a delta commit of the same instant time in the metadata table. Older commits
    than the first of these were archived there, or were included when the metadata table was built.
    """
    if not data.properties.get(_PARTITIONS):
        return None
    try:
        timeline = reader.read(f"{base_path.rstrip('/')}/{METADATA_FOLDER}")
    except NotAHudiTable:
        return None
    # A compaction of the metadata table replaces the delta commits it merged, not any data commit.
    applied = {
        one.time
        for one in timeline.completed
        if one.action is Action.DELTA_COMMIT and not one.time.startswith(_BUILD_PREFIX)
    }
    first = min(applied, default=None)
    missing = tuple(
        one.time
        for one in data.completed
        if one.action in COMMITS and first is not None and one.time > first and one.time not in applied
    )
    return MetadataTable(timeline, missing)
