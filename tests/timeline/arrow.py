"""Any file system of `pyarrow.fs` (HDFS, Google, Azure, ...) as a store for the reader."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow.fs as pafs

from hudi_operator.storage.filesystem import (
    LISTING_LIMIT,
    PAGE,
    PAGES_BELOW,
    FileStamp,
    Folders,
    Listing,
    StorageError,
    StorageErrorKind,
    StoredFile,
    storage_errors,
    too_large,
    too_many_below,
    too_many_files,
)

# How the clients behind pyarrow name a refusal in the text of an `OSError`.
_REFUSALS = (
    "ACCESS_DENIED",
    "AccessDenied",
    "INVALID_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH",
    "Forbidden",
    "HTTP status 403",
)


class ArrowFileSystem:
    """A file system of `pyarrow.fs`; paths are those of that file system.

    `identity` must be equal for two of them exactly if a path means the same file in both. Local folders and S3 have
    faster adapters of their own, which `open_filesystem` chooses. `pyarrow.fs` cannot tell a missing bucket from a
    missing file.
    """

    def __init__(self, filesystem: pafs.FileSystem, *, identity: str) -> None:
        self._filesystem = filesystem
        self._identity = identity

    @property
    def identity(self) -> str:
        """The name that was given to it."""
        return self._identity

    @property
    def lists_from_offset(self) -> bool:
        """`pyarrow.fs` lists folders whole."""
        return False

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        """List all files of a folder with their sizes and times; `pyarrow.fs` cannot stop a listing at the limit."""
        del start_after, before
        with storage_errors(path, refusals=_REFUSALS):
            files = [one for one in self._filesystem.get_file_info(pafs.FileSelector(path)) if one.is_file]
        if len(files) > limit:
            raise too_many_files(path, limit=limit)
        return Listing(
            names=[one.base_name for one in files],
            sizes={one.base_name: one.size for one in files},
            modified={one.base_name: one.mtime_ns // 1_000_000 for one in files if one.mtime_ns is not None},
        )

    def list_below(self, path: str, *, pages: int = PAGES_BELOW) -> Iterator[Sequence[StoredFile]]:
        """Yield every file below a folder in a single page; `pyarrow.fs` cannot stop at the bound."""
        with storage_errors(path, refusals=_REFUSALS):
            found = self._filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
        if len(found) > pages * PAGE:
            raise too_many_below(path, pages=pages, page=PAGE)
        yield [StoredFile(one.path[len(path) + 1 :], self.stamp(one.path)) for one in found if one.is_file]

    def list_folders(self, path: str, *, limit: int) -> Folders:
        """List the folders of a folder; `pyarrow.fs` cannot stop at the limit."""
        with storage_errors(path, refusals=_REFUSALS):
            found = self._filesystem.get_file_info(pafs.FileSelector(path))
        names = sorted(one.base_name for one in found if one.type is pafs.FileType.Directory)
        return Folders(tuple(names[:limit]), complete=len(names) <= limit)

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return the whole content of a file, unless it is larger than the limit."""
        size = self.size(path)
        if size > limit:
            raise too_large(path, size=size, limit=limit)
        with storage_errors(path, refusals=_REFUSALS), self._filesystem.open_input_stream(path) as stream:
            content = bytes(stream.read(limit + 1))
        if len(content) > limit:
            raise too_large(path, limit=limit)
        return content

    def open_file(self, path: str) -> BinaryIO:
        """Open a file for reading parts of it."""
        with storage_errors(path, refusals=_REFUSALS):
            opened: BinaryIO = self._filesystem.open_input_file(path)
            return opened

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return int(self._info(path).size)

    def modified(self, path: str) -> int:
        """Return the modification time of a file in epoch milliseconds, 0 if the store has none."""
        return int(self._info(path).mtime_ns or 0) // 1_000_000

    def stamp(self, path: str) -> FileStamp:
        """Return the size and the modification time of a file."""
        found = self._info(path)
        return FileStamp(int(found.size), int(found.mtime_ns or 0) // 1_000_000)

    def _info(self, path: str) -> pafs.FileInfo:
        with storage_errors(path, refusals=_REFUSALS):
            (found,) = self._filesystem.get_file_info([path])
        if not found.is_file:
            raise StorageError(StorageErrorKind.NOT_FOUND, f"{path} does not exist.")
        return found
