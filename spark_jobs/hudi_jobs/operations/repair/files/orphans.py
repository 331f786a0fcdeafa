"""Classifies a table's files by their instants, from names, lists and times alone.

A name tells the instant that wrote the file (`FSUtils.makeBaseFileName`, `FSUtils.makeLogFileName`), except for log
files before table version 8: they carry the instant of their base file, and rolled back rows stay in them beside a
rollback block. They keep their names when the table is upgraded, so all log files of such a table stay. Files with
other names are not judged.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hudi_jobs.contract import OPERATOR_FOLDER

INSTANTS_IN_LOGS_FROM = 8
"""The first version with the write's instant in the names of log files."""

_INSTANT = r"(?P<instant>[0-9]{14}(?:[0-9]{3})?)"
_ATTEMPT = r"[0-9]+-[0-9]+-[0-9]+"
_BASE = re.compile(rf"[0-9A-Za-z-]+_{_ATTEMPT}_{_INSTANT}\.parquet", re.ASCII)
_LOG = re.compile(rf"\.[0-9A-Za-z-]+_{_INSTANT}\.log\.[0-9]+_{_ATTEMPT}", re.ASCII)
_FIRST_VERSION = "hoodie.table.initial.version"
_META_FOLDER = ".hoodie"
# With `hoodie.partition.metafile.use.base.format` the mark of a partition has the format of the base files.
_PARTITION_FILES = frozenset(f".hoodie_partition_metadata{ending}" for ending in ("", ".parquet", ".orc"))


@dataclass(frozen=True, order=True)
class File:
    """A file with its path below the table; `changed` is its modification time in seconds of Unix time."""

    path: str
    size: int
    changed: float

    @property
    def folder(self) -> str:
        """The folder; the partition of a data file."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Known:
    """The content of the timelines.

    `version` is the oldest that the table has had. `instants` are all requested times of the active timeline and the
    archive, in any state. `listed` are the paths of all files that completed commits of the active timeline wrote,
    `commits` those of them without a savepoint, and `kept` the names of files that savepoints keep.
    """

    version: int
    instants: frozenset[str]
    commits: frozenset[str]
    listed: frozenset[str]
    kept: frozenset[str]


class Kind(StrEnum):
    """The verdict on a file."""

    ACCOUNTED = "accounted"
    ORPHAN = "orphan"
    YOUNG = "young"
    UNKNOWN = "unknown"
    """Not a data file's name, a name without an instant, or a file outside the table's partitions."""


def kinds_of(files: Collection[File], known: Known, *, until: float) -> Mapping[Kind, list[File]]:
    """Return the files by their verdict; a file changed after `until` is too young for an orphan.

    Whether a reader or the metadata table shows an orphan is checked elsewhere.
    """
    partitions, foreign = _partitions(files), _foreign(files)
    found: dict[Kind, list[File]] = {kind: [] for kind in Kind}
    for file in sorted(files):
        if file.name in _PARTITION_FILES:
            continue
        inside = file.folder in partitions and not _is_below(file.folder, foreign)
        found[_kind(file, known, until=until) if inside else Kind.UNKNOWN].append(file)
    return found


def oldest_version(properties: Mapping[str, str], version: int) -> int:
    """Return the oldest version of a table since its creation; 0 when it came from before version 8."""
    first = properties.get(_FIRST_VERSION, "")
    return min(version, int(first)) if first.isascii() and first.isdecimal() else 0


def instant_of(name: str, version: int) -> str | None:
    """Return the instant that wrote a data file; None when the name does not tell."""
    match = _BASE.fullmatch(name)
    if match is None and version >= INSTANTS_IN_LOGS_FROM:
        match = _LOG.fullmatch(name)
    return match["instant"] if match is not None else None


def _kind(file: File, known: Known, *, until: float) -> Kind:
    instant = instant_of(file.name, known.version)
    if instant is None:
        return Kind.UNKNOWN
    if file.path in known.listed or file.name in known.kept or not _is_unaccounted(instant, known):
        return Kind.ACCOUNTED
    return Kind.ORPHAN if file.changed < until else Kind.YOUNG


def _is_unaccounted(instant: str, known: Known) -> bool:
    """Tell whether an instant cannot have written a file that no active commit lists.

    Archived commits are not read again, so their files stay. Nothing is known of instants older than the oldest known
    instant.
    """
    if instant in known.instants:
        return instant in known.commits
    return bool(known.instants) and min(known.instants) < instant


def _partitions(files: Iterable[File]) -> set[str]:
    """Return the folders with Hudi's partition marker."""
    return {file.folder for file in files if file.name in _PARTITION_FILES}


def _foreign(files: Iterable[File]) -> set[str]:
    """Return the folders of other tables below this table."""
    found = set()
    for file in files:
        names = file.path.split("/")
        if _META_FOLDER in names[1:-1]:
            found.add("/".join(names[: names.index(_META_FOLDER, 1)]))
    return found


def _is_below(folder: str, others: Collection[str]) -> bool:
    names = folder.split("/")
    is_reserved = any(name in {_META_FOLDER, OPERATOR_FOLDER, "..", "."} for name in names)
    return is_reserved or any("/".join(names[:count]) in others for count in range(1, len(names) + 1))
