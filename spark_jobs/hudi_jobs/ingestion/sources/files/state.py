"""The checkpoint's state of a source of files: the valid segments of the record, and the reading position."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hudi_jobs.contract import Checkpoint
from hudi_jobs.contract.sources.csv_options import RFC_4180
from hudi_jobs.ingestion.checkpoint import understood
from hudi_jobs.ingestion.sources.files.record import Segment
from hudi_jobs.ingestion.sources.files.selection import Position

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
