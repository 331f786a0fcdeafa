"""Reads a table's owner record from the store."""

from hudi_jobs.contract import (
    OPERATOR_FILE_LIMIT,
    OPERATOR_FOLDER,
    OWNER_FILE,
    Location,
    OwnerRecord,
    UnreadableOwner,
    decode_owner,
)
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind


def read_owner(filesystem: FileSystem, base: Location) -> tuple[OwnerRecord | None, str]:
    """Return the owner record in a table's folder; for an unusable record, None and the reason.

    Raises `StorageError` if the store does not answer.
    """
    place = (base / OPERATOR_FOLDER / OWNER_FILE).path
    try:
        return decode_owner(filesystem.read_file(place, limit=OPERATOR_FILE_LIMIT)), ""
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None, ""
        if error.kind is not StorageErrorKind.TOO_LARGE:
            raise
        why = str(error).rstrip(".")
    except UnreadableOwner as error:
        why = str(error)
    return None, (
        f"The record of the table's owner cannot be used: {why}. Another operator may own the table, so nothing "
        f"starts. If no other operator does, remove the file {OPERATOR_FOLDER}/{OWNER_FILE} from the table's folder."
    )
