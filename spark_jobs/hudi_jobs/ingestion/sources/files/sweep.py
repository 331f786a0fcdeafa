"""Removal of segments that no commit of the active timeline names, now and then and only where that is certain."""

import logging

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import CHECKPOINT_KEY
from hudi_jobs.ingestion.checkpoint import decode_checkpoint
from hudi_jobs.ingestion.sources.files.segments import SegmentFolder
from hudi_jobs.ingestion.sources.files.state import FileProgress
from hudi_jobs.table import HudiTable

SWEEP_EVERY = 64
"""Commits that read files between two sweeps: one reads the metadata of every commit of the active timeline."""

_LOGGER = logging.getLogger(__name__)


def sweep_periodically(context: TaskContext, progress: FileProgress) -> None:
    """Sweep after some commits. The data is committed, so a failure is logged and is tried again later."""
    if progress.sequence % SWEEP_EVERY:
        return
    try:
        removed = _sweep(context)
    except Exception:
        _LOGGER.warning("old segments of the record of read files could not be removed", exc_info=True)
    else:
        context.log("removed old segments of the record of read files", segments=removed)


def _sweep(context: TaskContext) -> int:
    """Remove what no commit can lead back to: a savepoint keeps its commit, and so its segments, from archival.

    A commit without a checkpoint relies on the one before it. Where the oldest has none, that is in the archive, and
    nothing is removed.
    """
    base_path = context.task.table.base_path
    table = HudiTable.open(context.spark, base_path)
    texts = [] if table is None else [commit.notes.get(CHECKPOINT_KEY) for commit in table.commits()]
    if not texts or texts[-1] is None:
        return 0
    found = [FileProgress.of(decode_checkpoint(text)) for text in texts if text is not None]
    named = {segment.name for progress in found for segment in progress.segments}
    return SegmentFolder(context.spark, base_path).sweep(named, before=min(progress.sequence for progress in found))
