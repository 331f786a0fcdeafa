"""Reads the progress reports of continuous ingestions and operations from the store."""

from hudi_jobs.contract import OPERATOR_FILE_LIMIT, OPERATOR_FOLDER, PROGRESS_FILE, Location, Progress, decode_progress
from hudi_jobs.contract.operations.told import TOLD_FILE, TOLD_LIMIT, OperationTold, decode_told
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind


def read_progress(filesystem: FileSystem, base: Location) -> Progress | None:
    """Return the progress document in a table's folder, or None if missing or invalid.

    Raises `StorageError` if the store does not answer.
    """
    content = _read(filesystem, (base / OPERATOR_FOLDER / PROGRESS_FILE).path, OPERATOR_FILE_LIMIT)
    return None if content is None else decode_progress(content)


def read_told(filesystem: FileSystem, base: Location) -> OperationTold | None:
    """Return the report of a table's newest operation, as `read_progress` does."""
    content = _read(filesystem, (base / OPERATOR_FOLDER / TOLD_FILE).path, TOLD_LIMIT)
    return None if content is None else decode_told(content)


def _read(filesystem: FileSystem, place: str, limit: int) -> bytes | None:
    """Return the content from a single request: the file is rewritten often, and may become shorter."""
    try:
        return filesystem.read_file(place, limit=limit)
    except StorageError as error:
        if error.kind in {StorageErrorKind.NOT_FOUND, StorageErrorKind.TOO_LARGE}:
            return None
        raise
