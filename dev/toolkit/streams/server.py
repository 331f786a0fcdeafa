"""A server process with a folder; it can be stopped, killed and restarted with its data."""

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
"""A JVM that starts fast and needs little memory; each server sets its own heap."""

LOGGING = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
"""Settings of the logger in the lists of Kafka's jars."""

_START_SECONDS = 90.0
_STOP_SECONDS = 30.0


class ServerFailed(Exception):
    """A server did not start, or ended by itself; the message is the end of its log."""


class Server(ABC):
    """A server that runs from `start` or the beginning of a `with` block.

    The server ends with the thread that started it, so that a killed test leaves nothing behind. Its folder is
    removed at the end, unless the caller gave one.
    """

    name: str
    stop_signal = signal.SIGTERM
    user: str | None = None
    """The user to run as; None for the current user."""

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
        """Start the server and wait until it answers; after `stop` or `kill` it still has its data."""
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
        """Stop the server regularly."""
        if self._process is not None and self.running:
            self._process.send_signal(self.stop_signal)
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kill the server and all its processes at once, like a lost node."""
        if self._process is not None and self.running:
            for process in (self._process.pid, *_children(self._process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """End the server and remove its data."""
        self.kill()
        if not self._kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def memory(self) -> int:
        """Bytes of memory in use by its processes, with shared memory counted once."""
        assert self._process is not None, "it has not been started"
        processes = (self._process.pid, *_children(self._process.pid))
        lines = [line for pid in processes for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Prepare the first start."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command to run, in the server's folder."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether the server serves; an OSError counts as not yet."""

    def environment(self) -> Mapping[str, str]:
        """Return additional environment variables of the process."""
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
    """Return the beginning of a command that runs as a user; only root can change the user."""
    become = (f"--reuid={user}", f"--regid={user}", "--init-groups") if user and os.geteuid() == 0 else ()
    return ("setpriv", *become, *options)


def _children(process: int) -> Sequence[int]:
    # PostgreSQL's children lead process groups of their own.
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def connects(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether a port accepts connections."""
    with socket.create_connection((host, port), timeout=1):
        return True
