"""The file-name grammar of the active timeline, layouts 1 and 2.

Follows `InstantFileNameGeneratorV1`/`V2`, `InstantGeneratorV1`/`V2` and the
`VALID_EXTENSIONS_IN_ACTIVE_TIMELINE` of `ActiveTimelineV1`/`V2`: Hudi reads exactly the extensions that are
listed there and ignores every other file.
"""

from typing import NamedTuple

from hudi_operator.timeline.model import Action, Layout, State

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


def has_overlong_time(name: str) -> bool:
    """Whether a file name has an instant time with more digits than Hudi writes, too long to show or compare."""
    times = name.partition(".")[0].split("_")
    return len(times) <= 2 and all(map(is_instant_time, times)) and max(map(len, times)) > LONGEST_TIME


def is_instant_time(text: str) -> bool:
    """Whether a text consists of ASCII digits, Hudi's only demand on an instant time."""
    return text.isdigit() and text.isascii()
