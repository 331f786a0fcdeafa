"""The store interface of the operator, its options, its errors, and a request counter for it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO, NamedTuple, Protocol


class StorageErrorKind(StrEnum):
    """Why a store request failed; each kind needs a different remedy."""

    NOT_FOUND = "NotFound"
    NO_BUCKET = "NoBucket"
    ACCESS_DENIED = "AccessDenied"
    UNREACHABLE = "Unreachable"
    UNSUPPORTED = "Unsupported"
    TOO_LARGE = "TooLarge"
    ODD_KEY = "OddKey"


class StorageError(Exception):
    """A store request failed.

    The message is a sentence that names the path. It never holds a credential.
    """

    def __init__(self, kind: StorageErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def too_large(path: str, *, size: int | None = None, limit: int) -> StorageError:
    """Return the error for a file beyond the byte limit."""
    found = f"has {size} bytes" if size is not None else "has grown while it was read"
    return StorageError(StorageErrorKind.TOO_LARGE, f"{path} {found}; at most {limit} are read.")


def too_many_files(path: str, *, limit: int) -> StorageError:
    """Return the error for a folder beyond the listing limit."""
    message = f"{path} holds more than {limit} files, the most that are listed: archive or remove some."
    return StorageError(StorageErrorKind.TOO_LARGE, message)


def too_many_below(path: str, *, pages: int, page: int) -> StorageError:
    """Return the error for a path with more files below it than a listing covers."""
    message = (
        f"{path} holds more than {pages * page:,} files, the most that are listed below a path: move files that have "
        "been read to another place."
    )
    return StorageError(StorageErrorKind.TOO_LARGE, message)


@contextmanager
def storage_errors(path: str, *, refusals: Collection[str] = ()) -> Iterator[None]:
    """Raise errors of the block as `StorageError` about a path.

    `refusals` are texts in a client's plain `OSError` that mean a denied permission.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StorageError(StorageErrorKind.NOT_FOUND, f"{path} does not exist.") from error
    except (OSError, ValueError) as error:
        text = str(error)
        if isinstance(error, PermissionError) or any(refusal in text for refusal in refusals):
            raise StorageError(StorageErrorKind.ACCESS_DENIED, f"Permission to read {path} was denied.") from error
        raise StorageError(StorageErrorKind.UNREACHABLE, f"{path} cannot be read: {text.rstrip('.')}.") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class S3Options:
    """Endpoint, credentials and timeouts of an S3-compatible store.

    Without keys, the usual AWS sources are used (environment, shared files, web identity token, instance role). Times
    are seconds. Keys are left out of the representation, so no log can hold them.
    """

    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    anonymous: bool = False
    virtual_hosted: bool = False
    connect_timeout: float = 5.0
    request_timeout: float = 20.0
    max_attempts: int = 3


LISTING_LIMIT = 60_000
"""The most names in a listing: three each for 20,000 instants; archival leaves some hundred instants."""


FOLDER_REQUESTS = 100
"""The most requests for a listing of folders: 100,000 keys of an object store."""

PAGE = 1_000
"""The most names in a page; S3 returns no more keys at once."""

PAGES_BELOW = 200
"""The most pages of a listing of everything below a path."""


class FileStamp(NamedTuple):
    """Identifies a file's version: size in bytes, write time (epoch milliseconds) and the store's tag."""

    size: int
    modified: int
    tag: str | None = None


class StoredFile(NamedTuple):
    """A file below a listed path; the relative path is empty for the file at the listed path itself."""

    path: str
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class Listing:
    """The files directly inside a folder.

    `names` is in no particular order. `sizes` (bytes) and `modified` (epoch milliseconds) are filled only by stores
    that report them with the listing at no extra cost; elsewhere ask `FileSystem.modified` and `FileSystem.size`.
    `requests` is the number of requests that the listing took, a request per page.
    """

    names: Sequence[str]
    sizes: Mapping[str, int] | None = None
    modified: Mapping[str, int] | None = None
    requests: int = 1


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders directly inside a folder, in order; `complete` is False if some are missing."""

    names: tuple[str, ...]
    complete: bool = True


class FileSystem(Protocol):
    """A store that can be listed and read. Every method raises `StorageError`."""

    @property
    def identity(self) -> str:
        """Identifies the store: equal for two file systems exactly if a path means the same file in both."""
        ...

    @property
    def lists_from_offset(self) -> bool:
        """Whether a listing from an offset costs less than a whole listing."""
        ...

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        """List the files directly inside a folder, without descending.

        `start_after` asks only for greater names, `before` only for smaller ones. If the store cannot filter, the
        listing holds all names. A missing folder is a `NOT_FOUND` error on a file system with folders, and an empty
        listing on an object store, where folders do not exist. A folder with more than `limit` names is a `TOO_LARGE`
        error; the listing never holds more names in memory.
        """
        ...

    def list_below(self, path: str, *, pages: int = PAGES_BELOW) -> Iterator[Sequence[StoredFile]]:
        """Yield every file at or below a path in pages, in no particular order; no page is kept.

        An object store may hold both an object at the path and objects below it. A folder's marker may appear as an
        empty file. A missing path is `NOT_FOUND` or an empty listing, as for `list_directory`. More than `pages` pages
        are a `TOO_LARGE` error, raised after these pages. A link is an `UNSUPPORTED` error.
        """
        ...

    def list_folders(self, path: str, *, limit: int) -> Folders:
        """List at most `limit` folders directly inside a folder, within `FOLDER_REQUESTS`; links are not followed."""
        ...

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return the whole content of a file; a larger file than `limit` bytes is a `TOO_LARGE` error and not read."""
        ...

    def open_file(self, path: str) -> BinaryIO:
        """Open a file for partial reads; only the parts read are fetched."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        ...

    def modified(self, path: str) -> int:
        """Return the last write time of a file, in epoch milliseconds by the store's clock."""
        ...

    def stamp(self, path: str) -> FileStamp:
        """Return the file's version stamp, in one request and without its content."""
        ...


@dataclass(slots=True)
class CountingFileSystem:
    """Counts the requests to a file system, for tests, benchmarks and metrics."""

    inner: FileSystem
    lists: int = 0
    reads: int = 0
    stats: int = 0
    read_bytes: int = 0
    paths: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """The identity of the inner file system."""
        return self.inner.identity

    @property
    def lists_from_offset(self) -> bool:
        """Whether the inner file system lists from an offset."""
        return self.inner.lists_from_offset

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        """List a folder and count one request per page."""
        listing = self.inner.list_directory(path, start_after=start_after, before=before, limit=limit)
        self.lists += listing.requests
        return listing

    def list_below(self, path: str, *, pages: int = PAGES_BELOW) -> Iterator[Sequence[StoredFile]]:
        """Yield pages and count one request for each, at least one, and one for the path itself."""
        self.stats += 1
        self.lists += 1
        further = 0
        for page in self.inner.list_below(path, pages=pages):
            if page and page[0].path:
                self.lists += further
                further = 1
            yield page

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
        """Open a file and count one request; requests for its parts are not counted."""
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
