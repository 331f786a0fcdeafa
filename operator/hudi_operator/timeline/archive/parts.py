"""Types, errors and size limits that both archive readers share."""

from collections.abc import Sequence
from dataclasses import dataclass

from hudi_jobs.contract import Location, NotALocation
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.files.reading import as_unreadable
from hudi_operator.timeline.model import Action, Instant, Problem, State

ARCHIVE_LIMIT = 64 * 2**20
"""The most bytes to read from an archive file."""

INSTANTS_LIMIT = 1_000_000
"""The most archived instants to read."""


@dataclass(frozen=True, slots=True)
class ArchivedTimeline:
    """Archived instants in timeline order, each once in its highest state, and the problems met while reading."""

    instants: tuple[Instant, ...]
    problems: tuple[Problem, ...] = ()


Found = tuple[Sequence[Instant], Sequence[Problem]]
"""Instants of the readable files, and problems of the unreadable files."""


class ArchiveDamaged(Exception):
    """An archive file has no valid content."""


def archived_instant(time: object, action: object, state: object, completed_at: object) -> Instant:
    """Build an instant from an archived record. Raises `ArchiveDamaged` for an action or state unknown to Hudi."""
    try:
        return Instant(
            str(time),
            Action(str(action)),
            State(str(state)),
            None if completed_at is None else str(completed_at),
        )
    except ValueError as error:
        raise ArchiveDamaged(str(error)) from error


def beyond_the_limit(name: str) -> Problem:
    """Return the problem to report when an archive exceeds `INSTANTS_LIMIT`; `name` is the first unread file."""
    return Problem(name, "The archive holds more instants than are read; instants from here on are missing.")


def place_in(folder: Location, name: str) -> str:
    """Return the path of a file of the archive; a manifest's name that leads elsewhere is damage."""
    try:
        return folder.path_of(name)
    except NotALocation as error:
        raise ArchiveDamaged("the name leads out of the archive") from error


def read_part(filesystem: FileSystem, folder: Location, name: str) -> bytes:
    """Read a file of the archive whole."""
    try:
        return filesystem.read_file(place_in(folder, name), limit=ARCHIVE_LIMIT)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            raise ArchiveDamaged("the file does not exist") from error
        if error.kind is StorageErrorKind.TOO_LARGE:
            raise ArchiveDamaged(str(error).rstrip(".")) from error
        raise as_unreadable(error) from error
