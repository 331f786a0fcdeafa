"""What a killed driver leaves behind, at every moment at which it may be killed, from one run of it.

A driver's only effects are on files, so the files at a moment are what `kill -9` leaves there. The driver is stopped
with its JVM (SIGSTOP) at each of its phases and at each change of the timeline, the files are copied, and it goes on.
That takes one start of a JVM for a table, where a kill at each moment takes one for each; `test_kill.py` and its
neighbours kill.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

from hudi_jobs.contract import OPERATOR_FOLDER
from hudi_jobs.lease.leases import State, decode
from hudi_jobs.phases import PAUSED_AT
from hudi_jobs.spark.jvm import classes

_LOOK_SECONDS = 0.003
_LONGEST_SECONDS = 600
_KEPT = ("table", "in")


@dataclass(frozen=True)
class Files:
    """A table and its source as they were at a moment; `digest` tells two contents apart."""

    moment: str
    folder: Path
    digest: str = ""

    @classmethod
    def copied(cls, moment: str, lake: Any, to: Path) -> Files:
        """Copy what is there, with the times at which files were written."""
        for name in _KEPT:
            copytree(lake.folder / name, to / name)
        return cls(moment, to, _digest(to))

    def put_back(self, lake: Any) -> None:
        """Have everything as it was: heartbeats are this moment's, and leases were waited for."""
        for name in _KEPT:
            rmtree(lake.folder / name, ignore_errors=True)
            copytree(self.folder / name, lake.folder / name)
        for beat in (lake.folder / "table/.hoodie/.heartbeat").rglob("*"):
            os.utime(beat)
        for lease in (lake.folder / "table" / OPERATOR_FOLDER).glob("*.json"):
            _wait_for(lease)
        # Hudi keeps blocks of HFiles by their path, and files of a metadata table of version 6 may get the same ones.
        classes(lake.spark).org.apache.hudi.io.hfile.CachingHFileReaderImpl.resetGlobalCache()


def _wait_for(lease: Path) -> None:
    """Have a lease be as after its time: that of a dead run is taken, and says so for good (`lease/leases.py`)."""
    content = decode(lease.read_bytes())
    if content is not None and content.state is State.HELD:
        lease.write_bytes(replace(content, state=State.RELEASED, taken_over=True).encode())


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(folder)}\0{content}\0".encode())
    return found.hexdigest()


def left_at_every_moment(lake: Any, running: Any, folder: Path) -> list[Files]:
    """Let a driver run that was started with `HUDI_JOB_PAUSE_AT=*`, and return the files at each of its moments.

    Moments that leave the same files are one.
    """
    found: dict[str, Files] = {}
    for number, moment in enumerate(_moments(lake, running)):
        files = Files.copied(moment, lake, folder / str(number))
        if found.setdefault(files.digest, files) is not files:
            rmtree(files.folder)
    return list(found.values())


def _moments(lake: Any, running: Any) -> Iterator[str]:
    """Stop the driver at each of its moments, and let it go on when the caller has looked."""
    deadline = time.monotonic() + _LONGEST_SECONDS
    timeline, phases, changes = _names(lake), 0, 0
    while running.process.poll() is None:
        assert time.monotonic() < deadline, running.log
        if running.has_stopped() or _names(lake) != timeline:
            _stop(running.process.pid)
            reached = _phases(running)[phases:]
            if (now := _names(lake)) != timeline:
                changes += 1
            if reached or now != timeline:
                yield ",".join(reached) or f"change:{changes}"
            timeline, phases = now, phases + len(reached)
            os.killpg(running.process.pid, signal.SIGCONT)
        time.sleep(_LOOK_SECONDS)


def _stop(group: int) -> None:
    """Stop every process of the group, and return when all stand still."""
    os.killpg(group, signal.SIGSTOP)
    states = ["R"]
    while any(state not in "TZ" for state in states):
        time.sleep(_LOOK_SECONDS)
        states = [state for state, one in map(_state, Path("/proc").glob("[0-9]*/stat")) if one == group]


def _state(stat: Path) -> tuple[str, int]:
    """The state of a process and its group."""
    try:
        state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
    except (FileNotFoundError, ProcessLookupError):
        return "Z", 0
    return state, int(group)


def _phases(running: Any) -> list[str]:
    lines = running.log.splitlines()
    return [line.removeprefix(PAUSED_AT) for line in lines if line.startswith(PAUSED_AT)]


def _names(lake: Any) -> frozenset[str]:
    """The files of the timeline, in both layouts."""
    folder = Path(lake.folder, "table/.hoodie")
    both = (folder, folder / "timeline")
    return frozenset(path.name for one in both if one.exists() for path in one.iterdir() if path.name[:1].isdigit())
