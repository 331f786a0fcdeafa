"""The metadata table: a separate Hudi table inside `.hoodie/metadata`, which must keep up with the data."""

from dataclasses import dataclass

from hudi_operator.timeline.errors import NotAHudiTable
from hudi_operator.timeline.model import Action, Timeline
from hudi_operator.timeline.reader import TimelineReader
from hudi_operator.timeline.rules.counters import COMMITS

METADATA_FOLDER = ".hoodie/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
# The instants that build the metadata table have made-up times of zeros (`HoodieTableMetadata.SOLO_COMMIT_TIMESTAMP`).
_BUILD_PREFIX = "0" * 14


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """The metadata table's own timeline, and the completed commits of the data table that it has not taken in."""

    timeline: Timeline
    missing: tuple[str, ...]


def read_metadata_table(reader: TimelineReader, base_path: str, data: Timeline) -> MetadataTable | None:
    """Read the metadata table of a table, or return None if it has none.

    Every completed commit of the data has a delta commit of the same instant time in the metadata table. What is
    older than the first of these was archived there, or was taken in as a whole when the metadata table was built.
    """
    if not data.properties.get(_PARTITIONS):
        return None
    try:
        timeline = reader.read(f"{base_path.rstrip('/')}/{METADATA_FOLDER}")
    except NotAHudiTable:
        return None
    # A compaction of the metadata table takes the place of the delta commits that it merged, not of any data commit.
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
