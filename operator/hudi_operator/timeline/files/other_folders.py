"""Finds facts in other folders of a table: index metadata, and instants of another layout."""

from hudi_jobs.contract import VARYING_BUCKETS_FOLDER
from hudi_jobs.contract.table.layout import META_FOLDER, instant_names, timeline_folders
from hudi_operator.storage import StorageError, StorageErrorKind
from hudi_operator.timeline.files.reading import TableFiles, as_unreadable

# Other files of `.hoodie` sort before and after instants, which begin with a digit.
_BEFORE_INSTANTS = ".zzzz"
_BEHIND_INSTANTS = ":"


def has_varying_buckets(files: TableFiles, base_path: str) -> bool:
    """Tell whether the number of buckets grows or differs between partitions. Costs a listing."""
    try:
        return bool(files.filesystem.list_folders(f"{base_path}/{VARYING_BUCKETS_FOLDER}", limit=1).names)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return False
        raise as_unreadable(error) from error


def moved_instant(files: TableFiles, base_path: str, version: int) -> str | None:
    """Return an instant file in the timeline folder of the other layout. Costs a listing."""
    folder = timeline_folders(version)[1]
    after = _BEFORE_INSTANTS if folder == META_FOLDER else None
    try:
        listing = files.filesystem.list_directory(f"{base_path}/{folder}", start_after=after, before=_BEHIND_INSTANTS)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        raise as_unreadable(error) from error
    return next(iter(instant_names(listing.names)), None)
