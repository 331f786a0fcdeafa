"""Reads a table's archive in the layout set in its properties."""

from collections.abc import Iterable

from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.archive.parts import ArchivedTimeline
from hudi_operator.timeline.archive.v1 import read_log_archive
from hudi_operator.timeline.files.names import FAMILIES, RANKS
from hudi_operator.timeline.files.reading import as_unreadable
from hudi_operator.timeline.model import Action, Instant, Layout, Problem, TableProperties


def read_archive(filesystem: FileSystem, base_path: str, properties: TableProperties) -> ArchivedTimeline:
    """Read the archived timeline of a table; it is empty for a table without an archive.

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
        found, problems = read_log_archive(filesystem, folder, names)
    else:
        from hudi_operator.timeline.archive.v2 import read_lsm_history  # noqa: PLC0415 - loads pyarrow

        found, problems = read_lsm_history(filesystem, folder, names)
    relative = tuple(Problem(f"{properties.archive_path}/{problem.file}", problem.reason) for problem in problems)
    return ArchivedTimeline(_highest_states(found), tuple(sorted(set(relative))))


def _highest_states(instants: Iterable[Instant]) -> tuple[Instant, ...]:
    best: dict[tuple[str, Action], Instant] = {}
    for instant in instants:
        key = (instant.time, FAMILIES.get(instant.action, instant.action))
        known = best.get(key)
        if known is None or RANKS[instant.state] > RANKS[known.state]:
            best[key] = instant
    return tuple(best[key] for key in sorted(best))
