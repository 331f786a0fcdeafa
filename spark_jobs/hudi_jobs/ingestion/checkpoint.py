"""How far a source has been read: a small value that is committed together with the data that was read.

A file counts as read when it sorts at or below `floor` in the order of (modification time, path), or when its
fingerprint is among `recent`. The floor stays the late-arrival window behind the newest file that was read, so a file
that shows up late with an equal or slightly earlier time (S3 has whole seconds, and a multipart upload carries the time
at which it began) is still seen, once. At most `MOST_FINGERPRINTS` fingerprints are kept; beyond that the floor rises
over the oldest of them, and a file that appears later and sorts below that floor is not seen.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed

MOST_FINGERPRINTS = 2000
"""About 30 kB in the commit."""

VERSION = 1


@dataclass(frozen=True, order=True)
class Position:
    """A place in the order of source files; the time is in milliseconds since the epoch."""

    time: int
    path: str

    def __str__(self) -> str:
        moment = datetime.fromtimestamp(self.time / 1000, UTC).isoformat(timespec="milliseconds")
        return f"{moment.replace('+00:00', 'Z')} {self.path}"


@dataclass(frozen=True, order=True)
class SourceFile:
    """A file of the source; the path is relative to the source, the size in bytes."""

    time: int
    path: str
    size: int

    @property
    def position(self) -> Position:
        """Where the file stands in the order of reading."""
        return Position(self.time, self.path)

    @property
    def fingerprint(self) -> str:
        """72 bits that stand for this version of this file."""
        digest = hashlib.sha256(f"{self.time} {self.path}".encode()).digest()
        return base64.urlsafe_b64encode(digest[:9]).decode()


@dataclass(frozen=True)
class Checkpoint:
    """What has been read of the source at one path. Another path starts anew: its files are all unread."""

    source: str
    watermark: Position | None = None
    floor: Position | None = None
    recent: frozenset[str] = frozenset()

    def has_read(self, file: SourceFile) -> bool:
        """Tell whether the file, in the version that is listed now, has been read."""
        if self.floor is not None and file.position <= self.floor:
            return True
        return file.fingerprint in self.recent

    def advanced(
        self, read: Iterable[SourceFile], listing: Iterable[SourceFile], *, late_arrival_seconds: int
    ) -> "Checkpoint":
        """Return the checkpoint after the given files have been read.

        `listing` is everything that the source holds now: fingerprints of files that are gone are dropped.
        """
        read = set(read)
        newest = max(file.position for file in read)
        watermark = newest if self.watermark is None else max(newest, self.watermark)
        window = Position(watermark.time - late_arrival_seconds * 1000, "")
        floor = window if self.floor is None else max(self.floor, window)
        known = sorted(file for file in {*listing, *read} if file in read or self.has_read(file))
        remembered = [file for file in known if file.position > floor]
        excess = len(remembered) - MOST_FINGERPRINTS
        if excess > 0:
            floor = remembered[excess - 1].position
            remembered = remembered[excess:]
        return Checkpoint(
            source=self.source,
            watermark=watermark,
            floor=floor,
            recent=frozenset(file.fingerprint for file in remembered),
        )


def encode_checkpoint(checkpoint: Checkpoint) -> str:
    """Write the checkpoint as the JSON that goes into the commit."""
    document = {
        "version": VERSION,
        "source": checkpoint.source,
        "watermark": _encode_position(checkpoint.watermark),
        "floor": _encode_position(checkpoint.floor),
        "recent": sorted(checkpoint.recent),
    }
    return json.dumps(document, separators=(",", ":"))


def decode_checkpoint(text: str | None, *, source: str) -> Checkpoint:
    """Read a commit's checkpoint for a source; none, or one of another source, means that nothing has been read.

    Raises `TaskFailed` for text that this release did not write: to start anew then could repeat every row.
    """
    if text is None:
        return Checkpoint(source=source)
    try:
        found = _decode(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            "The checkpoint in the table's newest commit is not one that this release can read; "
            "run the release that wrote it.",
        ) from error
    return found if found.source == source else Checkpoint(source=source)


def _decode(document: dict[str, Any]) -> Checkpoint:
    if document["version"] != VERSION:
        raise ValueError(document["version"])
    return Checkpoint(
        source=document["source"],
        watermark=_decode_position(document["watermark"]),
        floor=_decode_position(document["floor"]),
        recent=frozenset(document["recent"]),
    )


def _encode_position(position: Position | None) -> dict[str, int | str] | None:
    return None if position is None else {"time": position.time, "path": position.path}


def _decode_position(document: dict[str, int | str] | None) -> Position | None:
    return None if document is None else Position(int(document["time"]), str(document["path"]))
