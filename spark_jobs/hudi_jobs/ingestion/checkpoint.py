"""The checkpoint in a table's commits, and the files that it names.

Finds the newest checkpoint, checks that it belongs to the declared source, and removes files that no active checkpoint
names.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import CHECKPOINT_KEY, CHECKPOINT_LIMIT, Checkpoint, FailureReason
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable

VERSION = 3
LOOK_BACK = 10
"""The number of older checkpoints in a row after which the search for the newest checkpoint ends."""


def encode_checkpoint(checkpoint: Checkpoint) -> str:
    """Return the checkpoint as the JSON in a commit."""
    document = {
        "version": VERSION,
        "kind": checkpoint.kind,
        "display": checkpoint.display,
        "sequence": checkpoint.sequence,
        "source": checkpoint.source,
        "state": checkpoint.state,
    }
    return json.dumps(document, separators=(",", ":"))


def decode_checkpoint(text: str | None) -> Checkpoint | None:
    """Read a commit's checkpoint; None means that nothing has been read.

    Raises `TaskFailed` for text that this release did not write: to start again from nothing could repeat every row.
    """
    if text is None:
        return None
    with understood():
        if len(text) > CHECKPOINT_LIMIT:
            raise ValueError(len(text))
        return _of_envelope(json.loads(text))


@contextmanager
def understood() -> Iterator[None]:
    """Raise `TaskFailed` if this release does not know the checkpoint or the state in it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            "This release cannot read the checkpoint in the table's newest commit. Run the release that wrote it.",
        ) from error


def newest_checkpoint(texts: Iterable[str]) -> Checkpoint | None:
    """Return the checkpoint with the greatest sequence; the texts come in the order of the commits, newest first.

    The search ends once the last ten texts have shown nothing newer. Raises as `decode_checkpoint` does.
    """
    best: Checkpoint | None = None
    since = 0
    for found in map(decode_checkpoint, texts):
        if found is not None and (best is None or found.sequence > best.sequence):
            best, since = found, 0
        else:
            since += 1
        if since == LOOK_BACK:
            break
    return best


def newest_progress(table: HudiTable | None, *, without: Collection[str] = ()) -> Checkpoint | None:
    """Return the newest checkpoint of a table: among the commits of its active timeline, else in its archive.

    `without` are commits to ignore, because they will be removed.
    """
    if table is None:
        return None
    with stage("The table's checkpoint cannot be read", otherwise=FailureReason.HUDI_ERROR):
        commits = table.commits() if table.version >= LAYOUT_2_FROM else table.commits_by_request()
        staying = (commit.notes for commit in commits if commit.instant not in without)
        texts = (notes[CHECKPOINT_KEY] for notes in staying if CHECKPOINT_KEY in notes)
        # The archive costs much, and never holds the newest checkpoint.
        return newest_checkpoint(texts) or decode_checkpoint(table.archived_note(CHECKPOINT_KEY))


def require_kind(checkpoint: Checkpoint | None, kind: str) -> None:
    """Raise `TaskFailed` if the checkpoint is of another kind of source: nobody knows what of this source was read."""
    if checkpoint is not None and checkpoint.kind != kind:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table's checkpoint is for a source of the kind {checkpoint.kind!a}, but the spec declares a source "
            f"of the kind {kind!a}. Declare the former source, or ingest into another table.",
        )


def require_following(before: Checkpoint | None, after: Checkpoint | None, kind: str) -> Checkpoint:
    """Return the checkpoint for a commit; raise `ValueError` if it would not count as the newest.

    Otherwise a defect of the source would read its rows again, or skip rows for good.
    """
    sequence = 1 if before is None else before.sequence + 1
    if after is None or (after.kind, after.sequence) != (kind, sequence):
        raise ValueError(f"the source's checkpoint is {after!r:.200}, and not of the kind {kind}, number {sequence}")
    return after


def _of_envelope(document: dict[str, Any]) -> Checkpoint:
    if document["version"] != VERSION or not isinstance(document["state"], dict):
        raise ValueError(document["version"])
    return Checkpoint(
        kind=str(document["kind"]),
        sequence=int(document["sequence"]),
        source=_text(document["source"]),
        display=_text(document["display"]),
        state=document["state"],
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


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
