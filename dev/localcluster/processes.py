"""Runs programs in the background, with pid files, and stops them without leftovers."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.settings import LOGS, RUN, DevError

PID_FILES = RUN / "pids"


@dataclass(frozen=True)
class Component:
    """One program of the node."""

    name: str
    command: tuple[str, ...]


def started_at(pid: int) -> str | None:
    """Return the start time of a running process, which tells it from a later process with the same number.

    A zombie counts as ended.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


def running_pid(name: str) -> int | None:
    """Return the process number of a component that runs, or None."""
    try:
        pid, remembered = (PID_FILES / name).read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    return int(pid) if started_at(int(pid)) == remembered else None


def start(component: Component, *, cwd: Path) -> bool:
    """Start a component unless it runs; tell whether it was started."""
    if running_pid(component.name):
        return False
    PID_FILES.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / f"{component.name}.log").open("ab") as log:
        process = subprocess.Popen(
            component.command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    # After a restart of the machine the number alone could belong to another process.
    (PID_FILES / component.name).write_text(f"{process.pid} {started_at(process.pid)}\n")
    return True


def stop(names: Sequence[str], *, patience: float = 10.0) -> None:
    """Stop components: send SIGTERM, wait, kill the rest, and remove their pid files."""
    pids = [pid for name in names if (pid := running_pid(name))]
    end_processes(pids, patience=patience)
    for name in names:
        (PID_FILES / name).unlink(missing_ok=True)


def end_processes(pids: Sequence[int], *, patience: float) -> None:
    """Send SIGTERM, and after `patience` seconds SIGKILL to the rest."""
    identities = {pid: started_at(pid) for pid in pids}

    def left() -> list[int]:
        return [pid for pid, identity in identities.items() if identity and started_at(pid) == identity]

    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 10.0)):
        for pid in left():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + seconds
        while left() and time.monotonic() < deadline:
            time.sleep(0.05)
    if left():
        raise DevError(f"The processes {left()} do not end even by SIGKILL; look at /proc/<pid>/stack.")


def pids_of_command(matches: Callable[[Sequence[str]], bool]) -> list[int]:
    """Return the running processes with a matching command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_text(errors="replace").split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if matches(words):
                found.append(int(entry.name))
    return found
