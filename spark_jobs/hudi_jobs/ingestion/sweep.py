"""Removes files that no active checkpoint names, from time to time and only when certain."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import CHECKPOINT_KEY, Checkpoint
from hudi_jobs.ingestion.checkpoint import decode_checkpoint
from hudi_jobs.table import HudiTable

SWEEP_EVERY = 64
"""Checkpoints between two sweeps; each sweep reads the metadata of all active commits."""

KEEP_FOR_MILLISECONDS = 24 * 60 * 60 * 1000
"""Milliseconds; the least age of a file, relative to the newest file of its folder by the store's clock."""

_MOST_REMOVED = 1000

_LOGGER = logging.getLogger(__name__)


def sweep_periodically(
    context: TaskContext, checkpoint: Checkpoint, what: str, remove: Callable[[Sequence[Checkpoint]], int]
) -> None:
    """Sweep after some commits: `remove` receives the checkpoints of possible restores, and returns a number.

    The data is committed, so a failure is only logged, and a later sweep tries again.
    """
    if checkpoint.sequence % SWEEP_EVERY:
        return
    try:
        removed = remove(_checkpoints(context))
    except Exception:
        _LOGGER.warning("old %s could not be removed", what, exc_info=True)
    else:
        context.log(f"removed old {what}", number=removed)


def expired(written: Mapping[str, int], named: Collection[str], is_ours: Callable[[str], bool]) -> list[str]:
    """Return the expired files of a folder; `written` are modification times in milliseconds."""
    newest = max(written.values(), default=0)
    old = (one for one, at in written.items() if newest - at > KEEP_FOR_MILLISECONDS and one not in named)
    return list(islice(filter(is_ours, old), _MOST_REMOVED))


def _checkpoints(context: TaskContext) -> list[Checkpoint]:
    """Return the checkpoints of all possible restores; savepoints keep their commits from archival.

    A commit without a checkpoint relies on the commit before it. When the oldest has none, its checkpoint is in the
    archive, so nothing is certain and the list is empty.
    """
    table = HudiTable.open(context.spark, context.task.table.base_path)
    texts = [] if table is None else [commit.notes.get(CHECKPOINT_KEY) for commit in table.commits()]
    if not texts or texts[-1] is None:
        return []
    return [found for text in texts if (found := decode_checkpoint(text)) is not None]
