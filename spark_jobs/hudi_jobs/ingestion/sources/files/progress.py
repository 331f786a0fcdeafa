"""Turns the read progress into the input of a run, and the input into the next progress."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, FileSource, InvalidRescan, RescanRequest, parse_rescan
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.batch import Limit, of_milliseconds, rfc3339
from hudi_jobs.ingestion.sources.files.choice import Answer, Question
from hudi_jobs.ingestion.sources.files.listing import confirmed, list_source
from hudi_jobs.ingestion.sources.files.record import LoadedSegment, Segment, fingerprint, grown
from hudi_jobs.ingestion.sources.files.segments import SegmentFolder
from hudi_jobs.ingestion.sources.files.selection import OddKeys, Selection, select_confirmed
from hudi_jobs.ingestion.sources.files.state import FileProgress

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
