"""The three things the operator asks of a store, and a counter of how often it asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, Protocol

LISTING_LIMIT = 60_000
"""Names that one listing may find: three for each of 20,000 instants, of which archival leaves some hundreds."""


FOLDER_REQUESTS = 100
"""Requests that one listing of folders may take: 100,000 keys of an object store."""


class FileStamp(NamedTuple):
    """What changes when a file does: its size in bytes, when it was written (epoch milliseconds), the store's tag."""

    size: int
    modified: int
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The files directly inside one folder.

    `names` is in no particular order. `sizes` (bytes) and `modified` (epoch milliseconds) are filled only by
    stores that report them with the listing at no extra cost; elsewhere ask `FileSystem.modified` and
    `FileSystem.size`. `requests` is the number of requests that the listing took, where one page is one
    request.
    """

    names: Sequence[str]
    sizes: Mapping[str, int] | None = None
    modified: Mapping[str, int] | None = None
    requests: int = 1


@dataclass(frozen=True, slots=True)
class Folders:
    """Some folders directly inside a folder, in order; not all of them where the listing is not `complete`."""

    names: tuple[str, ...]
    complete: bool = True


class FileSystem(Protocol):
    """A store that can be listed and read. Every method raises `StorageError`."""

    @property
    def identity(self) -> str:
        """A text that is equal for two file systems exactly if a path means the same file in both."""
        ...

    @property
    def lists_from_offset(self) -> bool:
        """Whether a listing that starts after a name costs less than a whole one."""
        ...

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        """List the files directly inside a folder, without descending.

        `start_after` asks only for names greater than it, `before` for smaller ones. Where the store cannot do that,
        the listing holds all names. A folder that does not exist is a `NOT_FOUND` error on a file system with folders
        and an empty listing on an object store, where folders do not exist at all. A folder with more than `limit`
        names is a `TOO_LARGE` error; no more than that many are held at any time.
        """
        ...

    def list_folders(self, path: str, *, limit: int) -> Folders:
        """List at most so many folders directly inside a folder, within `FOLDER_REQUESTS`; links are not followed."""
        ...

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return the whole content of a file; one with more than `limit` bytes is a `TOO_LARGE` error, and unread."""
        ...

    def open_file(self, path: str) -> BinaryIO:
        """Open a file for reading parts of it; the parts are fetched as they are read."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        ...

    def modified(self, path: str) -> int:
        """Return when a file was last written, in epoch milliseconds by the clock of the store."""
        ...

    def stamp(self, path: str) -> FileStamp:
        """Return what changes when the file does, in one request and without its content."""
        ...


@dataclass(slots=True)
class CountingFileSystem:
    """A file system that counts the requests it passes on, for tests, benchmarks and metrics."""

    inner: FileSystem
    lists: int = 0
    reads: int = 0
    stats: int = 0
    read_bytes: int = 0
    paths: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """The identity of the file system behind."""
        return self.inner.identity

    @property
    def lists_from_offset(self) -> bool:
        """What the file system behind says."""
        return self.inner.lists_from_offset

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        """List a folder and count one request per page."""
        listing = self.inner.list_directory(path, start_after=start_after, before=before, limit=limit)
        self.lists += listing.requests
        return listing

    def list_folders(self, path: str, *, limit: int) -> Folders:
        """List folders and count one request."""
        self.lists += 1
        return self.inner.list_folders(path, limit=limit)

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Read a file, count one request and its bytes, and remember the path."""
        self.reads += 1
        self.paths.append(path)
        content = self.inner.read_file(path, limit=limit)
        self.read_bytes += len(content)
        return content

    def open_file(self, path: str) -> BinaryIO:
        """Open a file and count one request; the requests for its parts are not seen here."""
        self.reads += 1
        self.paths.append(path)
        return self.inner.open_file(path)

    def size(self, path: str) -> int:
        """Ask for a size and count one request."""
        self.stats += 1
        return self.inner.size(path)

    def modified(self, path: str) -> int:
        """Ask for a time and count one request."""
        self.stats += 1
        return self.inner.modified(path)

    def stamp(self, path: str) -> FileStamp:
        """Ask for a stamp and count one request."""
        self.stats += 1
        return self.inner.stamp(path)
