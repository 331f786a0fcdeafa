"""The folder of a table version's timeline, and the file slices of log files, by name and by time: pure values.

Hudi moves the files one by one and writes the version last (`SevenToEightUpgradeHandler`,
`EightToSevenDowngradeHandler`). A process that opens the table in between sees part of its commits, and rolls back
instants that look unfinished: their rows would be lost.

Before version 8 a log file names the base instant of its slice, and releases before 1.0 use that name. Hudi 1.2.0 takes
the newest slice that began before the base instant completed (`HoodieFileGroup.getBaseInstantTime`), and takes the time
at which the store wrote an instant's file for the completion (`InstantGeneratorV1`). Stores with whole seconds, clocks
that differ, and copies of a table make that another slice: readers miss updates or see old rows, and a clean deletes
log files of the newest slice (apache/hudi#19286 takes the instant for its completion, after 1.2.0).
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.table.support import EVERY_SERVICE, Unsupported
from hudi_jobs.contract.vocabulary import Service

META_FOLDER = ".hoodie"
INSTANT_FILE = re.compile(r"(?P<time>[0-9]{14}(?:[0-9]{3})?)(?:_[0-9]+)?(?P<rest>\.[a-z.]+)")

LAYOUT_FIELD = "timelineLayout"
"""The name of the consequence of a timeline that lies in two folders."""

_LAYOUT_2 = f"{META_FOLDER}/timeline"


def timeline_folders(version: int) -> tuple[str, str]:
    """Return the folder of a version's active timeline, and the folder of the other layout."""
    return (META_FOLDER, _LAYOUT_2) if version < LAYOUT_2_FROM else (_LAYOUT_2, META_FOLDER)


def instant_names(names: Iterable[str]) -> list[str]:
    """Return the sorted names of instant files among the names of a folder."""
    return sorted(name for name in names if INSTANT_FILE.fullmatch(name))


def half_moved(name: str) -> Unsupported:
    """Return the refusal of a timeline with this file in the folder of the other layout.

    Operations are not refused: a change of the version finishes the change, and the driver of any other kind checks for
    itself.
    """
    return Unsupported(
        key=LAYOUT_FIELD,
        possible="a timeline in the folder of the table's version",
        found=f"{name}, where tables of another version have their timeline",
        advice="a change of the version has not ended, and nothing is written meanwhile. If a deleted HudiOperation "
        "began it, create another HudiOperation to the same version, which finishes it; otherwise finish it with the "
        "tool "
        "that began it",
        refuses=EVERY_SERVICE - {Service.OPERATION},
    )


_BASE = re.compile(r"([^._/][^_/]*)_[^_/]+_([0-9]+)\.(?:parquet|orc|hfile)")
_LOG = re.compile(r"\.([^._/]+)_([0-9]+)\.log\.[0-9]+(?:_.*)?")
_SHORTEST_TIME = 10
"""The fewest digits of an instant that Hudi takes for a time (`CompletionTimeQueryViewV1.getCompletionTime`)."""


SLICES_CURE = (
    "With the tool and release that wrote the table, clean it so that one version of each file is left "
    "(hoodie.cleaner.policy=KEEP_LATEST_FILE_VERSIONS, hoodie.cleaner.fileversions.retained=1); then the times decide "
    "nothing"
)
"""The remedy for a person: a file group with one slice needs no times."""


class Difference(StrEnum):
    """How the slice that Hudi derives from times differs from the slice in the name of a log file."""

    EARLIER = "earlier"
    """Readers do not see the log file, and a clean deletes it with the older slice."""

    LATER = "later"
    """Readers see the log file over a newer base file."""


@dataclass(frozen=True, order=True)
class Misplaced:
    """A log file that Hudi counts to another slice; `file` is the file group if the slice has no log file yet."""

    file: str
    kind: Difference
    named: str
    found: str


@dataclass(frozen=True)
class Completions:
    """When the writes of an active timeline completed by the times of their files, as instants of the table's zone.

    `pending` are the pending writes. Each instant before `first`, the first write that no savepoint keeps there, is
    archived: Hudi takes its request for its completion.
    """

    completed: Mapping[str, str]
    pending: frozenset[str]
    first: str
    planned: frozenset[str] = frozenset()
    """Pending compactions, which begin a slice of each file group that they compact."""

    @property
    def may_mislead(self) -> bool:
        """Whether names and times may disagree; otherwise no name has to be checked."""
        instants = sorted({*self.completed, *self.pending, *self.planned})
        for instant, completion in self.completed.items():
            following = bisect_right(instants, instant)
            is_overtaken = following < len(instants) and instants[following] <= completion
            if completion < instant or is_overtaken:
                return True
        return False

    def slice_of(self, named: str, slices: Iterable[str]) -> str:
        """Return the slice to which Hudi counts a log file, by the base instant in its name."""
        ordered = sorted(slices, reverse=True)
        if not ordered:
            return named
        completion = self._completion(named)
        if completion is None:
            return ordered[0]
        if len(completion) != len(ordered[0]):
            completion = named
        return next((one for one in ordered if one <= completion), named)

    def begun_within(self, misplaced: Iterable["Misplaced"]) -> bool:
        """Tell whether a pending write began before the base instant of a misplaced file completed."""
        latest = max((self.completed.get(one.named, "") for one in misplaced), default="")
        return any(one <= latest for one in self.pending)

    def _completion(self, instant: str) -> str | None:
        if len(instant) < _SHORTEST_TIME:
            return instant
        return self.completed.get(instant) or (instant if instant < self.first else None)


@dataclass
class _Group:
    bases: set[str] = field(default_factory=set)
    planned: set[str] = field(default_factory=set)
    logs: dict[str, list[str]] = field(default_factory=dict)


class FileGroups:
    """The base files and log files of a table, by their names."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}

    def add(self, partition: str, name: str) -> None:
        """Add a file of a partition; a file outside of file groups is ignored."""
        if (log := _LOG.fullmatch(name)) is not None:
            group = self._groups.setdefault((partition, log[1]), _Group())
            group.logs.setdefault(log[2], []).append(name)
        elif (base := _BASE.fullmatch(name)) is not None:
            self._groups.setdefault((partition, base[1]), _Group()).bases.add(base[2])

    def plan(self, partition: str, group_id: str, compaction: str) -> None:
        """Add the slice that a pending compaction begins in a file group."""
        self._groups.setdefault((partition, group_id), _Group()).planned.add(compaction)

    def placed(self, times: Completions) -> Iterator[tuple[str, str, str]]:
        """Yield each log file with the slice to which Hudi counts it: partition, name, slice."""
        for (partition, _), group in sorted(self._groups.items()):
            for named, found in _placed(group, times):
                yield from ((partition, name, found) for name in sorted(group.logs[named]))

    def misplaced(self, times: Completions) -> Iterator[Misplaced]:
        """Yield the log files that Hudi counts to another slice than their names say.

        The newest slice of a group counts before it has a log file: the next write would make one, and lose its rows.
        """
        for (partition, group_id), group in sorted(self._groups.items()):
            within = f"{partition}/" if partition else ""
            for named, found in _placed(group, times):
                if found != named:
                    kind = Difference.EARLIER if found < named else Difference.LATER
                    yield from (Misplaced(f"{within}{name}", kind, named, found) for name in sorted(group.logs[named]))
            slices, newest = group.bases | group.logs.keys(), max(group.bases, default="")
            if newest and newest not in group.logs and (found := times.slice_of(newest, slices)) < newest:
                yield Misplaced(f"{within}{group_id}", Difference.EARLIER, newest, found)


def _placed(group: _Group, times: Completions) -> Iterator[tuple[str, str]]:
    """Yield each base instant in the names of log files with its slice, in the order of Hudi's search."""
    slices = group.bases | group.planned
    for named in sorted(group.logs):
        found = times.slice_of(named, slices)
        slices.add(found)
        yield named, found
