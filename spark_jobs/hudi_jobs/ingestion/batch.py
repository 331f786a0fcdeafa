"""The protocol of sources, as in HoodieStreamer: return the next batch after a checkpoint."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TypedDict

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Checkpoint, IngestionTask
from hudi_jobs.ingestion.rows import SourceRows, nothing


@dataclass(frozen=True)
class Limit:
    """The limits of a batch in bytes and in the source's items; a batch has at least one item."""

    size: int | None = None
    items: int | None = None


class Figures(TypedDict, total=False):
    """A source's figures, under the names of the task's result."""

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
    """Return a time in the format of figures."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def of_milliseconds(milliseconds: int) -> datetime:
    """Return a time since the epoch, clipped to the calendar's first or last time."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC) if milliseconds > 0 else datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class InputBatch:
    """The next part of a source, and the checkpoint to commit with it.

    Without `rows` there is nothing new; a moved checkpoint is committed alone. With `must_be_kept` the next input would
    be lost without this checkpoint, so the run fails when no table can store it. `contents` and `remark` are for
    people: `3 files`, and whole sentences. `before_commit` writes files that the checkpoint refers to, which count only
    once the commit names them; `after_commit` may tidy up, and must not raise.
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
    """The checkpoints of commits to undo, in any order, the `newest` of them, and the checkpoint `at` that counts then.

    `going` may read each checkpoint from the store on demand, because there may be many.
    """

    at: Checkpoint | None
    newest: Checkpoint
    going: Iterable[Checkpoint]


class Source(Protocol):
    """A source of a task; it writes only in `InputBatch.before_commit`."""

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        """Return the rows after a checkpoint, or raise `TaskFailed`.

        The checkpoint is of this source's kind, or None before the first read. The same checkpoint leads to the same
        rows until a later checkpoint is committed: a run that dies is repeated.
        """

    def not_again(self, undone: Undone) -> str:
        """Return sentences on input of undone checkpoints that may not be readable again; else an empty text.

        Writes nothing. Raises `TaskFailed` when the source does not answer.
        """


SourceFactory = Callable[[TaskContext, IngestionTask], Source]
