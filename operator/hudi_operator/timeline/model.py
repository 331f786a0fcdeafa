"""The timeline as values for the rest of the operator, and the errors of a table that cannot be read at all."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import NamedTuple


class UnreadableCause(StrEnum):
    """Why the operator cannot read a table."""

    NOT_FOUND = "NotFound"
    ACCESS_DENIED = "AccessDenied"
    UNREACHABLE = "Unreachable"
    CORRUPT = "Corrupt"
    UNSUPPORTED = "Unsupported"
    TOO_LARGE = "TooLarge"


class TimelineError(Exception):
    """The path has no readable timeline. The message is a sentence for people."""


class NotAHudiTable(TimelineError):
    """The path holds no Hudi table (yet). The store itself answered."""


class TableUnreadable(TimelineError):
    """A table may exist but cannot be read. `cause` says why, the message says what to do."""

    def __init__(self, cause: UnreadableCause, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class CorruptContent(TimelineError):
    """A timeline file's content does not match its name."""


class ContentTooLarge(CorruptContent):
    """A timeline file exceeds the limits on size or memory."""


class TooMuchKept(ContentTooLarge):
    """The wanted fields of a timeline file take too much memory; fewer fields may fit."""


class ReadBudgetSpent(ContentTooLarge):
    """This read has spent its budget. The file is fine; the next read continues."""


class InstantContentMissing(TimelineError):
    """The instant's file does not exist: archived, rolled back or never written."""


class Action(StrEnum):
    """The action of an instant, spelt as in Hudi's `HoodieTimeline`."""

    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    CLUSTERING = "clustering"
    REPLACE_COMMIT = "replacecommit"
    CLEAN = "clean"
    SAVEPOINT = "savepoint"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    INDEXING = "indexing"
    SCHEMA_COMMIT = "schemacommit"


class State(StrEnum):
    """The state of an instant, spelt as in Hudi's `HoodieInstant.State`."""

    REQUESTED = "REQUESTED"
    INFLIGHT = "INFLIGHT"
    COMPLETED = "COMPLETED"


class TableType(StrEnum):
    """The two table types, spelt as in Hudi's `HoodieTableType`."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"

    @property
    def declared(self) -> str:
        """The type as a spec declares it."""
        return "CopyOnWrite" if self is TableType.COPY_ON_WRITE else "MergeOnRead"


class TimelineZone(StrEnum):
    """The clock that names the instants: the zone of the writer's JVM, or UTC (`HoodieTimelineTimeZone`)."""

    LOCAL = "LOCAL"
    UTC = "UTC"


class Layout(IntEnum):
    """The two supported timeline layouts (`TimelineLayoutVersion`)."""

    ONE = 1
    TWO = 2


class Instant(NamedTuple):
    """An action on the table in its highest state.

    `time` and `completed_at` are Hudi instant times (`yyyyMMddHHmmssSSS`, or to the second), in the zone of
    `TableProperties.timezone`. `completed_at` is None for a pending instant and if the file name does not record it
    (layout 1, and files that an upgrade left under their old names).
    """

    time: str
    action: Action
    state: State
    completed_at: str | None = None

    @property
    def is_completed(self) -> bool:
        """Whether the instant is completed."""
        return self.state is State.COMPLETED

    @property
    def completion(self) -> str:
        """The completion time if the timeline records it, else the request time."""
        return self.completed_at or self.time


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A defect in the table's folder.

    `file` is relative to the table's base path; `reason` is a sentence.
    """

    file: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProperties:
    """The properties that the operator needs from `hoodie.properties`; `raw` holds all of them as text."""

    name: str
    table_type: TableType
    version: int
    layout: Layout
    timezone: TimelineZone = TimelineZone.LOCAL
    timeline_path: str = "timeline"
    history_path: str = "history"
    archive_folder: str = "archived"
    raw: tuple[tuple[str, str], ...] = ()
    header: str = ""
    """The first two lines, comments that may show the writer's zone."""

    @property
    def is_merge_on_read(self) -> bool:
        """Whether the table keeps log files that compaction merges."""
        return self.table_type is TableType.MERGE_ON_READ

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the text of any property."""
        return dict(self.raw).get(key, default)

    @property
    def timeline_folder(self) -> str:
        """The folder of the active timeline, relative to the base path (`TimelinePathProviderV1`, `V2`)."""
        return ".hoodie" if self.layout is Layout.ONE or not self.timeline_path else f".hoodie/{self.timeline_path}"

    @property
    def archive_path(self) -> str:
        """The folder of the archived timeline, relative to the base path."""
        if self.layout is Layout.ONE:
            return f".hoodie/{self.archive_folder}" if self.archive_folder else ".hoodie"
        return f"{self.timeline_folder}/{self.history_path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanSummary:
    """How far a completed clean went (`HoodieCleanMetadata`). Missing times are empty.

    `earliest_retained` is the oldest commit with file versions that the clean kept; empty for a policy that keeps a
    number of versions. `last_completed_commit` is the newest commit known to the clean, `savepoints` the savepoints it
    spared.
    """

    last_completed_commit: str = ""
    earliest_retained: str = ""
    savepoints: tuple[str, ...] = ()


class Bounds(NamedTuple):
    """The range of a count that is not exactly known."""

    at_least: int
    at_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """All counters that decisions use, by the rules of Hudi 1.2.0 (see `docs/contributing/timeline.md`).

    A counter is None if a file it depends on could not be read: unknown, never a guess. Its bounds are then set; the
    bounds of a known counter are None. The times are instant times; the lists are in timeline order.
    """

    delta_commits_since_compaction: int | None
    delta_commits_since_compaction_request: int | None
    commits_since_clustering: int | None
    commits_since_clean: int | None
    completed_commits: int
    pending_compactions: tuple[str, ...]
    pending_log_compactions: tuple[str, ...]
    pending_clusterings: tuple[str, ...] | None
    inflight_writes: tuple[Instant, ...] | None
    savepoints: tuple[str, ...]
    last_compaction: str | None
    last_clustering: str | None
    last_clean: str | None
    latest_completed: Instant | None
    earliest_pending: Instant | None
    clean: CleanSummary | None = None
    """The result of the clean named by `last_clean`; None without a clean, or if its file is unreadable."""
    delta_commits_since_compaction_bounds: Bounds | None = None
    commits_since_clustering_bounds: Bounds | None = None
    commits_since_clean_bounds: Bounds | None = None


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A read of a table: its properties, its active instants in timeline order, and their counters."""

    properties: TableProperties
    instants: tuple[Instant, ...]
    counters: Counters
    problems: tuple[Problem, ...] = ()
    completed_early: str | None = None
    """The newest compaction if its file is older than its request; only for a MergeOnRead table in layout 1."""
    files: int = 0
    """The number of files in the folder of the active timeline."""
    newest_files: tuple[tuple[str, int], ...] = ()
    """The newest files and the store's write times in epoch milliseconds; only for a table in local time."""

    @cached_property
    def pending(self) -> tuple[Instant, ...]:
        """Every pending instant, oldest first."""
        return tuple(instant for instant in self.instants if instant.state is not State.COMPLETED)

    @cached_property
    def completed(self) -> tuple[Instant, ...]:
        """Every completed instant, oldest first."""
        return tuple(instant for instant in self.instants if instant.state is State.COMPLETED)
