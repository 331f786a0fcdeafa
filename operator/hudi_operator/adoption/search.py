"""Finds Hudi tables below a prefix, bounded in depth, number and time, and chooses the names of their resources."""

import re
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from hudi_jobs.contract import Location, NotALocation
from hudi_jobs.contract.wording import counted
from hudi_operator.storage import FileSystem, StorageError
from hudi_operator.timeline import NotAHudiTable, TimelineError, TimelineReader

_LONGEST = 63


def name_for(base_path: str, *, taken: Collection[str]) -> str:
    """Return a valid unused name: the last folder, prefixed by parent folders as needed."""
    parts = [slug for part in folders_of(base_path) if (slug := _slug(part))]
    candidates = ["-".join(parts[-number:]) for number in range(1, len(parts) + 1)]
    for candidate in candidates:
        if candidate not in taken and len(candidate) <= _LONGEST:
            return candidate
    first = candidates[0] if candidates else "table"
    number = 1
    while (name := _numbered(first, number)) in taken:
        number += 1
    return name


def folders_of(base_path: str) -> tuple[str, ...]:
    """Return the bucket, if any, and the folders of a base path; empty if the path is no location."""
    try:
        location = Location.parse(base_path)
    except NotALocation:
        return ()
    return tuple(filter(None, (location.bucket, *location.names)))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _numbered(name: str, number: int) -> str:
    suffix = "" if number == 1 else f"-{number}"
    return name[: _LONGEST - len(suffix)].rstrip("-") + suffix


_HIDDEN = (".", "_")
"""Name prefixes that Hadoop and Hudi hide; the metadata table is in a folder with such a name."""


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """The limits of a search; `depth` counts the folders between the prefix and a table."""

    depth: int = 5
    folders: int = 10_000
    tables: int = 1_000
    seconds: float = 600.0


@dataclass
class Found:
    """The base paths of found tables, in order, and sentences about unsearched folders. May include the prefix."""

    tables: list[Location] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    folders: int = 0


def find_tables(
    filesystem: FileSystem, prefix: Location, limits: SearchLimits, *, clock: Callable[[], float] = time.monotonic
) -> Found:
    """Search tables breadth first; report limits and refused folders, and continue with the rest."""
    found, reader, ends = Found(), TimelineReader(filesystem), clock() + limits.seconds
    waiting, too_deep = deque([(prefix, 0)]), 0
    while waiting:
        folder, depth = waiting.popleft()
        if found.folders >= limits.folders or len(found.tables) >= limits.tables or clock() >= ends:
            found.problems.append(
                f"The search reached its limits after {counted(found.folders, 'folder')} and "
                f"{counted(len(found.tables), 'table')}; at least {counted(len(waiting) + 1, 'folder')} "
                f"{'was' if not waiting else 'were'} not searched: use a narrower prefix or wider limits."
            )
            break
        found.folders += 1
        try:
            if _is_table(reader, folder):
                found.tables.append(folder)
            elif depth < limits.depth:
                waiting.extend((child, depth + 1) for child in _children(filesystem, folder, limits, found))
            else:
                too_deep += bool(_children(filesystem, folder, limits, found))
        except StorageError as error:
            found.problems.append(f"{folder.path}: {error}")
    if too_deep:
        found.problems.append(
            f"The search went {counted(limits.depth, 'folder')} deep; {counted(too_deep, 'folder')} there "
            f"{'has' if too_deep == 1 else 'have'} folders that were not searched: use a larger --depth."
        )
    return found


def _is_table(reader: TimelineReader, folder: Location) -> bool:
    try:
        reader.read_properties(folder)
    except NotAHudiTable:
        return False
    except TimelineError:
        # A table exists, and reading it will say what is wrong.
        return True
    return True


def _children(filesystem: FileSystem, folder: Location, limits: SearchLimits, found: Found) -> list[Location]:
    folders = filesystem.list_folders(folder.path, limit=limits.folders)
    if not folders.complete:
        found.problems.append(f"{folder.path}: it has more folders or files than a read lists; some were not searched.")
    return [folder / name for name in folders.names if name and not name.startswith(_HIDDEN)]
