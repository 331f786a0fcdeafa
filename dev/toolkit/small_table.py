"""Real Hudi timelines on local files without Spark: commits of table version 6 that hold no data files.

What they hold is what a reader of timelines looks at: the three files of each commit, and its metadata as JSON.
"""

import json
import os
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

RUN_KEY = "hudi-operator.run"
CHECKPOINT_KEY = "hudi-operator.checkpoint"

_instants = Lock()
_last_instants: dict[timedelta, datetime] = {}


class SmallTable:
    """One copy-on-write table in a folder.

    The clocks of its writer and of the store may be ahead of this machine's: instants have the writer's time, and files
    that of the store.
    """

    def __init__(
        self, folder: Path, *, writer_ahead: timedelta = timedelta(), store_ahead: timedelta = timedelta()
    ) -> None:
        self.folder = folder
        self._writer_ahead = writer_ahead
        self._store_ahead = store_ahead
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
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.version": "6",
            "hoodie.timeline.layout.version": "1",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.archivelog.folder": "archived",
            "hoodie.table.checksum": str(zlib.crc32(f".{name}".encode())),
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in content.items()))

    def commit(self, *, run: str | None = None, checkpoint: str | None = None) -> str:
        """Complete a commit and return its instant; `run` marks it as the operator's own."""
        instant = self.begin()
        notes = {RUN_KEY: run, CHECKPOINT_KEY: checkpoint}
        self.complete(instant, {key: value for key, value in notes.items() if value is not None})
        return instant

    def begin(self) -> str:
        """Begin a commit and return its instant."""
        instant = _next_instant(self._writer_ahead)
        for name in (f"{instant}.commit.requested", f"{instant}.inflight"):
            (self._timeline / name).touch()
            self._set_time(self._timeline / name)
        return instant

    def complete(self, instant: str, notes: Mapping[str, str]) -> None:
        """Complete a commit that carries these notes."""
        metadata = {
            "partitionToWriteStats": {},
            "compacted": False,
            "extraMetadata": {**notes, "schema": ""},
            "operationType": "INSERT",
        }
        # A reader must never see half a file under its final name.
        unfinished = self._timeline / f".{instant}.unfinished"
        unfinished.write_text(json.dumps(metadata))
        self._set_time(unfinished)
        unfinished.rename(self._timeline / f"{instant}.commit")

    def commits(self) -> list[str]:
        """Return the instants of the completed commits, oldest first."""
        return sorted(file.stem for file in self._timeline.glob("*.commit"))

    def begin_restore(self, undone: bytes) -> str:
        """Begin a restore whose plan is given, and return its instant."""
        instant = _next_instant(self._writer_ahead)
        (self._timeline / f"{instant}.restore.requested").write_bytes(undone)
        (self._timeline / f"{instant}.restore.inflight").write_bytes(undone)
        return instant

    def complete_restore(self, instant: str, undone: bytes) -> None:
        """Complete a restore."""
        (self._timeline / f"{instant}.restore").write_bytes(undone)

    def remove(self, instant: str) -> None:
        """Remove a commit, the newest of its files first, as a restore does."""
        for end in ("commit", "inflight", "commit.requested"):
            (self._timeline / f"{instant}.{end}").unlink(missing_ok=True)

    def runs(self) -> list[str | None]:
        """Return the runs that made the completed commits, oldest first."""
        files = sorted(self._timeline.glob("*.commit"))
        return [json.loads(file.read_text())["extraMetadata"].get(RUN_KEY) for file in files]

    def _set_time(self, file: Path) -> None:
        if self._store_ahead:
            moment = file.stat().st_mtime + self._store_ahead.total_seconds()
            os.utime(file, (moment, moment))


def _next_instant(ahead: timedelta) -> str:
    """Return the time of a clock as Hudi spells an instant; never the same twice by one clock."""
    with _instants:
        now, last = datetime.now(UTC) + ahead, _last_instants.get(ahead)
        # Instants are unique in the process, whichever table they belong to.
        moment = now if last is None else max(now, last + timedelta(milliseconds=1))
        _last_instants[ahead] = moment
        return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"
