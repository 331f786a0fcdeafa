"""What can go wrong between the operator and a store, in the few kinds that call for different answers."""

from enum import StrEnum


class StorageErrorKind(StrEnum):
    """Why the store did not give what was asked for; each kind asks something else of a person."""

    NOT_FOUND = "NotFound"
    NO_BUCKET = "NoBucket"
    ACCESS_DENIED = "AccessDenied"
    UNREACHABLE = "Unreachable"
    UNSUPPORTED = "Unsupported"


class StorageError(Exception):
    """A store did not give what was asked for.

    The message is one sentence that names the path. It never holds a credential.
    """

    def __init__(self, kind: StorageErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
