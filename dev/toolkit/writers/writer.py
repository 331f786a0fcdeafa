"""A writer of one release in one time zone, for the duration of a `with` block."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from toolkit.writers.releases import RELEASES

COLUMNS = "id string, part string, word string, ts long"

_SERVER = Path(__file__).resolve().parent / "server.py"
_START_SECONDS = 120.0
_CALL_SECONDS = 180.0
_QUICK = {
    # These do not change the written data, and cost most of the time of a small commit.
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}

Row = Sequence[Any]
Options = Mapping[str, str]

AS_IT_IS: Options = MappingProxyType({})

COMPACTED_ELSEWHERE: Options = {"hoodie.datasource.compaction.async.enable": "true"}
"""Without it, writing a DataFrame to a MergeOnRead table runs pending compactions."""


class WriterFailed(Exception):
    """A command failed or timed out; the message is the writer's."""


class Writer:
    """A process with one Spark session; `zone` is its JVM's time zone, which Hudi names instants by."""

    def __init__(self, version: str, *, zone: str = "UTC") -> None:
        self.release = RELEASES[version]
        self.zone = zone
        self._folder = tempfile.TemporaryDirectory(prefix=f"writer-{version}-")
        self._log = Path(self._folder.name) / "log.txt"
        self._replies: queue.Queue[str | None] = queue.Queue()
        self._gates = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process and remove its files."""
        self.kill()
        self._folder.cleanup()

    def start(self) -> None:
        """Start the process, also again after `kill`."""
        environment = {key: value for key, value in os.environ.items() if key not in {"SPARK_HOME", "PYTHONPATH"}}
        python = self.release.python
        environment |= {"TZ": self.zone, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                (str(python), str(_SERVER), str(self.release.jar), self.zone),
                cwd=self._folder.name,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._replies = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process, self._replies), daemon=True).start()
        self._wait("the start", _START_SECONDS)

    def kill(self) -> None:
        """Kill the process and its JVM at once, like a lost node, even during a write."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def write(
        self,
        path: Path | str,
        rows: Iterable[Row],
        *,
        columns: str = COLUMNS,
        options: Options = AS_IT_IS,
        mode: str = "append",
    ) -> None:
        """Write rows as a DataFrame; the operation is an option."""
        self.call("write", path=str(path), columns=columns, rows=list(rows), options={**_QUICK, **options}, mode=mode)

    def upsert(
        self, path: Path | str, rows: Iterable[Row], *, columns: str = COLUMNS, options: Options = AS_IT_IS
    ) -> None:
        """Upsert rows; creates a missing table."""
        self.write(path, rows, columns=columns, options={**options, **_operation("upsert")})

    def insert(
        self, path: Path | str, rows: Iterable[Row], *, columns: str = COLUMNS, options: Options = AS_IT_IS
    ) -> None:
        """Insert rows."""
        self.write(path, rows, columns=columns, options={**options, **_operation("insert")})

    def delete(
        self, path: Path | str, rows: Iterable[Row], *, columns: str = COLUMNS, options: Options = AS_IT_IS
    ) -> None:
        """Delete the rows with the keys of these."""
        self.write(path, rows, columns=columns, options={**options, **_operation("delete")})

    def begin(
        self, path: Path | str, rows: Iterable[Row], *, columns: str = COLUMNS, options: Options = AS_IT_IS
    ) -> str:
        """Begin an upsert and hold it once all files are written and nothing is committed.

        Returns its gate. The write lives until `finish` or `kill`.
        """
        self._gates += 1
        gate = f"{self._folder.name}/gate-{self._gates}"
        told = {**_QUICK, **options, **_operation("upsert")}
        self.call("begin", path=str(path), columns=columns, rows=list(rows), options=told, gate=gate)
        return gate

    def finish(self, gate: str) -> None:
        """Let a begun write commit; raises WriterFailed with its error when it fails."""
        if error := self.call("finish", gate=gate, go=True):
            raise WriterFailed(error)

    def fail(self, gate: str) -> None:
        """Make a begun write fail like a lost task: the writer lives on, and its instant stays inflight."""
        self.call("finish", gate=gate, go=False)

    def sql(self, statement: str) -> list[list[str]]:
        """Run a SQL statement."""
        rows: list[list[str]] = self.call("sql", statement=statement)
        return rows

    def rows(
        self,
        path: Path | str,
        *columns: str,
        metadata_table: bool | None = None,
        read_optimized: bool = False,
        options: Options = AS_IT_IS,
    ) -> list[tuple[Any, ...]]:
        """Return the table's rows in order, without Hudi's own columns unless named."""
        told = dict(options)
        if metadata_table is not None:
            told["hoodie.metadata.enable"] = str(metadata_table).lower()
        if read_optimized:
            told["hoodie.datasource.query.type"] = "read_optimized"
        return [tuple(row) for row in self.call("read", path=str(path), columns=columns, options=told)]

    def schedule(self, path: Path | str, what: str, options: Options = AS_IT_IS) -> str | None:
        """Plan a `compaction` or `clustering`; None when there is nothing to plan."""
        instant: str | None = self.service(path, f"schedule {what}", options=options)
        return instant

    def service(self, path: Path | str, name: str, instant: str | None = None, options: Options = AS_IT_IS) -> Any:
        """Run a call of the write client: `compact`, `cluster`, `clean`, `savepoint`, `restore` and so on."""
        return self.call("service", path=str(path), name=name, instant=instant, options={**_QUICK, **options})

    def timeline(self, path: Path | str) -> list[tuple[str, str, str]]:
        """Return the active timeline as this release reads it: time, action and state."""
        return [tuple(one) for one in self.call("timeline", path=str(path))]

    def completed(self, path: Path | str, *actions: str) -> list[str]:
        """Return the times of completed instants, oldest first; only of these actions when given."""
        found = [one for one in self.timeline(path) if one[2] == "COMPLETED" and (not actions or one[1] in actions)]
        return sorted(one[0] for one in found)

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Run a command; raises WriterFailed with the end of the log when the process ends or times out."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            print(json.dumps({"call": name, **arguments}), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise WriterFailed(f"the writer has ended:\n{self._end_of_log()}") from None
        return self._wait(f"`{name}`", _CALL_SECONDS)

    def _wait(self, what: str, seconds: float) -> Any:
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            self.kill()
            raise WriterFailed(f"{what} took more than {seconds:g} s:\n{self._end_of_log()}") from None
        if line is None:
            raise WriterFailed(f"the writer ended during {what}:\n{self._end_of_log()}")
        reply = json.loads(line)
        if "error" in reply:
            raise WriterFailed(reply["error"])
        return reply["value"]

    def _end_of_log(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])

    @staticmethod
    def _listen(process: "subprocess.Popen[str]", replies: "queue.Queue[str | None]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            replies.put(line)
        replies.put(None)


def _operation(name: str) -> dict[str, str]:
    return {"hoodie.datasource.write.operation": name}
