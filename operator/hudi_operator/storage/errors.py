"""What can go wrong between the operator and a store, in the few kinds that call for different answers."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from enum import StrEnum


class StorageErrorKind(StrEnum):
    """Why the store did not give what was asked for; each kind asks something else of a person."""

    NOT_FOUND = "NotFound"
    NO_BUCKET = "NoBucket"
    ACCESS_DENIED = "AccessDenied"
    UNREACHABLE = "Unreachable"
    UNSUPPORTED = "Unsupported"
    TOO_LARGE = "TooLarge"
    ODD_KEY = "OddKey"


class StorageError(Exception):
    """A store did not give what was asked for.

    The message is one sentence that names the path. It never holds a credential.
    """

    def __init__(self, kind: StorageErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def too_large(path: str, *, size: int | None = None, limit: int) -> StorageError:
    """Return the error about a file that has more bytes than are read."""
    found = f"has {size} bytes" if size is not None else "has grown while it was read"
    return StorageError(StorageErrorKind.TOO_LARGE, f"{path} {found}; at most {limit} are read.")


def too_many_files(path: str, *, limit: int) -> StorageError:
    """Return the error about a folder that holds more files than are listed."""
    message = f"{path} holds more than {limit} files, the most that are listed: archive or remove some."
    return StorageError(StorageErrorKind.TOO_LARGE, message)


@contextmanager
def storage_errors(path: str, *, refusals: Collection[str] = ()) -> Iterator[None]:
    """Raise what goes wrong inside as a `StorageError` about a path.

    `refusals` are texts by which a client says in a plain `OSError` that permission was denied.
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
