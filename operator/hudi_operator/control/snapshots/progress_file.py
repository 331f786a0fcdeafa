"""How far a continuous ingestion has come by its own word, read from the store."""

from hudi_jobs.contract import OPERATOR_FILE_LIMIT, OPERATOR_FOLDER, PROGRESS_FILE, Progress, decode_progress
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.storage.errors import storage_errors


def read_progress(filesystem: FileSystem, path: str) -> Progress | None:
    """Return the document in a table's folder, or None where there is none or it cannot be understood.

    Raises `StorageError` where the store does not tell.
    """
    place = f"{path}/{OPERATOR_FOLDER}/{PROGRESS_FILE}"
    try:
        with storage_errors(place), filesystem.open_file(place) as file:
            return decode_progress(file.read(OPERATOR_FILE_LIMIT + 1))
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        raise
