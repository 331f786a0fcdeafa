"""Store errors, in the few kinds that need different answers."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import StrEnum


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
