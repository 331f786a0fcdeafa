"""What the driver's container used since it started, as its control groups count; else what its processes used.

Inside a container, /sys/fs/cgroup is the group of the container. Elsewhere it is the root of all groups, which counts
the whole machine: the root has no cgroup.type in version 2, and a release_agent in version 1. The executors read the
same files (`ContainerUsage` in spark_jobs/java).
"""

import os
from pathlib import Path

from hudi_jobs.contract import DriverUsage

_KIB = 1024


def container_usage(root: Path = Path("/")) -> DriverUsage | None:
    """Return the use of this process's container, or None where nothing counts it."""
    groups, proc = root / "sys/fs/cgroup", root / "proc"
    seconds, peak = _group_seconds(groups), _group_peak(groups)
    if seconds is None:
        seconds = _processes_seconds(proc)
    if peak is None:  # Linux has memory.peak from 5.19 on.
        peak = _processes_peak(proc)
    return None if seconds is None else DriverUsage(cpu_seconds=round(seconds, 3), peak_memory_bytes=peak)


def _is_version_2(groups: Path) -> bool:
    return (groups / "cgroup.type").exists()


def _group_seconds(groups: Path) -> float | None:
    if _is_version_2(groups):
        used = _labelled(groups / "cpu.stat", "usage_usec")
        return None if used is None else used / 1e6
    used = _version_1(groups / "cpuacct", "cpuacct.usage")
    return None if used is None else used / 1e9


def _group_peak(groups: Path) -> int | None:
    if _is_version_2(groups):
        return _number(_text(groups / "memory.peak"))
    return _version_1(groups / "memory", "memory.max_usage_in_bytes")


def _version_1(group: Path, file: str) -> int | None:
    return None if (group / "release_agent").exists() else _number(_text(group / file))


def _processes_seconds(proc: Path) -> float | None:
    """Return the processor time of this process and of those that it started; None where /proc does not tell."""
    used = [sum(map(int, fields[11:15])) for fields in _own_processes(proc).values()]
    return sum(used) / os.sysconf("SC_CLK_TCK") if used else None


def _processes_peak(proc: Path) -> int | None:
    peaks = [_labelled(proc / str(pid) / "status", "VmHWM:") or 0 for pid in _own_processes(proc)]
    return sum(peaks) * _KIB or None


def _own_processes(proc: Path) -> dict[int, list[str]]:
    """Return this process and its descendants, with the fields of /proc/PID/stat from the state on."""
    fields = {int(file.parent.name): _text(file).rpartition(")")[2].split() for file in proc.glob("[0-9]*/stat")}
    parents = {pid: int(stat[1]) for pid, stat in fields.items() if len(stat) > 14}
    own = {os.getpid()} & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return {pid: fields[pid] for pid in own}


def _labelled(file: Path, label: str) -> int | None:
    lines = (line.split() for line in _text(file).splitlines())
    return next((_number(words[1]) for words in lines if len(words) > 1 and words[0] == label), None)


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _text(file: Path) -> str:
    """Return the content of a file; empty where it cannot be read, as of a process that ended meanwhile."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
