"""From the newest checkpoint to what a run reads, and from there to the checkpoint that goes into its commit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    FailureReason,
    IngestionTask,
    InvalidRescan,
    RescanRequest,
    parse_rescan,
)
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.checkpoint import Checkpoint, decode_checkpoint, newest_checkpoint
from hudi_jobs.ingestion.choice import Answer, Question
from hudi_jobs.ingestion.files import Selection, select_files
from hudi_jobs.ingestion.floor import Floor
from hudi_jobs.ingestion.listing import list_source, qualified
from hudi_jobs.ingestion.record import Kind, LoadedSegment, below, fingerprint, grown
from hudi_jobs.ingestion.segments import SegmentFolder
from hudi_jobs.table import HudiTable


@dataclass(frozen=True)
class Input:
    """What a run reads of the source at a canonical path, and what is known of all files of that source."""

    root: str
    selection: Selection
    answer: Answer
    before: Checkpoint
    record: Sequence[LoadedSegment]
    floor: Floor | None
    rescan: RescanRequest | None

    @property
    def settles(self) -> bool:
        """Whether this run turns a checkpoint of release 0.1 into a record, which is worth a commit without rows."""
        return self.before.floor is not None and self.floor is None

    @property
    def late(self) -> int:
        """How many of the files are older than the newest one that had been read of this source."""
        newest = self.before.newest
        if newest is None or self.before.source != self.root:
            return 0
        return sum(file.position < newest for file in self.selection.files)

    def recorded(self, folder: SegmentFolder, run: str) -> Checkpoint:
        """Write the record as it is once the files have been read, and return the checkpoint that names it."""
        selected = {fingerprint(self.root, file) for file in self.selection.files}
        learnt = {**self.answer.learnt, Kind.READ: self.answer.learnt[Kind.READ] | selected}
        after = grown(self.record, learnt, forgotten=self.answer.forgotten, listed=bytes(self.answer.listed))
        sealed = [draft.sealed(sequence=self.before.sequence + 1, run=run) for draft in after.drafts]
        for segment, content in sealed:
            folder.write(segment, content)
        return self.before.advanced(
            source=self.root,
            read=(file.position for file in self.selection.files),
            segments=(*after.kept, *(segment for segment, _ in sealed)),
            rescan=None if self.rescan is None else self.rescan.text,
            floor=self.floor,
        )


def newest_progress(table: HudiTable | None) -> Checkpoint:
    """Return the newest checkpoint of a table: among the commits of its active timeline, else in its archive."""
    if table is None:
        return Checkpoint()
    with stage("The table's checkpoint cannot be read", otherwise=FailureReason.HUDI_ERROR):
        texts = (commit.notes[CHECKPOINT_KEY] for commit in table.commits() if CHECKPOINT_KEY in commit.notes)
        return newest_checkpoint(texts) or decode_checkpoint(table.newest_note(CHECKPOINT_KEY))


def find_input(context: TaskContext, task: IngestionTask, table: HudiTable | None) -> Input:
    """Return the oldest files of the source that have not been read, within the limits of a run."""
    before = newest_progress(table)
    rescan = _open_request(task, before)
    record = _load(context, before, rescan)
    listing = list_source(context.spark, task.files.path)
    floor = _canonical(context, before.floor)
    question = Question(task.files.path_glob, task.files.format, record, floor, rescan)
    answer = Answer()
    if floor is not None and below(listing.root, floor.source):
        around = list_source(context.spark, floor.document["source"])
        for batch in around.batches:
            answer.assume(question, around.root, batch)
    for batch in listing.batches:
        answer.examine(question, listing.root, batch)
    return Input(
        root=listing.root,
        selection=select_files(answer.waiting, max_files=task.max_files, max_bytes=task.max_bytes),
        answer=answer,
        before=before,
        record=record,
        floor=before.floor if floor is not None and _are_apart(listing.root, floor.source) else None,
        rescan=rescan,
    )


def _open_request(task: IngestionTask, before: Checkpoint) -> RescanRequest | None:
    if task.rescan is None or task.rescan == before.rescan:
        return None
    try:
        return parse_rescan(task.rescan)
    except InvalidRescan as error:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"{error}.") from error


def _load(context: TaskContext, before: Checkpoint, rescan: RescanRequest | None) -> tuple[LoadedSegment, ...]:
    try:
        return SegmentFolder(context.spark, context.task.table.base_path).load(before.segments)
    except TaskFailed as failure:
        lost = failure.reason is FailureReason.CHECKPOINT_DAMAGED
        if not lost or rescan is None or not rescan.is_everything:
            raise
        context.log("starting the record of read files anew", rescan=rescan.text, cause=failure.message)
        return ()


def _canonical(context: TaskContext, floor: Floor | None) -> Floor | None:
    return None if floor is None else replace(floor, source=qualified(context.spark, floor.source))


def _are_apart(one: str, other: str) -> bool:
    return below(one, other) is None and below(other, one) is None
