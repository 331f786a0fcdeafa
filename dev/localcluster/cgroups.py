"""The control group of all pods, on machines with version 1 or version 2 of control groups."""

import os
import signal
import time
from pathlib import Path

from localcluster.settings import CGROUP, DevError

MOUNT_POINT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpuset", "cpu", "io", "memory", "pids", "hugetlb")


def is_unified() -> bool:
    """Tell whether the machine uses version 2 only."""
    return (MOUNT_POINT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """Return the parents of the pods' group: one in version 2, one per controller in version 1."""
    if is_unified():
        return [MOUNT_POINT]
    return [path for path in MOUNT_POINT.iterdir() if path.is_dir() and not path.is_symlink()]


def create() -> None:
    """Create the pods' control group with all controllers that the kubelet needs."""
    if is_unified():
        hand_down_controllers()
    for hierarchy in hierarchies():
        group = hierarchy / CGROUP
        group.mkdir(exist_ok=True)
        # In version 1 a new cpuset is empty, and nothing can run in it.
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (group / name).exists() and not is_unified() and not (group / name).read_text().strip():
                (group / name).write_text((hierarchy / name).read_text())


def hand_down_controllers() -> None:
    """Make the controllers of version 2 available below the root."""
    available = (MOUNT_POINT / "cgroup.controllers").read_text().split()
    missing = {"cpu", "memory", "pids"} - set(available)
    if missing:
        raise DevError(f"The control groups of this machine lack the controllers {', '.join(sorted(missing))}.")
    for controller in set(CONTROLLERS) & set(available):
        try:
            (MOUNT_POINT / "cgroup.subtree_control").write_text(f"+{controller}")
        except OSError as error:
            raise DevError(
                f"The controller {controller} cannot be handed down to pods ({error.strerror}). "
                "Inside a container, processes in the root control group forbid it: run on the machine itself."
            ) from error


def groups_below(top: Path) -> list[Path]:
    """Return a control group and all groups in it, the innermost first."""
    return [Path(directory) for directory, _, _ in os.walk(top, topdown=False)] if top.exists() else []


def remove(*, seconds: float = 20.0) -> None:
    """Kill every process of every pod and remove the control groups."""
    deadline = time.monotonic() + seconds
    while groups := [group for hierarchy in hierarchies() for group in groups_below(hierarchy / CGROUP)]:
        if time.monotonic() > deadline:
            raise DevError(f"Processes of pods do not end, in {groups[0]}; look at its cgroup.procs.")
        for group in groups:
            end_group(group)
        time.sleep(0.05)


def end_group(group: Path) -> None:
    """Kill the processes of one group, and remove the group when it is empty."""
    try:
        pids = (group / "cgroup.procs").read_text().split()
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
        group.rmdir()
    except (FileNotFoundError, ProcessLookupError):
        return  # The group was removed between two reads.
    except OSError:
        return  # Still busy: the next round tries again.


def leftovers() -> list[str]:
    """Return the remaining control groups."""
    return [str(hierarchy / CGROUP) for hierarchy in hierarchies() if (hierarchy / CGROUP).exists()]
