"""Mount points that the cluster's programs leave behind."""

import time
from pathlib import Path

from localcluster.console import succeeds


def mounts_below(*tops: Path) -> list[str]:
    """Return the mount points below some directories, the innermost first."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    prefixes = tuple(f"{top}/" for top in tops)
    return sorted((point for point in points if point.startswith(prefixes)), reverse=True)


def unmount_below(*tops: Path) -> None:
    """Remove every mount below some directories."""
    for _ in range(3):
        for point in mounts_below(*tops):
            if not succeeds(["umount", point]):
                succeeds(["umount", "--lazy", point])
        if not mounts_below(*tops):
            return
        time.sleep(0.2)
