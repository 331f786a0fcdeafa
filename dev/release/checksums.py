"""Writes SHA256SUMS, which `sha256sum --check` reads."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(folder: Path) -> None:
    """Write the digest of every file of a folder."""
    files = sorted(path for path in folder.iterdir() if path.name != NAME)
    (folder / NAME).write_text("".join(f"{digest(path)}  {path.name}\n" for path in files))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
