"""Turns the read progress into the input of a run, batch by batch, and the input into the next progress."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Checkpoint, FailureReason, FileSource, InvalidRescan, RescanRequest, parse_rescan
from hudi_jobs.contract.sources.csv_options import RFC_4180
from hudi_jobs.contract.sources.files import is_visible, matches
from hudi_jobs.ingestion.batch import Limit, of_milliseconds, rfc3339
from hudi_jobs.ingestion.checkpoint import understood
from hudi_jobs.ingestion.sources.files.listing import confirmed, list_source
from hudi_jobs.ingestion.sources.files.record import (
    LoadedSegment,
    Segment,
    SegmentFolder,
    fingerprint,
    grown,
    known_among,
)
from hudi_jobs.ingestion.sources.files.selection import OddKeys, Position, Selection, SourceFile, select_confirmed
from hudi_jobs.spark.failures import TaskFailed

KIND = "files"

_MOST_SEGMENTS = 100
_SHOWN = 400


@dataclass(frozen=True)
class FileProgress:
    """The read progress of all sources of a table.

    `newest` is the newest file that was read from `source`, for people. `rescan` is the last served request to read
    files again. `quotes` names the rule for quotes of the last read of a CSV source without the option `escape`;
    commits from before RFC 4180 became the rule have none.
    """

    sequence: int = 0
    source: str | None = None
    newest: Position | None = None
    segments: tuple[Segment, ...] = ()
    rescan: str | None = None
    quotes: str | None = None

    @classmethod
    def of(cls, checkpoint: Checkpoint | None) -> "FileProgress":
        """Read the state of a checkpoint; raise `TaskFailed` for any other state."""
        if checkpoint is None:
            return cls()
        with understood():
            return replace(_of_state(checkpoint.state), sequence=checkpoint.sequence, source=checkpoint.source)

    @property
    def display(self) -> str | None:
        """The reading position, for people."""
        return None if self.newest is None else str(self.newest)

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint with this state."""
        newest = self.newest
        state = {
            "newest": None if newest is None else [newest.time, newest.path],
            "segments": [[one.name, one.count, one.checksum] for one in self.segments],
            "rescan": self.rescan,
            "quotes": self.quotes,
        }
        return Checkpoint(KIND, self.sequence, self.source, self.display, state)

    def advanced(
        self, *, source: str, read: Iterable[Position], segments: tuple[Segment, ...], rescan: str | None
    ) -> "FileProgress":
        """Return the progress after the given files of a source have been read."""
        newest = max((Position(one.time, one.path[:_SHOWN]) for one in read), default=None)
        if self.newest is not None and (newest is None or source == self.source):
            newest = self.newest if newest is None else max(newest, self.newest)
        return FileProgress(self.sequence + 1, source, newest, segments, rescan or self.rescan, RFC_4180)


def _of_state(state: Mapping[str, Any]) -> FileProgress:
    newest, segments = state["newest"], state["segments"]
    if len(segments) > _MOST_SEGMENTS:
        raise ValueError(len(segments))
    return FileProgress(
        newest=None if newest is None else Position(int(newest[0]), str(newest[1])),
        segments=tuple(Segment(str(name), int(count), str(sha)) for name, count, sha in segments),
        rescan=None if state["rescan"] is None else str(state["rescan"]),
        quotes=None if state.get("quotes") is None else str(state["quotes"]),
    )


@dataclass(frozen=True)
class Question:
    """Decides of every file whether it is input, and whether it has been read.

    `rescan` is the request to read files again that no run has served yet.
    """

    source: FileSource
    record: Sequence[LoadedSegment]
    rescan: RescanRequest | None = None


@dataclass
class Answer:
    """The unread files, and the files that the record forgets."""

    waiting: list[SourceFile] = field(default_factory=list)
    forgotten: set[bytes] = field(default_factory=set)
    listed: bytearray = field(default_factory=bytearray)
    candidates: int = 0

    def examine(self, question: Question, root: str, batch: Sequence[SourceFile]) -> None:
        """Examine some files of the source at a canonical path."""
        prints = {
            fingerprint(root, file): file for file in batch if is_visible(file.path, file.size, question.source.format)
        }
        known = known_among(prints, question.record)
        for mark, file in prints.items():
            self.listed += mark
            if question.source.selects(file.path, file.size):
                self.candidates += 1
                self._evaluate(question, file, mark, is_known=mark in known)

    def _evaluate(self, question: Question, file: SourceFile, mark: bytes, *, is_known: bool) -> None:
        if is_known and question.rescan is not None and matches(file.path, question.rescan.glob):
            self.forgotten.add(mark)
            is_known = False
        if not is_known:
            self.waiting.append(file)


SealedSegments = Sequence[tuple[Segment, bytes]]
"""Segments to write, and the content of their files."""


@dataclass(frozen=True)
class Input:
    """The input of a run from the source at a canonical path, and the state of all files of that source.

    Files with `odd` keys are neither read nor recorded, so a later run looks at them again.
    """

    root: str
    selection: Selection
    answer: Answer
    odd: OddKeys
    before: FileProgress
    record: Sequence[LoadedSegment]
    rescan: RescanRequest | None
    listed_at: datetime
    """The time before the source was listed: a later file may not be in the listing."""

    @property
    def complete_up_to(self) -> str:
        """The time, as RFC 3339, up to which files are in the table once the selected files are."""
        left = self.selection.oldest_left
        return rfc3339(self.listed_at if left is None else min(self.listed_at, of_milliseconds(left)))

    @property
    def late(self) -> int:
        """The number of files that are older than the newest file read before from this source."""
        newest = self.before.newest
        if newest is None or self.before.source != self.root:
            return 0
        return sum(file.position < newest for file in self.selection.files)

    def recorded(self, run: str) -> tuple[FileProgress, SealedSegments]:
        """Return the progress after the files have been read, and the segments that must be written before."""
        selected = {fingerprint(self.root, file) for file in self.selection.files}
        after = grown(self.record, selected, forgotten=self.answer.forgotten, listed=bytes(self.answer.listed))
        sealed = [draft.sealed(sequence=self.before.sequence + 1, run=run) for draft in after.drafts]
        progress = self.before.advanced(
            source=self.root,
            read=(file.position for file in self.selection.files),
            segments=(*after.kept, *(segment for segment, _ in sealed)),
            rescan=None if self.rescan is None else self.rescan.text,
        )
        return progress, sealed


def find_input(
    context: TaskContext, source: FileSource, before: FileProgress, limit: Limit, asked: str | None
) -> Input:
    """Return the oldest unread files of the source, within the limit.

    `asked` is the request to read files again, whether or not a run has served it.
    """
    rescan = _open_request(asked, before)
    listed_at = datetime.now(UTC)
    record = _load(context, before, rescan)
    listing = list_source(context.spark, source.path)
    question = Question(source, record, rescan)
    answer = Answer()
    for batch in listing.batches:
        answer.examine(question, listing.root, batch)
    confirm, outside = partial(confirmed, context.spark, source.path), listing.odd.count
    selection = select_confirmed(answer.waiting, confirm, listing.odd, max_files=limit.items, max_bytes=limit.size)
    answer.candidates -= listing.odd.count - outside
    return Input(
        root=listing.root,
        selection=selection,
        answer=answer,
        odd=listing.odd,
        before=before,
        record=record,
        rescan=rescan,
        listed_at=listed_at,
    )


def _open_request(asked: str | None, before: FileProgress) -> RescanRequest | None:
    if asked is None or asked == before.rescan:
        return None
    try:
        return parse_rescan(asked)
    except InvalidRescan as error:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"{error}.") from error


def _load(context: TaskContext, before: FileProgress, rescan: RescanRequest | None) -> tuple[LoadedSegment, ...]:
    try:
        return SegmentFolder(context.spark, context.task.table.base_path).load(before.segments)
    except TaskFailed as failure:
        lost = failure.reason is FailureReason.CHECKPOINT_DAMAGED
        if not lost or rescan is None or not rescan.is_everything:
            raise
        context.log("starting the record of read files again", rescan=rescan.text, cause=failure.message)
        return ()
