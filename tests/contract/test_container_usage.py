"""What a driver's container used, from files as the kernel writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hudi_jobs.contract import DriverUsage
from hudi_jobs.usage.container import container_usage

VERSION_1 = {
    "sys/fs/cgroup/cpuacct/cpuacct.usage": "12000600345\n",
    "sys/fs/cgroup/memory/memory.max_usage_in_bytes": "4096\n",
}
VERSION_2 = {
    "sys/fs/cgroup/cgroup.type": "domain\n",
    "sys/fs/cgroup/cpu.stat": "usage_usec 12000345\nuser_usec 11000000\nsystem_usec 1000345\nnr_periods 7\n",
    "sys/fs/cgroup/memory.peak": "8192\n",
}
ROOT_OF_VERSION_1 = {
    **VERSION_1,
    "sys/fs/cgroup/cpuacct/release_agent": "",
    "sys/fs/cgroup/memory/release_agent": "",
}
ROOT_OF_VERSION_2 = {"sys/fs/cgroup/cpu.stat": VERSION_2["sys/fs/cgroup/cpu.stat"]}


def stat(pid: int, parent: int, *ticks: int, name: str = "java") -> str:
    """A line of /proc/PID/stat with the processor time of the process, and of its children that have ended."""
    utime, stime, ended_utime, ended_stime = ticks
    return f"{pid} ({name}) S {parent} 1 1 0 -1 4194560 9 0 0 0 {utime} {stime} {ended_utime} {ended_stime} 20 0 1\n"


ME = os.getpid()
TICKS = os.sysconf("SC_CLK_TCK")
PROCESSES = {
    f"proc/{ME}/stat": stat(ME, 1, 2 * TICKS, TICKS, TICKS, 0, name="python3 (deleted) S 1"),
    f"proc/{ME}/status": "Name:\tpython3\nVmHWM:\t   20 kB\n",
    f"proc/{ME + 1}/stat": stat(ME + 1, ME, 10 * TICKS, 5 * TICKS, 0, 0),
    f"proc/{ME + 1}/status": "Name:\tjava\nVmHWM:\t   300 kB\n",
    f"proc/{ME + 2}/stat": stat(ME + 2, ME + 1, TICKS // 2, 0, 0, 0),
    f"proc/{ME + 3}/stat": stat(ME + 3, 1, 900 * TICKS, 0, 0, 0, name="another's"),
    f"proc/{ME + 3}/status": "VmHWM:\t   9000 kB\n",
    f"proc/{ME + 4}/stat": "",
}
OF_THE_PROCESSES = DriverUsage(cpu_seconds=19.5, peak_memory_bytes=320 * 1024)


def used(root: Path, files: dict[str, str]) -> DriverUsage | None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return container_usage(root)


def test_groups_of_version_1_are_read(tmp_path: Path) -> None:
    assert used(tmp_path, VERSION_1 | PROCESSES) == DriverUsage(cpu_seconds=12.001, peak_memory_bytes=4096)


def test_groups_of_version_2_are_read(tmp_path: Path) -> None:
    assert used(tmp_path, VERSION_2 | PROCESSES) == DriverUsage(cpu_seconds=12.0, peak_memory_bytes=8192)


@pytest.mark.parametrize(
    "groups", [{}, ROOT_OF_VERSION_1, ROOT_OF_VERSION_2], ids=["none", "root of version 1", "root of version 2"]
)
def test_process_and_its_children_count_where_no_container_is(tmp_path: Path, groups: dict[str, str]) -> None:
    assert used(tmp_path, groups | PROCESSES) == OF_THE_PROCESSES


def test_peaks_of_processes_stand_in_for_a_kernel_without_peaks_of_groups(tmp_path: Path) -> None:
    files = VERSION_2 | PROCESSES
    del files["sys/fs/cgroup/memory.peak"]
    assert used(tmp_path, files) == DriverUsage(cpu_seconds=12.0, peak_memory_bytes=320 * 1024)


@pytest.mark.parametrize("content", ["", "max\n", "-1\n", "usage_usec\n", "usage_usec much\n"])
def test_unreadable_count_of_a_group_is_replaced_by_that_of_the_processes(tmp_path: Path, content: str) -> None:
    broken = dict.fromkeys(VERSION_2, content)
    assert used(tmp_path, broken | PROCESSES) == OF_THE_PROCESSES


def test_nothing_is_reported_where_nothing_counts(tmp_path: Path) -> None:
    assert used(tmp_path, {}) is None


def test_this_process_has_used_something() -> None:
    found = container_usage()
    assert found is not None
    assert found.cpu_seconds > 0
    assert found.peak_memory_bytes
