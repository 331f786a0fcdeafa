"""Reads the numbered schema history of a table, which Hudi keeps in `.hoodie/.schema`."""

from hudi_jobs.contract.table.schema_history import HISTORY_FOLDER, HISTORY_LIMIT, newest_history_file
from hudi_operator.storage import StorageError, StorageErrorKind
from hudi_operator.timeline.errors import CorruptContent, ReadBudgetSpent
from hudi_operator.timeline.files.reading import TableFiles, as_unreadable

_FILES = 5_000


def newest_history(files: TableFiles, base_path: str) -> str | None:
    """Return the text of the newest completed history file; empty if unreadable, None if none exists.

    Each file repeats all earlier schemas (`FileBasedInternalSchemaStorageManager.persistHistorySchemaStr`).
    """
    folder = f"{base_path}/{HISTORY_FOLDER}"
    try:
        newest = newest_history_file(files.filesystem.list_directory(folder, limit=_FILES).names)
        return None if newest is None else files.value(f"{folder}/{newest}", _text, limit=HISTORY_LIMIT)
    except ReadBudgetSpent:
        raise
    except CorruptContent:
        return ""
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        if error.kind is StorageErrorKind.TOO_LARGE:
            return ""
        raise as_unreadable(error) from error


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
