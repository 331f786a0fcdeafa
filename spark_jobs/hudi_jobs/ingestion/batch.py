"""What every source offers, in the words of HoodieStreamer: the next batch after a checkpoint."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TypedDict

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Checkpoint, IngestionTask
from hudi_jobs.ingestion.rows import SourceRows, nothing


@dataclass(frozen=True)
class Limit:
    """How much one batch may hold: bytes, and whatever the source counts. A batch holds one item at least."""

    size: int | None = None
    items: int | None = None


class Figures(TypedDict, total=False):
    """What a source counts, under the names of the task's result."""

    files_read: int
    bytes_read: int
    files_skipped: int
    records_skipped: int
    skipped: tuple[str, ...]
    complete_up_to: str
    backlog_records: int
    backlog_bytes: int
    rescan: str | None


def rfc3339(moment: datetime) -> str:
    """Return a time as figures have it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def of_milliseconds(milliseconds: int) -> datetime:
    """Return a time since the epoch; one that no calendar has is taken for the latest, or the first."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC) if milliseconds > 0 else datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class InputBatch:
    """What comes next in a source, and the checkpoint that counts once it has been committed.

    Without `rows` there is nothing new; a checkpoint that has still moved is committed by itself. `must_be_kept` says
    that what comes next would be missed without this checkpoint, so that the run fails where there is no table for it.
    `contents` and `remark` are for people: `3 files`, and whole sentences. `before_commit` writes what the checkpoint
    refers to, which counts for nothing until the commit names it; `after_commit` may tidy up, and must not raise.
    """

    rows: SourceRows | None
    checkpoint: Checkpoint | None
    has_backlog: bool = False
    must_be_kept: bool = False
    figures: Figures = field(default_factory=Figures)
    contents: str = "the source"
    remark: str = ""
    before_commit: Callable[[], None] = nothing
    after_commit: Callable[[], None] = nothing


@dataclass(frozen=True)
class Undone:
    """The checkpoints of commits that are to go, in any order, the `newest` of them, and `at`, which counts afterwards.

    `going` may read each from the store when it is asked for, because there may be many.
    """

    at: Checkpoint | None
    newest: Checkpoint
    going: Iterable[Checkpoint]


class Source(Protocol):
    """A source of one task. It writes nothing by itself, except where `InputBatch.before_commit` says so."""

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        """Return the rows that follow a checkpoint, or raise `TaskFailed`.

        The checkpoint is of this source's kind, or None where nothing has been read. The same checkpoint leads to the
        same rows until one that follows it is committed: a run that dies is repeated.
        """

    def not_again(self, undone: Undone) -> str:
        """Return sentences on what was read for checkpoints that go and is not certain to be read again; else nothing.

        Nothing is written. Where the source cannot be asked, `TaskFailed` is raised.
        """


SourceFactory = Callable[[TaskContext, IngestionTask], Source]
