"""Real Hudi timelines on local files without Spark: commits of table version 6 that hold no data files.

What they hold is what a reader of timelines looks at: the three files of each commit, and its metadata as JSON.
"""

import json
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

RUN_KEY = "hudi-operator.run"
CHECKPOINT_KEY = "hudi-operator.checkpoint"

_instants = Lock()
_last_instant = datetime.min.replace(tzinfo=UTC)


class SmallTable:
    """One copy-on-write table in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._timeline = folder / ".hoodie"

    def create(self, name: str) -> None:
        """Make the table unless it is there."""
        properties = self._timeline / "hoodie.properties"
        if properties.exists():
            return
        (self._timeline / "archived").mkdir(parents=True, exist_ok=True)
        content = {
            "hoodie.table.name": name,
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.version": "6",
            "hoodie.timeline.layout.version": "1",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.archivelog.folder": "archived",
            "hoodie.table.checksum": str(zlib.crc32(f".{name}".encode())),
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in content.items()))

    def commit(self, *, run: str | None = None, checkpoint: str | None = None) -> str:
        """Complete a commit and return its instant; `run` marks it as the operator's own."""
        instant = _next_instant()
        extra = {RUN_KEY: run, CHECKPOINT_KEY: checkpoint, "schema": ""}
        metadata = {
            "partitionToWriteStats": {},
            "compacted": False,
            "extraMetadata": {key: value for key, value in extra.items() if value is not None},
            "operationType": "INSERT",
        }
        (self._timeline / f"{instant}.commit.requested").touch()
        (self._timeline / f"{instant}.inflight").touch()
        # A reader must never see half a file under its final name.
        unfinished = self._timeline / f".{instant}.unfinished"
        unfinished.write_text(json.dumps(metadata))
        unfinished.rename(self._timeline / f"{instant}.commit")
        return instant

    def runs(self) -> list[str | None]:
        """Return the runs that made the completed commits, oldest first."""
        files = sorted(self._timeline.glob("*.commit"))
        return [json.loads(file.read_text())["extraMetadata"].get(RUN_KEY) for file in files]


def _next_instant() -> str:
    """Return the time as Hudi spells an instant; never the same twice."""
    global _last_instant  # noqa: PLW0603 - instants are unique in the process, whichever table they belong to
    with _instants:
        now = datetime.now(UTC)
        _last_instant = max(now, _last_instant + timedelta(milliseconds=1))
        return _last_instant.strftime("%Y%m%d%H%M%S") + f"{_last_instant.microsecond // 1000:03d}"
