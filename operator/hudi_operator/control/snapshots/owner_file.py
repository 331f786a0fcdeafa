"""The record of a table's owner, read from the store."""

from hudi_jobs.contract import (
    OPERATOR_FILE_LIMIT,
    OPERATOR_FOLDER,
    OWNER_FILE,
    OwnerRecord,
    UnreadableOwner,
    decode_owner,
)
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.storage.errors import storage_errors


def read_owner(filesystem: FileSystem, path: str) -> tuple[OwnerRecord | None, str]:
    """Return the record in a table's folder, or None and, where there is one that cannot be used, why.

    Raises `StorageError` where the store does not tell.
    """
    place = f"{path}/{OPERATOR_FOLDER}/{OWNER_FILE}"
    try:
        with storage_errors(place), filesystem.open_file(place) as file:
            content = file.read(OPERATOR_FILE_LIMIT + 1)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None, ""
        raise
    try:
        return decode_owner(content), ""
    except UnreadableOwner as error:
        return None, (
            f"The record of the table's owner cannot be used: {error}. Another operator may own the table, so nothing "
            f"starts; when none does, remove the file {OPERATOR_FOLDER}/{OWNER_FILE} from the table's folder."
        )
