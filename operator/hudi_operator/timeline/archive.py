"""The archived timeline: history that cleaning and archival have taken out of the active one.

Never read by the control loop: layout 1 must be scanned whole, and nothing that a decision needs is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.model import Action, Instant, Layout, Problem, State, TableProperties
from hudi_operator.timeline.names import FAMILIES, RANKS
from hudi_operator.timeline.reading import as_unreadable

ARCHIVE_LIMIT = 64 * 2**20
"""Bytes of one file of the archive that are read at most."""

INSTANTS_LIMIT = 1_000_000
"""Archived instants that are read at most."""


@dataclass(frozen=True, slots=True)
class ArchivedTimeline:
    """Archived instants in timeline order, each once in its highest state, and what could not be read."""

    instants: tuple[Instant, ...]
    problems: tuple[Problem, ...] = ()


class ArchiveDamaged(Exception):
    """A file of the archive is not what its name promises."""


def read_archive(filesystem: FileSystem, base_path: str, properties: TableProperties) -> ArchivedTimeline:
    """Read the archived timeline of a table. A table without an archive has an empty one.

    Raises `TableUnreadable` if the store does not answer; damaged files become problems.
    """
    folder = f"{base_path.rstrip('/')}/{properties.archive_path}"
    try:
        names = filesystem.list_directory(folder).names
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return ArchivedTimeline(())
        raise as_unreadable(error) from error
    if properties.layout is Layout.ONE:
        from hudi_operator.timeline.archive_v1 import read_log_archive  # noqa: PLC0415 - only what is needed is loaded

        found, problems = read_log_archive(filesystem, folder, names)
    else:
        from hudi_operator.timeline.archive_v2 import read_lsm_history  # noqa: PLC0415 - loads pyarrow

        found, problems = read_lsm_history(filesystem, folder, names)
    relative = tuple(Problem(f"{properties.archive_path}/{problem.file}", problem.reason) for problem in problems)
    return ArchivedTimeline(_highest_states(found), tuple(sorted(set(relative))))


def archived_instant(time: object, action: object, state: object, completed_at: object) -> Instant:
    """Build an instant from an archived record. Raises `ArchiveDamaged` for what Hudi does not know."""
    try:
        return Instant(
            str(time),
            Action(str(action)),
            State(str(state)),
            None if completed_at is None else str(completed_at),
        )
    except ValueError as error:
        raise ArchiveDamaged(str(error)) from error


def _highest_states(instants: Iterable[Instant]) -> tuple[Instant, ...]:
    best: dict[tuple[str, Action], Instant] = {}
    for instant in instants:
        key = (instant.time, FAMILIES.get(instant.action, instant.action))
        known = best.get(key)
        if known is None or RANKS[instant.state] > RANKS[known.state]:
            best[key] = instant
    return tuple(best[key] for key in sorted(best))


def beyond_the_limit(name: str) -> Problem:
    """Return the problem of an archive with more than `INSTANTS_LIMIT` instants; `name` is the first file unread."""
    return Problem(name, "The archive holds more instants than are read; those from here on are not.")


def read_part(filesystem: FileSystem, path: str) -> bytes:
    """Read one file of the archive whole."""
    try:
        return filesystem.read_file(path, limit=ARCHIVE_LIMIT)
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            raise ArchiveDamaged("the file does not exist") from error
        if error.kind is StorageErrorKind.TOO_LARGE:
            raise ArchiveDamaged(str(error).rstrip(".")) from error
        raise as_unreadable(error) from error


Found = tuple[Sequence[Instant], Sequence[Problem]]
