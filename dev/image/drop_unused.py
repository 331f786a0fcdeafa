"""Removes from a folder of Python packages what no part of the operator loads: `drop_unused.py SITE_PACKAGES`."""

import shutil
import sys
from pathlib import Path

PATTERNS = (
    "pyarrow/tests",
    "pyarrow/include",
    "pyarrow/src",
    "pyarrow/*.pxi",
    "pyarrow/*.pxd",
    "pyarrow/*.pyx",
    "pyarrow/includes",
    # Arrow Flight is a protocol of databases; nothing else of pyarrow is linked against it.
    "pyarrow/_flight.*",
    "pyarrow/libarrow_flight.*",
    # The programs load libarrow_python.so.NUMBER; the other names hold the same bytes again.
    "pyarrow/libarrow_python.so",
    "pyarrow/libarrow_python.so.*.*",
)


def drop_unused(packages: Path) -> None:
    """Remove the unused files and folders."""
    for pattern in PATTERNS:
        for path in packages.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    drop_unused(Path(sys.argv[1]))
