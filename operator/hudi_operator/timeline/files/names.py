"""The file-name grammar of the active timeline, layouts 1 and 2.

Follows `InstantFileNameGeneratorV1`/`V2`, `InstantGeneratorV1`/`V2` and the
`VALID_EXTENSIONS_IN_ACTIVE_TIMELINE` of `ActiveTimelineV1`/`V2`: Hudi reads exactly the extensions that are
listed there and ignores every other file.
"""

from typing import NamedTuple

from hudi_operator.timeline.model import Action, Layout, State

LONGEST_TIME = 32
"""Digits of an instant time at most: Hudi writes 17, and some more in its metadata table."""


class FileKind(NamedTuple):
    """What a file extension says.

    `family` groups the files of one instant whose action changes on completion: a compaction completes as
    `commit`, a log compaction as `deltacommit`, a clustering as `replacecommit` (`InstantComparatorV1`/`V2`).
    `rank` orders states.
    """

    action: Action
    state: State
    family: Action
    rank: int


class TimelineFile(NamedTuple):
    """A file name of the timeline, taken apart. `completed_at` is what the name records, if it does."""

    time: str
    completed_at: str | None
    kind: FileKind


RANKS = {State.REQUESTED: 0, State.INFLIGHT: 1, State.COMPLETED: 2}

# A pending action that completes under another name; layout 1 knows no clustering, it writes replacecommit
# throughout.
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
    """Take a file name apart, or return None if Hudi would ignore the file in a timeline of this layout."""
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
    """Spell the file of an instant in a state, as Hudi would. The inverse of `parse_name`."""
    if state is State.COMPLETED:
        stem = time if layout is Layout.ONE or completed_at is None else f"{time}_{completed_at}"
        return f"{stem}.{FAMILIES.get(action, action)}"
    if state is State.INFLIGHT and action is Action.COMMIT:
        return f"{time}.inflight"
    return f"{time}.{action}.{state.lower()}"


def has_overlong_time(name: str) -> bool:
    """Whether a file is named by a time of more digits than Hudi writes, which nothing here can show or compare."""
    times = name.partition(".")[0].split("_")
    return len(times) <= 2 and all(map(is_instant_time, times)) and max(map(len, times)) > LONGEST_TIME


def is_instant_time(text: str) -> bool:
    """Whether a text is made of ASCII digits only, which is all that Hudi asks of an instant time."""
    return text.isdigit() and text.isascii()
