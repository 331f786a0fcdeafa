"""Real Hudi timelines on local files without Spark: commits without data files, by default of table version 6.

They contain everything that a reader of timelines reads: the three files of each commit, and its metadata as JSON.
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

_LAYOUT_2_FROM = 8

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
        self._properties = folder / ".hoodie/hoodie.properties"

    def create(self, name: str, *, version: int = 6) -> None:
        """Create the table if missing."""
        if self._properties.exists():
            return
        (self.folder / ".hoodie/archived").mkdir(parents=True, exist_ok=True)
        (self.folder / ".hoodie/timeline/history").mkdir(parents=True, exist_ok=True)
        self._write_properties(name, version)

    @property
    def version(self) -> int:
        """The table version."""
        return int(self._property("hoodie.table.version"))

    def move(self, version: int, *, most: int | None = None) -> None:
        """Move the timeline's files to their place in another version, or only some of them."""
        source, target = self._folder_of(self.version), self._folder_of(version)
        if source != target:
            for file in sorted(source.glob("[0-9]*.*"))[:most]:
                stem, _, end = file.name.partition(".")
                file.rename(target / self._name(stem.partition("_")[0], end, version=version))

    def set_version(self, version: int) -> None:
        """Write the table version; the timeline must have been moved."""
        self._write_properties(self._property("hoodie.table.name"), version)

    def commit(self, *, run: str | None = None, checkpoint: str | None = None) -> str:
        """Complete a commit and return its instant; `run` marks it as the operator's own."""
        instant = self.begin()
        notes = {RUN_KEY: run, CHECKPOINT_KEY: checkpoint}
        self.complete(instant, {key: value for key, value in notes.items() if value is not None})
        return instant

    def begin(self) -> str:
        """Begin a commit and return its instant."""
        return self.begin_action("commit.requested", "inflight")

    def begin_action(self, *ends: str, content: bytes = b"") -> str:
        """Begin an instant with files of these suffixes, and return it."""
        instant = _next_instant(self._writer_ahead)
        for end in ends:
            file = self._timeline / f"{instant}.{end}"
            file.write_bytes(content)
            self._set_time(file)
        return instant

    def complete(self, instant: str, notes: Mapping[str, str]) -> None:
        """Complete a commit with these notes."""
        metadata = {
            "partitionToWriteStats": {},
            "compacted": False,
            "extraMetadata": {**notes, "schema": ""},
            "operationType": "INSERT",
        }
        self.complete_action(instant, "commit", json.dumps(metadata).encode())

    def complete_action(self, instant: str, action: str, content: bytes) -> None:
        """Complete an instant with this content."""
        # A reader must never see a partial file under its final name.
        unfinished = self.folder / ".hoodie" / f".{instant}.unfinished"
        unfinished.write_bytes(content)
        self._set_time(unfinished)
        unfinished.rename(self._timeline / self._name(instant, action, version=self.version))

    def pending(self, action: str) -> list[str]:
        """Return the pending instants of an action, oldest first."""
        planned = {file.name.partition(".")[0] for file in self._timeline.glob(f"*.{action}.requested")}
        return sorted(planned - self.completed(action))

    def commits(self) -> list[str]:
        """Return the instants of the completed commits, oldest first."""
        return sorted(self.completed("commit"))

    def begin_restore(self, undone: bytes) -> str:
        """Begin a restore with the given plan, and return its instant."""
        return self.begin_action("restore.requested", "restore.inflight", content=undone)

    def complete_restore(self, instant: str, undone: bytes) -> None:
        """Complete a restore."""
        self.complete_action(instant, "restore", undone)

    def begin_savepoint(self, instant: str) -> None:
        """Begin a savepoint on a commit, like a run that is then killed."""
        file = self._timeline / f"{instant}.savepoint.inflight"
        file.touch()
        self._set_time(file)

    def save(self, instant: str) -> None:
        """Make a savepoint on a commit."""
        self.begin_savepoint(instant)
        self.complete_action(instant, "savepoint", b"")

    def release(self, instant: str) -> None:
        """Remove the savepoint on a commit; its content first, like Hudi."""
        for file in sorted(self._timeline.glob(f"{instant}*.savepoint*"), key=_age):
            file.unlink(missing_ok=True)

    def savepoints(self) -> list[str]:
        """Return the commits with a savepoint, oldest first."""
        return sorted(self.completed("savepoint"))

    def remove(self, instant: str) -> None:
        """Remove a commit or another instant, the newest file first, like a restore."""
        for file in sorted(self._timeline.glob(f"{instant}*"), key=_age):
            file.unlink(missing_ok=True)

    def runs(self) -> list[str | None]:
        """Return the runs of the completed commits, oldest first; an empty list for a deleted table."""
        if not self._properties.exists():
            return []
        files = sorted(self._timeline.glob("*.commit"))
        return [json.loads(file.read_text())["extraMetadata"].get(RUN_KEY) for file in files]

    @property
    def _timeline(self) -> Path:
        return self._folder_of(self.version)

    def _folder_of(self, version: int) -> Path:
        return self.folder / (".hoodie/timeline" if version >= _LAYOUT_2_FROM else ".hoodie")

    def completed(self, action: str) -> set[str]:
        """Return the instants of an action that have completed."""
        return {file.name.partition(".")[0].partition("_")[0] for file in self._timeline.glob(f"*.{action}")}

    def _name(self, instant: str, end: str, *, version: int) -> str:
        is_completed = end.isalpha() and end != "inflight"
        return f"{instant}_{instant}.{end}" if version >= _LAYOUT_2_FROM and is_completed else f"{instant}.{end}"

    def _property(self, key: str) -> str:
        lines = self._properties.read_text().splitlines()
        return next(line.partition("=")[2] for line in lines if line.startswith(f"{key}="))

    def _write_properties(self, name: str, version: int) -> None:
        content = {
            "hoodie.table.name": name,
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.version": str(version),
            "hoodie.timeline.layout.version": "2" if version >= _LAYOUT_2_FROM else "1",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.archivelog.folder": "archived",
            "hoodie.table.checksum": str(zlib.crc32(f".{name}".encode())),
        }
        unfinished = self._properties.with_name(".hoodie.properties.unfinished")
        unfinished.write_text("".join(f"{key}={value}\n" for key, value in content.items()))
        unfinished.rename(self._properties)

    def _set_time(self, file: Path) -> None:
        if self._store_ahead:
            moment = file.stat().st_mtime + self._store_ahead.total_seconds()
            os.utime(file, (moment, moment))


def _age(file: Path) -> int:
    """Return the sort key of an instant's files, newest first."""
    end = file.name.partition(".")[2]
    return 2 if end.endswith("requested") else 1 if end.endswith("inflight") else 0


def _next_instant(ahead: timedelta) -> str:
    """Return a clock's time as a Hudi instant; never the same twice for one clock."""
    with _instants:
        now, last = datetime.now(UTC) + ahead, _last_instants.get(ahead)
        # Instants are unique in the process, across tables.
        moment = now if last is None else max(now, last + timedelta(milliseconds=1))
        _last_instants[ahead] = moment
        return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"
