"""A wrong wall clock for one process of this machine; measured durations stay right.

libfaketime sits between the process and the C library, so that every part of the process sees the same wrong time.
"""

import platform
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from localcluster.settings import DevError
from localcluster.toolchain import ensure_packages

_SHARED = Path("/dev/shm")


def clock_environment(ahead: timedelta) -> Mapping[str, str]:
    """Return the variables that set a process's clock ahead, or behind for a negative time."""
    if not ahead:
        return {}
    return {
        "LD_PRELOAD": str(_library()),
        "FAKETIME": f"{ahead.total_seconds():+.0f}",
        "DONT_FAKE_MONOTONIC": "1",
        # File times come from the store, which has its own clock.
        "NO_FAKE_STAT": "1",
    }


def forget_clock(pid: int) -> None:
    """Remove the library's leftovers of an ended process."""
    for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
        (_SHARED / name).unlink(missing_ok=True)


def _library() -> Path:
    ensure_packages({"faketime": "faketime"})
    machine = platform.machine()
    found = next(Path("/usr/lib").glob(f"{machine}*/faketime/libfaketimeMT.so.1"), None)
    if found is None:
        raise DevError("The package faketime is there, and its library is not where Debian has it.")
    return found
