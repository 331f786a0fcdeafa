"""Provides the image debian:bookworm-slim: pulled from a registry, else made by debootstrap."""

import os
import shutil
from pathlib import Path

from localcluster.console import output_of, run_logged, say, succeeds
from localcluster.settings import CACHE

# A separate store leaves other images of this machine alone.
BUILDAH = [
    "buildah",
    f"--root={CACHE / 'buildah'}",
    "--runroot=/run/hudi-operator-buildah",
    "--storage-driver=overlay",
]
NAME = "docker.io/library/debian:bookworm-slim"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
SECURITY_MIRROR = os.environ.get("DEBIAN_SECURITY_MIRROR", "http://deb.debian.org/debian-security")
PULL_SECONDS = 60
# debian:bookworm-slim leaves these out as well.
UNNEEDED = (
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
)


def ensure() -> None:
    """Make the base image present in buildah's store."""
    if succeeds([*BUILDAH, "inspect", "--type", "image", NAME]):
        return
    say(f"pulling {NAME}")
    if succeeds([*BUILDAH, "pull", "--quiet", NAME], timeout=PULL_SECONDS):
        return
    say("no registry can be reached: making the base image with debootstrap, about a minute")
    root = CACHE / "debootstrap"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    run_logged(
        ["debootstrap", "--variant=minbase", "bookworm", str(root), MIRROR],
        log_name="debootstrap",
        what="debootstrap",
    )
    slim(root)
    container = output_of([*BUILDAH, "from", "scratch"]).strip()
    output_of([*BUILDAH, "add", "--quiet", container, str(root), "/"], timeout=300)
    output_of([*BUILDAH, "config", "--cmd", "bash", container])
    output_of([*BUILDAH, "commit", "--quiet", "--rm", container, NAME], timeout=300)
    shutil.rmtree(root)


def slim(root: Path) -> None:
    """Write the package sources of bookworm and remove what no image needs."""
    (root / "etc/apt/sources.list").write_text(
        f"deb {MIRROR} bookworm main\n"
        f"deb {MIRROR} bookworm-updates main\n"
        f"deb {SECURITY_MIRROR} bookworm-security main\n"
    )
    for name in UNNEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(root / "dev", ignore_errors=True)
    (root / "dev").mkdir()
