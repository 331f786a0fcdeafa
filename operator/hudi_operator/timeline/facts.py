"""Reads the table facts that lie outside its properties: timeline, schema history, other folders, metadata table."""

from collections.abc import Mapping, Sequence

from hudi_jobs.contract import INDEX_KEY, VARYING_BUCKETS_FOLDER, Location
from hudi_jobs.contract.instants import InstantFile
from hudi_jobs.contract.table.facts import COMMITS_ASKED, TableFacts, facts_of
from hudi_jobs.contract.table.layout import META_FOLDER, instant_names, timeline_folders
from hudi_jobs.contract.table.schema_history import HISTORY_FOLDER, HISTORY_LIMIT, MARK, newest_history_file
from hudi_jobs.contract.table.zone import ShownZone, shown_zone
from hudi_operator.storage import StorageError, StorageErrorKind
from hudi_operator.timeline.content.commits import CommitMetadata
from hudi_operator.timeline.files.reading import TableFiles, as_unreadable
from hudi_operator.timeline.model import (
    Action,
    CorruptContent,
    Instant,
    NotAHudiTable,
    ReadBudgetSpent,
    Timeline,
    TimelineZone,
)
from hudi_operator.timeline.reader import TimelineReader
from hudi_operator.timeline.rules.counters import COMMITS
from hudi_operator.timeline.rules.schema_steps import SCHEMA_KEY

_FILES = 5_000


def newest_history(files: TableFiles, base: Location) -> str | None:
    """Return the text of the newest completed history file; empty if unreadable, None if none exists.

    Each file repeats all earlier schemas (`FileBasedInternalSchemaStorageManager.persistHistorySchemaStr`).
    """
    folder = base / HISTORY_FOLDER
    try:
        newest = newest_history_file(files.filesystem.list_directory(folder.path, limit=_FILES).names)
        return None if newest is None else files.value(folder.path_of(newest), _text, limit=HISTORY_LIMIT)
    except ReadBudgetSpent:
        raise
    except CorruptContent:
        return ""
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        if error.kind is StorageErrorKind.TOO_LARGE:
            return ""
        raise as_unreadable(error) from error


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


# Other files of `.hoodie` sort before and after instants, which begin with a digit.
_BEFORE_INSTANTS = ".zzzz"
_BEHIND_INSTANTS = ":"


def has_varying_buckets(files: TableFiles, base: Location) -> bool:
    """Tell whether the number of buckets grows or differs between partitions. Costs a listing."""
    try:
        return bool(files.filesystem.list_folders((base / VARYING_BUCKETS_FOLDER).path, limit=1).names)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return False
        raise as_unreadable(error) from error


def moved_instant(files: TableFiles, base: Location, version: int) -> str | None:
    """Return an instant file in the timeline folder of the other layout. Costs a listing."""
    folder = timeline_folders(version)[1]
    after = _BEFORE_INSTANTS if folder == META_FOLDER else None
    try:
        listing = files.filesystem.list_directory((base / folder).path, start_after=after, before=_BEHIND_INSTANTS)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        raise as_unreadable(error) from error
    return next(iter(instant_names(listing.names)), None)


METADATA_FOLDER = ".hoodie/metadata"
_PARTITIONS = "hoodie.table.metadata.partitions"
# The instants that build the metadata table have artificial times of zeros
# (`HoodieTableMetadata.SOLO_COMMIT_TIMESTAMP`).
_BUILD_PREFIX = "0" * 14


def read_metadata_table(reader: TimelineReader, base: Location, data: Timeline) -> Timeline | None:
    """Read the timeline of a table's metadata table, or return None if it has none."""
    if not data.properties.get(_PARTITIONS):
        return None
    try:
        return reader.read(base / METADATA_FOLDER)
    except NotAHudiTable:
        return None


def missing_in_metadata(metadata: Timeline, data: Timeline) -> tuple[str, ...]:
    """Return the completed commits of a table that its metadata table lacks, oldest first.

    Every completed commit of the data has a delta commit of the same instant time in the metadata table. Older commits
    than the first of these were archived there, or were included when the metadata table was built.
    """
    # A compaction of the metadata table replaces the delta commits it merged, not any data commit.
    applied = {
        one.time
        for one in metadata.completed
        if one.action is Action.DELTA_COMMIT and not one.time.startswith(_BUILD_PREFIX)
    }
    first = min(applied, default=None)
    return tuple(
        one.time
        for one in data.completed
        if one.action in COMMITS and first is not None and one.time > first and one.time not in applied
    )


_COMPACTS = frozenset({"COMPACT", None})


def read_facts(
    reader: TimelineReader,
    base: Location,
    timeline: Timeline,
    commits: Sequence[tuple[Instant, CommitMetadata]],
    *,
    changed_at: str | None = None,
) -> TableFacts:
    """Return the facts of a table from its newest commits, given newest first.

    `changed_at` is the newest commit of another tool. Only other tools write the schema history and metadata of
    buckets, so both are listed once per such commit. Buckets are not checked if the newest commits all note the index
    of the operator. The folder of the other layout is listed once, and again when the oldest instants are gone or the
    version has changed. An instant found there is checked each time, because it may be removed by hand.
    """
    extras = [metadata.extra_metadata for _, metadata in commits[:COMMITS_ASKED]]
    return facts_of(
        schemas=[extra[SCHEMA_KEY] for extra in extras if extra.get(SCHEMA_KEY)],
        is_marked=any(extra.get(MARK) for extra in extras),
        history=reader.once(base, "schema history", changed_at, newest_history),
        zone=shown_zone_of(timeline),
        early_compaction=early_compaction(timeline, commits),
        has_varying_buckets=not _is_noted(extras)
        and reader.once(base, "varying buckets", changed_at, has_varying_buckets),
        moved=moved_instant_of(reader, base, timeline),
    )


def _is_noted(extras: Sequence[Mapping[str, str]]) -> bool:
    return bool(extras) and all(INDEX_KEY in extra for extra in extras)


def moved_instant_of(reader: TimelineReader, base: Location, timeline: Timeline) -> str | None:
    """Return an instant file in the timeline folder of the other layout, asked once while the history grows."""
    version = timeline.properties.version
    since = (version, next((one.time for one in timeline.instants), None))

    def find(files: TableFiles, base: Location) -> str | None:
        return moved_instant(files, base, version)

    return reader.once(base, "moved instants", since, find, lasts=lambda found: found is None)


def early_compaction(timeline: Timeline, commits: Sequence[tuple[Instant, CommitMetadata]]) -> str | None:
    """Return the newest compaction if it completed before its request and older slices may still exist.

    A bulk insert is a commit too, and makes new file groups. A clean that counts file versions names no commit.
    """
    early, clean = timeline.completed_early, timeline.counters.clean
    cleaned = timeline.counters.last_clean
    if early is None or not any(one.time == early and data.operation in _COMPACTS for one, data in commits):
        return None
    is_cleaned = clean is not None and (cleaned or "") > early and not "" < clean.earliest_retained <= early
    return None if is_cleaned else early


def shown_zone_of(timeline: Timeline) -> ShownZone | None:
    """Return the zone that a table in local time shows; None for a table in UTC or without an instant."""
    if timeline.properties.timezone is not TimelineZone.LOCAL or not timeline.instants:
        return None
    files = [InstantFile(name, written) for name, written in timeline.newest_files]
    return shown_zone(timeline.properties.header, files)
