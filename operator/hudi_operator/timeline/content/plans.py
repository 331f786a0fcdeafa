"""Plans and results of table services, as values.

There is a class per Avro record of Hudi (namespace `org.apache.hudi.avro.model`), with the fields that decisions and
people use. Lists missing in the file are empty, missing texts are None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_operator.timeline.content.commits import CommitMetadata


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A version of a file group: a base file and its log files (names or paths, as in the plan)."""

    partition: str
    file_id: str
    base_file: str | None
    log_files: tuple[str, ...] = ()
    base_instant: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The slices that a compaction or log compaction will merge (`HoodieCompactionPlan`).

    `read_bytes` is Hudi's estimate of the bytes to read, rounded to MiB.
    """

    operations: tuple[FileSlice, ...] = ()
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    missing_partitions: tuple[str, ...] = ()
    read_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ReplacePlan:
    """The plan of a requested clustering or replacecommit (`HoodieRequestedReplaceMetadata`).

    `groups` are the input groups of a clustering, empty for other operations. `read_bytes` is Hudi's estimate of the
    bytes a clustering reads, rounded to MiB.
    """

    operation: str | None = None
    groups: tuple[tuple[FileSlice, ...], ...] = ()
    strategy: str | None = None
    strategy_parameters: Mapping[str, str] = field(default_factory=dict)
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    missing_partitions: tuple[str, ...] = ()
    read_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """The size of a compaction or clustering plan, and its author's extra metadata.

    `groups` counts the file groups of a compaction, or the input groups of a clustering; `read_bytes` is Hudi's
    estimate of the bytes to read, rounded to MiB.
    """

    groups: int
    read_bytes: int
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """The files a clean will delete (`HoodieCleanerPlan`)."""

    policy: str | None = None
    earliest_retained: str | None = None
    last_completed_commit: str | None = None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanResult:
    """The files a clean deleted (`HoodieCleanMetadata`)."""

    started_at: str | None = None
    milliseconds: int = 0
    files_deleted: int = 0
    earliest_retained: str | None = None
    last_completed_commit: str | None = None
    failed_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstantReference:
    """An instant named by a rollback or restore. Old writers omit the action."""

    time: str
    action: str | None = None


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """The instant that a rollback will undo (`HoodieRollbackPlan`)."""

    instant: InstantReference | None = None


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """The instants that a rollback undid (`HoodieRollbackMetadata`)."""

    started_at: str | None = None
    milliseconds: int = 0
    files_deleted: int = 0
    instants: tuple[InstantReference, ...] = ()


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The instants that a restore will undo, newest first, and its target savepoint (`HoodieRestorePlan`)."""

    instants: tuple[InstantReference, ...] = ()
    savepoint: str | None = None


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The instants that a restore undid (`HoodieRestoreMetadata`)."""

    started_at: str | None = None
    milliseconds: int = 0
    instants: tuple[InstantReference, ...] = ()


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A savepoint: its author, time (epoch milliseconds), comment and pinned files (`HoodieSavepointMetadata`)."""

    user: str | None = None
    at: int = 0
    comment: str | None = None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexedPartition:
    """A partition of the metadata table, and the instant up to which an index covers it."""

    name: str
    up_to: str | None = None


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The indexes that an indexing builds or has built (`HoodieIndexPlan`, `HoodieIndexCommitMetadata`)."""

    partitions: tuple[IndexedPartition, ...] = ()


Content = (
    CommitMetadata
    | CompactionPlan
    | ReplacePlan
    | CleanPlan
    | CleanResult
    | RollbackPlan
    | RollbackResult
    | RestorePlan
    | RestoreResult
    | Savepoint
    | IndexPlan
)
