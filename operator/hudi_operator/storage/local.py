"""The local file system, read with `os.scandir`, which is many times faster than a generic adapter."""

import os
from pathlib import Path
from typing import BinaryIO

from hudi_operator.storage.errors import storage_errors
from hudi_operator.storage.filesystem import Listing


class LocalFileSystem:
    """The file system of this machine. Paths are absolute."""

    @property
    def identity(self) -> str:
        """There is only one local file system."""
        return "file"

    @property
    def lists_from_offset(self) -> bool:
        """A folder is always listed whole."""
        return False

    def list_directory(self, path: str, *, start_after: str | None = None) -> Listing:
        """List all files of a folder; `start_after` changes nothing, because a local listing is cheap."""
        del start_after
        with storage_errors(path), os.scandir(path) as entries:
            return Listing(names=[entry.name for entry in entries if not entry.is_dir()])

    def read_file(self, path: str) -> bytes:
        """Return the whole content of a file."""
        with storage_errors(path):
            return Path(path).read_bytes()

    def open_file(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        with storage_errors(path):
            return Path(path).open("rb")

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        with storage_errors(path):
            return Path(path).stat().st_size

    def modified(self, path: str) -> int:
        """Return the modification time of a file in epoch milliseconds."""
        with storage_errors(path):
            return os.stat(path).st_mtime_ns // 1_000_000  # noqa: PTH116 - a third of the cost, and asked thousands of times
