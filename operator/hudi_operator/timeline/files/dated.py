"""The newest files of a timeline with the times at which the store has written them: what shows a table's zone."""

from hudi_operator.storage import FileSystem, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.files.reading import as_unreadable

FILES_DATED = 20
"""Newest files that are dated; as many as the rule on zones asks."""


def newest_dated(filesystem: FileSystem, folder: str, listing: Listing) -> tuple[tuple[str, int], ...]:
    """Return the newest files whose names hold when they were written, each with the store's time in milliseconds.

    Names hold that of requests, and of what completed in layout 2. One request for each file whose time the listing
    does not hold.
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
