"""Gives a folder of jars one order: `one_class_path.py LIBRARY JAR` writes an empty jar that names them all.

A class-data-sharing archive is bound to the class path, and `jars/*` is read in whatever order the file system has.
"""

import os
import sys
import zipfile
from pathlib import Path

LINE = 70
"""Bytes of a manifest's line; a longer value goes on in lines that begin with a space."""


def main(library: str, jar: str) -> None:
    """Write the jar; the paths in it are relative to its own folder."""
    folder = os.path.relpath(library, Path(jar).parent)
    value = "Class-Path: " + " ".join(f"{folder}/{name}" for name in sorted(os.listdir(library)))  # noqa: PTH208 - names
    lines = [value[:LINE], *(f" {value[at : at + LINE - 1]}" for at in range(LINE, len(value), LINE - 1))]
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "\r\n".join(["Manifest-Version: 1.0", *lines, "", ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
