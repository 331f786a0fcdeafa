"""The file-name grammar of the active timeline, layouts 1 and 2: from file names to instants.

Each instant counts once, in its highest state.

Follows `InstantFileNameGeneratorV1`/`V2`, `InstantGeneratorV1`/`V2` and the
`VALID_EXTENSIONS_IN_ACTIVE_TIMELINE` of `ActiveTimelineV1`/`V2`: Hudi reads exactly the extensions that are
listed there and ignores every other file.

Follows `TimelineLayout.filterHoodieInstantsByLatestState` and the ordering of
`InstantComparators.RequestedTimeBasedComparator`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hudi_operator.timeline.model import Action, Instant, Layout, Problem, State, TableProperties

LONGEST_TIME = 32
"""The most digits of an instant time: Hudi writes 17, and some more in its metadata table."""


class FileKind(NamedTuple):
    """The action and state of a file extension.

    `family` groups the files of an instant with an action that changes on completion: a compaction completes as
    `commit`, a log compaction as `deltacommit`, a clustering as `replacecommit` (`InstantComparatorV1`/`V2`). `rank`
    orders states.
    """

    action: Action
    state: State
    family: Action
    rank: int


class TimelineFile(NamedTuple):
    """A parsed timeline file name. `completed_at` is None unless the name records it."""

    time: str
    completed_at: str | None
    kind: FileKind


RANKS = {State.REQUESTED: 0, State.INFLIGHT: 1, State.COMPLETED: 2}

# Pending actions that complete under another name; layout 1 has no clustering and writes replacecommit throughout.
FAMILIES = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOG_COMPACTION: Action.DELTA_COMMIT,
    Action.CLUSTERING: Action.REPLACE_COMMIT,
}
_NEVER_COMPLETES = frozenset(FAMILIES)
_NEVER_REQUESTED = frozenset({Action.SAVEPOINT})


def _extensions(layout: Layout) -> dict[str, FileKind]:
    table: dict[str, FileKind] = {}
    for action in Action:
        if action is Action.CLUSTERING and layout is Layout.ONE:
            continue
        family = FAMILIES.get(action, action)
        if action not in _NEVER_REQUESTED:
            table[f"{action}.requested"] = FileKind(action, State.REQUESTED, family, 0)
        # The inflight file of a plain commit carries no action, for compatibility with the first Hudi
        # releases.
        inflight = "inflight" if action is Action.COMMIT else f"{action}.inflight"
        table[inflight] = FileKind(action, State.INFLIGHT, family, 1)
        if action not in _NEVER_COMPLETES:
            table[action.value] = FileKind(action, State.COMPLETED, family, 2)
    return table


EXTENSIONS: dict[Layout, dict[str, FileKind]] = {layout: _extensions(layout) for layout in Layout}


def parse_name(name: str, layout: Layout) -> TimelineFile | None:
    """Parse a file name, or return None if Hudi would ignore it in this layout."""
    stem, _, extension = name.partition(".")
    kind = EXTENSIONS[layout].get(extension)
    if kind is None:
        return None
    if is_instant_time(stem):
        return TimelineFile(stem, None, kind)
    if layout is Layout.ONE:
        return None
    time, _, completed_at = stem.partition("_")
    if is_instant_time(time) and is_instant_time(completed_at):
        return TimelineFile(time, completed_at if kind.rank == 2 else None, kind)
    return None


def file_name(*, time: str, completed_at: str | None, action: Action, state: State, layout: Layout) -> str:
    """Return Hudi's file name for an instant in a state. The inverse of `parse_name`."""
    if state is State.COMPLETED:
        stem = time if layout is Layout.ONE or completed_at is None else f"{time}_{completed_at}"
        return f"{stem}.{FAMILIES.get(action, action)}"
    if state is State.INFLIGHT and action is Action.COMMIT:
        return f"{time}.inflight"
    return f"{time}.{action}.{state.lower()}"


def name_of(instant: Instant, layout: Layout) -> str:
    """Return Hudi's file name for an instant in its state."""
    return file_name(
        time=instant.time,
        completed_at=instant.completed_at,
        action=instant.action,
        state=instant.state,
        layout=layout,
    )


def has_overlong_time(name: str) -> bool:
    """Whether a file name has an instant time with more digits than Hudi writes, too long to show or compare."""
    times = name.partition(".")[0].split("_")
    return len(times) <= 2 and all(map(is_instant_time, times)) and max(map(len, times)) > LONGEST_TIME


def is_instant_time(text: str) -> bool:
    """Whether a text consists of ASCII digits, Hudi's only demand on an instant time."""
    return text.isdigit() and text.isascii()


class InstantFiles(NamedTuple):
    """An instant and all its file names, the file of its current state first."""

    instant: Instant
    files: tuple[str, ...]

    def file_in(self, state: State, layout: Layout, action: Action | None = None) -> str | None:
        """Return the name of the instant's file in a state (and under an action, if given)."""
        for name in self.files:
            parsed = parse_name(name, layout)
            if parsed is not None and parsed.kind.state is state and action in {None, parsed.kind.action}:
                return name
        return None


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The instants of a folder in timeline order, with ignored names and problems.

    `ignored` holds names outside the timeline, unchecked.
    """

    entries: tuple[InstantFiles, ...]
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def instants(self) -> tuple[Instant, ...]:
        """The instants without their files."""
        return tuple(entry.instant for entry in self.entries)


# A file of an instant: its state's rank, negative; its name; the completion time that the name records; what it is. The
# smallest gives the instant its state. A bare tuple, because there are thousands and a class costs ten times more.
_File = tuple[int, str, str | None, FileKind]


def collapse(names: Iterable[str], layout: Layout, *, folder: str = "") -> Collapsed:
    """Collapse a folder's file names into instants; `folder` prefixes the names in problems."""
    groups: dict[tuple[str, Action], list[_File]] = {}
    ignored: list[str] = []
    extensions = EXTENSIONS[layout]
    for name in names:
        # Decides the same as `parse_name` at a third of the cost: this loop dominates the read of a long timeline.
        stem, _, extension = name.partition(".")
        kind = extensions.get(extension)
        time, separator, completed_at = stem.partition("_")
        if (
            kind is None
            or not (time.isdigit() and stem.isascii())
            or (separator and (layout is Layout.ONE or not completed_at.isdigit()))
            or len(time) > LONGEST_TIME
            or len(completed_at) > LONGEST_TIME
        ):
            ignored.append(name)
            continue
        recorded = completed_at if separator and kind.rank == 2 else None
        key = (time, kind.family)
        files = groups.get(key)
        if files is None:
            groups[key] = [(-kind.rank, name, recorded, kind)]
        else:
            files.append((-kind.rank, name, recorded, kind))
    ordered = [(key[0], groups[key]) for key in sorted(groups)]
    return Collapsed(
        tuple(_entry(time, files) for time, files in ordered),
        tuple(ignored),
        tuple(problem for time, files in ordered for problem in _problems(time, files, folder)),
    )


def _entry(time: str, files: list[_File]) -> InstantFiles:
    files.sort()
    _, _, completed_at, kind = files[0]
    instant = Instant(time, kind.action, kind.state, completed_at)
    return InstantFiles(instant, tuple([name for _, name, _, _ in files]))


def _problems(time: str, files: Sequence[_File], folder: str) -> Iterator[Problem]:
    """Yield the problems of an instant's sorted files."""
    rank, name, _, kind = files[0]
    if files[-1][0] != 0 and kind.action is not Action.SAVEPOINT:
        state = "completed" if kind.rank == 2 else "inflight"
        yield Problem(f"{folder}{name}", f"{kind.action} {time} is {state}, but its requested file is gone.")
    completed = [other for its_rank, other, _, _ in files if its_rank == -2] if rank == -2 and len(files) > 1 else []
    if len(completed) > 1:
        reason = f"{kind.action} {time} was completed {len(completed)} times: two executors ran it."
        yield Problem(f"{folder}{completed[-1]}", reason)


# Files that Hudi itself keeps in `.hoodie/` next to a layout-1 timeline.
_KNOWN = frozenset({"hoodie.properties", "hoodie.properties.backup", "hoodie.properties.updated", "lock"})

# Hudi's own folders: a store lists a folder marker (`history/`) as an object of that name.
_FOLDERS = frozenset({"history", "archived", "metadata", "timeline"})


def stray_files(ignored: Iterable[str], properties: TableProperties) -> tuple[Problem, ...]:
    """Report files in the timeline folder that neither the timeline nor Hudi itself needs.

    Hudi skips them, and so do the counters. Checksum files of Hadoop's local file system (`.name.crc`) and directory
    markers of object stores (`name_$folder$`, and `name/` of Hudi's folders) are not reported.
    """
    folder = properties.timeline_folder
    folders = _FOLDERS | {properties.archive_path.removeprefix(f"{folder}/").partition("/")[0]}
    problems = []
    for name in ignored:
        if not name or name in folders or name.endswith((".crc", "_$folder$")):
            continue
        if properties.layout is Layout.ONE and (name in _KNOWN or name.startswith(".")):
            continue
        if is_instant_time(name.partition(".")[0].partition("_")[0]):
            reason = "The name looks like an instant, but Hudi knows no such action or state; it is ignored."
        else:
            reason = "The file is not part of a timeline; it is ignored."
        problems.append(Problem(f"{folder}/{name}", reason))
    return tuple(problems)
