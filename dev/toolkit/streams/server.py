"""A server of this machine: a process with a folder, that is stopped, killed and started again with what it holds."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from localcluster.console import end_of

LOOPBACK = "127.0.0.1"

SMALL_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
"""A JVM that starts fast and takes little; the heap is the server's own."""

LOGGING = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
"""What the logger is told that the lists of Kafka's jars hold."""

_START_SECONDS = 90.0
_STOP_SECONDS = 30.0


class ServerFailed(Exception):
    """A server has not started, or ended by itself; the message is the end of its log."""


class Server(ABC):
    """One server, from `start` or the begin of a `with` block on.

    It ends with the thread that starts it, so that nothing is left of a test that was killed. Its folder is removed at
    the end, unless one was given.
    """

    name: str
    stop_signal = signal.SIGTERM
    user: str | None = None
    """Whom it runs as, where not as the user who starts it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._kept = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start it and wait until it answers; after `stop` or `kill` it holds what it held."""
        if self.running:
            return
        if self._process is None:
            self.prepare()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                (*as_user(self.user, "--pdeathsig", "KILL"), *self.command()),
                cwd=self.folder,
                env={**os.environ, **self.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_ready()

    def stop(self) -> None:
        """Have it end by itself."""
        if self._process is not None and self.running:
            self._process.send_signal(self.stop_signal)
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once, as a lost node does, with all processes that it has started."""
        if self._process is not None and self.running:
            for process in (self._process.pid, *_children(self._process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """End it and remove what it holds."""
        self.kill()
        if not self._kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def memory(self) -> int:
        """Bytes of memory that its processes hold now, where what they share counts once."""
        assert self._process is not None, "it has not been started"
        processes = (self._process.pid, *_children(self._process.pid))
        lines = [line for pid in processes for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Make what the first start needs."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return what is run, in the server's folder."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether it serves; an OSError counts as not yet."""

    def environment(self) -> Mapping[str, str]:
        """Return further variables of the process."""
        return {}

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._serves():
            if not self.running or time.monotonic() > deadline:
                state = "does not answer" if self.running else "has ended"
                self.kill()
                raise ServerFailed(f"{self.name} {state}. The end of {self.log}:\n{end_of(self.log, lines=25)}")
            time.sleep(0.1)

    def _serves(self) -> bool:
        try:
            return self.answers()
        except OSError:
            return False


def as_user(user: str | None, *options: str) -> Sequence[str]:
    """Return the begin of a command that runs as a user, whom only root may become."""
    become = (f"--reuid={user}", f"--regid={user}", "--init-groups") if user and os.geteuid() == 0 else ()
    return ("setpriv", *become, *options)


def _children(process: int) -> Sequence[int]:
    # Those of PostgreSQL lead process groups of their own.
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def connects(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether somebody listens."""
    with socket.create_connection((host, port), timeout=1):
        return True
