"""Finds the newest timeline files with the store's write times, which show a table's time zone."""

from hudi_operator.storage import FileSystem, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.files.reading import as_unreadable

FILES_DATED = 20
"""The number of newest files to date; as many as the zone rule needs."""


def newest_dated(filesystem: FileSystem, folder: str, listing: Listing) -> tuple[tuple[str, int], ...]:
    """Return the newest files with a write time in their name, each with the store's time in milliseconds.

    Names hold the request time, and in layout 2 the completion time. Costs one request per file whose time the listing
    lacks.
    """
    names = sorted((name for name in listing.names if _written_at(name)), key=_written_at, reverse=True)[:FILES_DATED]
    known = listing.modified or {}
    times = ((name, known[name] if name in known else _modified(filesystem, f"{folder}/{name}")) for name in names)
    return tuple((name, written) for name, written in times if written is not None)


def _written_at(name: str) -> str:
    requested, _, completed = name.partition(".")[0].partition("_")
    if not requested.isdigit():
        return ""
    return completed or (requested if name.endswith(".requested") else "")


def _modified(filesystem: FileSystem, path: str) -> int | None:
    try:
        return filesystem.modified(path)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None
        raise as_unreadable(error) from error
