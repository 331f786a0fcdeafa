"""Plans and results of table services, as values.

One class per Avro record of Hudi (namespace `org.apache.hudi.avro.model`), with the fields that a decision or a person
may ask for. Lists that a writer left out are empty, texts that it left out are None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_operator.timeline.content.commits import CommitMetadata


@dataclass(frozen=True, slots=True)
class FileSlice:
    """One version of one file group: a base file and the log files on top (names or paths, as the plan has them)."""

    partition: str
    file_id: str
    base_file: str | None
    log_files: tuple[str, ...] = ()
    base_instant: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The slices that a compaction or log compaction will merge (`HoodieCompactionPlan`).

    `read_bytes` is what Hudi expects it to read, to the MiB.
    """

    operations: tuple[FileSlice, ...] = ()
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    missing_partitions: tuple[str, ...] = ()
    read_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ReplacePlan:
    """What a requested clustering or replacecommit will do (`HoodieRequestedReplaceMetadata`).

    `groups` are the input groups of a clustering, empty for everything else. `read_bytes` is what Hudi expects a
    clustering to read, to the MiB.
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
    """How large a plan of a compaction or clustering is, and what its maker noted in it.

    `groups` is the number of file groups that a compaction merges, or of input groups of a clustering; `read_bytes` is
    what Hudi expects it to read, to the MiB.
    """

    groups: int
    read_bytes: int
    extra_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CleanPlan:
    """What a clean will delete (`HoodieCleanerPlan`)."""

    policy: str | None = None
    earliest_retained: str | None = None
    last_completed_commit: str | None = None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanResult:
    """What a clean deleted (`HoodieCleanMetadata`)."""

    started_at: str | None = None
    milliseconds: int = 0
    files_deleted: int = 0
    earliest_retained: str | None = None
    last_completed_commit: str | None = None
    failed_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstantReference:
    """An instant that a rollback or restore names. Old writers left the action out."""

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
    """The instants that a restore will undo, newest first, and the savepoint it goes back to (`HoodieRestorePlan`)."""

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
    """Who saved a commit, when (epoch milliseconds) and why, and the files it pins (`HoodieSavepointMetadata`)."""

    user: str | None = None
    at: int = 0
    comment: str | None = None
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexedPartition:
    """A partition of the metadata table, and the instant up to which it is (to be) built."""

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
