"""What has been read, as a small text that is committed together with the data that was read.

It names the segments of the record that count, and grows by one `sequence` with every commit that reads files. Of the
checkpoints in a timeline the greatest sequence is the newest: a service carries an older one over, and clocks differ.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.files import Position
from hudi_jobs.ingestion.floor import VERSION as FLOOR_VERSION
from hudi_jobs.ingestion.floor import Floor, decode_floor
from hudi_jobs.ingestion.record import Kind, Segment

VERSION = 2
KIND = "files"
LOOK_BACK = 10
"""Checkpoints in a row that must be no newer than the newest one before older commits are left unread."""

_LONGEST = 500_000
"""Characters; the checkpoints of release 0.1 have about 30,000, later ones a few hundred."""
_MOST_SEGMENTS = 100
_SHOWN = 400


@dataclass(frozen=True)
class Checkpoint:
    """What has been read of all sources of a table.

    `newest` is the newest file that was read of `source`, for people. `rescan` is the request to read files again that
    was served last. `floor` is what release 0.1 left behind and no run has yet turned into fingerprints.
    """

    sequence: int = 0
    source: str | None = None
    newest: Position | None = None
    segments: tuple[Segment, ...] = ()
    rescan: str | None = None
    floor: Floor | None = None

    @property
    def display(self) -> str | None:
        """How far the source has been read, for people."""
        return None if self.newest is None else str(self.newest)

    def advanced(
        self,
        *,
        source: str,
        read: Iterable[Position],
        segments: tuple[Segment, ...],
        rescan: str | None,
        floor: Floor | None,
    ) -> "Checkpoint":
        """Return the checkpoint after the given files of a source have been read."""
        newest = max((Position(one.time, one.path[:_SHOWN]) for one in read), default=None)
        if self.newest is not None and (newest is None or source == self.source):
            newest = self.newest if newest is None else max(newest, self.newest)
        return Checkpoint(self.sequence + 1, source, newest, segments, rescan or self.rescan, floor)


def encode_checkpoint(checkpoint: Checkpoint) -> str:
    """Write the checkpoint as the JSON that goes into the commit."""
    document = {
        "version": VERSION,
        "kind": KIND,
        "display": checkpoint.display,
        "sequence": checkpoint.sequence,
        "source": checkpoint.source,
        "newest": None if checkpoint.newest is None else [checkpoint.newest.time, checkpoint.newest.path],
        "segments": [[one.name, one.kind, one.count, one.checksum] for one in checkpoint.segments],
        "rescan": checkpoint.rescan,
        "floor": None if checkpoint.floor is None else checkpoint.floor.document,
    }
    return json.dumps(document, separators=(",", ":"))


def decode_checkpoint(text: str | None) -> Checkpoint:
    """Read a commit's checkpoint; none means that nothing has been read.

    Raises `TaskFailed` for text that this release did not write: to start anew then could repeat every row.
    """
    if text is None:
        return Checkpoint()
    try:
        if len(text) > _LONGEST:
            raise ValueError(len(text))  # noqa: TRY301 - one refusal for all that is not a checkpoint
        return _decode(json.loads(text))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            "The checkpoint in the table's newest commit is not one that this release can read; "
            "run the release that wrote it.",
        ) from error


def newest_checkpoint(texts: Iterable[str]) -> Checkpoint | None:
    """Return the checkpoint with the greatest sequence; the texts come in the order of completion, newest first.

    No more texts are asked for once the last ten have shown nothing newer. Raises as `decode_checkpoint` does.
    """
    best, since = None, 0
    for found in map(decode_checkpoint, texts):
        if best is None or found.sequence > best.sequence:
            best, since = found, 0
        else:
            since += 1
        if since == LOOK_BACK:
            break
    return best


def _decode(document: dict[str, Any]) -> Checkpoint:
    if document["version"] == FLOOR_VERSION:
        return _of_floor(decode_floor(document))
    if (document["version"], document["kind"]) != (VERSION, KIND):
        raise ValueError(document["version"])
    newest, segments, floor = document["newest"], document["segments"], document["floor"]
    if len(segments) > _MOST_SEGMENTS:
        raise ValueError(len(segments))
    return Checkpoint(
        sequence=int(document["sequence"]),
        source=None if document["source"] is None else str(document["source"]),
        newest=None if newest is None else Position(int(newest[0]), str(newest[1])),
        segments=tuple(Segment(str(name), Kind(kind), int(count), str(sha)) for name, kind, count, sha in segments),
        rescan=None if document["rescan"] is None else str(document["rescan"]),
        floor=None if floor is None else decode_floor(floor),
    )


def _of_floor(floor: Floor) -> Checkpoint:
    watermark = floor.document["watermark"]
    newest = None if watermark is None else Position(int(watermark["time"]), str(watermark["path"]))
    return replace(Checkpoint(), newest=newest, source=floor.source, floor=floor)
