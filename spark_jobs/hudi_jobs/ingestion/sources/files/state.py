"""What the checkpoint of a source of files holds: the segments of the record that count, and where reading stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hudi_jobs.contract import Checkpoint
from hudi_jobs.contract.sources.csv_options import RFC_4180
from hudi_jobs.ingestion.checkpoint import understood
from hudi_jobs.ingestion.sources.files.floor import VERSION as FLOOR_VERSION
from hudi_jobs.ingestion.sources.files.floor import Floor, decode_floor
from hudi_jobs.ingestion.sources.files.record import Kind, Segment
from hudi_jobs.ingestion.sources.files.selection import Position

KIND = "files"

_MOST_SEGMENTS = 100
_SHOWN = 400


@dataclass(frozen=True)
class FileProgress:
    """What has been read of all sources of a table.

    `newest` is the newest file that was read of `source`, for people. `rescan` is the request to read files again that
    was served last. `floor` is what release 0.1 left behind and no run has yet turned into fingerprints. `quotes` names
    the rule that a CSV source without the option `escape` was last read by; commits of earlier releases have none.
    """

    sequence: int = 0
    source: str | None = None
    newest: Position | None = None
    segments: tuple[Segment, ...] = ()
    rescan: str | None = None
    floor: Floor | None = None
    quotes: str | None = None

    @classmethod
    def of(cls, checkpoint: Checkpoint | None) -> "FileProgress":
        """Read the state of a checkpoint, with or without an envelope; raise `TaskFailed` for any other."""
        if checkpoint is None:
            return cls()
        with understood():
            if checkpoint.state.get("version") == FLOOR_VERSION:
                return _of_floor(decode_floor(dict(checkpoint.state)))
            return replace(_of_state(checkpoint.state), sequence=checkpoint.sequence, source=checkpoint.source)

    @property
    def display(self) -> str | None:
        """How far the source has been read, for people."""
        return None if self.newest is None else str(self.newest)

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint that says all this."""
        newest, floor = self.newest, self.floor
        state = {
            "newest": None if newest is None else [newest.time, newest.path],
            "segments": [[one.name, one.kind, one.count, one.checksum] for one in self.segments],
            "rescan": self.rescan,
            "floor": None if floor is None else floor.document,
            "quotes": self.quotes,
        }
        return Checkpoint(KIND, self.sequence, self.source, self.display, state)

    def advanced(
        self,
        *,
        source: str,
        read: Iterable[Position],
        segments: tuple[Segment, ...],
        rescan: str | None,
        floor: Floor | None,
    ) -> "FileProgress":
        """Return the progress after the given files of a source have been read."""
        newest = max((Position(one.time, one.path[:_SHOWN]) for one in read), default=None)
        if self.newest is not None and (newest is None or source == self.source):
            newest = self.newest if newest is None else max(newest, self.newest)
        return FileProgress(self.sequence + 1, source, newest, segments, rescan or self.rescan, floor, RFC_4180)


def _of_state(state: Mapping[str, Any]) -> FileProgress:
    newest, segments, floor = state["newest"], state["segments"], state["floor"]
    if len(segments) > _MOST_SEGMENTS:
        raise ValueError(len(segments))
    return FileProgress(
        newest=None if newest is None else Position(int(newest[0]), str(newest[1])),
        segments=tuple(Segment(str(name), Kind(kind), int(count), str(sha)) for name, kind, count, sha in segments),
        rescan=None if state["rescan"] is None else str(state["rescan"]),
        floor=None if floor is None else decode_floor(floor),
        quotes=None if state.get("quotes") is None else str(state["quotes"]),
    )


def _of_floor(floor: Floor) -> FileProgress:
    watermark = floor.document["watermark"]
    newest = None if watermark is None else Position(int(watermark["time"]), str(watermark["path"]))
    return FileProgress(newest=newest, source=floor.source, floor=floor)
