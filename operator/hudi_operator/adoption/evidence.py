"""Reads a table's evidence once: facts about itself and its writers."""

from dataclasses import dataclass
from datetime import timedelta

from hudi_jobs.contract.table.facts import NO_FACTS, TableFacts
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline import (
    Action,
    CommitMetadata,
    Instant,
    State,
    Timeline,
    TimelineError,
    TimelineReader,
)
from hudi_operator.timeline.content.plans import CleanPlan
from hudi_operator.timeline.facts import read_facts
from hudi_operator.timeline.files.reading import ReadBudget
from hudi_operator.timeline.rules.counters import COMMITS

COMMITS_READ = 30
"""The number of newest commits to read metadata of."""

_ARCHIVE_LIMIT = 100


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Evidence about a table: `commits` are the newest readable completed commits, newest first.

    `clean` is the plan of the newest clean, `facts` the facts outside the table's properties. `unread` holds sentences
    about unreadable parts.
    """

    base_path: str
    timeline: Timeline
    commits: tuple[tuple[Instant, CommitMetadata], ...] = ()
    clean: CleanPlan | None = None
    facts: TableFacts = NO_FACTS
    has_archive: bool = False
    unread: tuple[str, ...] = ()

    @property
    def offset(self) -> timedelta | None:
        """Offset from UTC of a table in local time, if its files show it."""
        return self.facts.zone.offset if self.facts.zone else None


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A table that cannot be read, with the reason."""

    base_path: str
    reason: str


def read_evidence(filesystem: FileSystem, path: str, *, base_path: str) -> Evidence | Unreadable:
    """Read a table at a path of the file system; `base_path` is its name in the resource."""
    reader = TimelineReader(filesystem, budget=ReadBudget())
    try:
        timeline = reader.read(path)
        commits, unread = _commits(reader, path, timeline)
        return Evidence(
            base_path=base_path,
            timeline=timeline,
            commits=commits,
            clean=_clean_plan(reader, path, timeline),
            facts=read_facts(reader, path, timeline, commits),
            has_archive=_has_archive(filesystem, path, timeline),
            unread=unread,
        )
    except (TimelineError, StorageError) as error:
        return Unreadable(base_path=base_path, reason=str(error))


def _commits(
    reader: TimelineReader, path: str, timeline: Timeline
) -> tuple[tuple[tuple[Instant, CommitMetadata], ...], tuple[str, ...]]:
    newest = [one for one in reversed(timeline.completed) if one.action in COMMITS][:COMMITS_READ]
    read, unread = [], []
    for instant in newest:
        try:
            read.append((instant, reader.read_commit_metadata(path, timeline.properties, instant)))
        except TimelineError as error:
            unread.append(f"{instant.action} {instant.time} cannot be read: {error}")
    return tuple(read), tuple(unread)


def _clean_plan(reader: TimelineReader, path: str, timeline: Timeline) -> CleanPlan | None:
    newest = next((one for one in reversed(timeline.completed) if one.action is Action.CLEAN), None)
    if newest is None:
        return None
    try:
        plan = reader.read_content(path, timeline.properties, newest, State.REQUESTED)
    except TimelineError:
        return None
    return plan if isinstance(plan, CleanPlan) else None


def _has_archive(filesystem: FileSystem, path: str, timeline: Timeline) -> bool:
    try:
        listing = filesystem.list_directory(f"{path}/{timeline.properties.archive_path}", limit=_ARCHIVE_LIMIT)
    except StorageError as error:
        if error.kind is StorageErrorKind.TOO_LARGE:
            return True
        if error.kind is StorageErrorKind.NOT_FOUND:
            return False
        raise
    return any(not name.endswith((".crc", "_$folder$")) for name in listing.names if name)
