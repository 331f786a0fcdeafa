"""From file names to instants: each instant once, in its highest state.

Follows `TimelineLayout.filterHoodieInstantsByLatestState` and the ordering of
`InstantComparators.RequestedTimeBasedComparator`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hudi_operator.timeline.model import Action, Instant, Layout, Problem, State
from hudi_operator.timeline.names import EXTENSIONS, TimelineFile, parse_name


@dataclass(frozen=True, slots=True)
class InstantFiles:
    """An instant and the names of all its files."""

    instant: Instant
    files: tuple[str, ...]

    def file_in(self, state: State, layout: Layout, action: Action | None = None) -> str | None:
        """Return the name of the instant's file in one state (and written under one action, if given)."""
        for name in self.files:
            parsed = parse_name(name, layout)
            if parsed is not None and parsed.kind.state is state and action in {None, parsed.kind.action}:
                return name
        return None


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The instants of a folder in timeline order, and what else the names say.

    `ignored` holds the names that are no part of the timeline. They are not judged here.
    """

    entries: tuple[InstantFiles, ...]
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def instants(self) -> tuple[Instant, ...]:
        """The instants alone."""
        return tuple(entry.instant for entry in self.entries)


@dataclass(slots=True)
class _Group:
    """The files of one instant while they are collected."""

    best: TimelineFile
    best_name: str
    files: list[str] = field(default_factory=list)
    requested: int = 0
    completed: int = 0


def collapse(names: Iterable[str], layout: Layout, *, folder: str = "") -> Collapsed:
    """Collapse the file names of a folder into instants; `folder` is put before the names in problems."""
    groups: dict[tuple[str, Action], _Group] = {}
    ignored: list[str] = []
    extensions = EXTENSIONS[layout]
    for name in names:
        stem, _, extension = name.partition(".")
        kind = extensions.get(extension)
        if kind is None:
            ignored.append(name)
            continue
        # The common spelling is decided here; `parse_name` would do the same at three times the cost.
        if stem.isdigit() and stem.isascii():
            time, completed_at = stem, None
        elif (parsed := parse_name(name, layout)) is not None:
            time, completed_at = parsed.time, parsed.completed_at
        else:
            ignored.append(name)
            continue
        key = (time, kind.family)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(TimelineFile(time, completed_at, kind), name)
        elif kind.rank > group.best.kind.rank or (kind.rank == group.best.kind.rank and name < group.best_name):
            group.best = TimelineFile(time, completed_at, kind)
            group.best_name = name
        group.requested += kind.rank == 0
        group.completed += kind.rank == 2
        group.files.append(name)
    ordered = [groups[key] for key in sorted(groups)]
    entries = tuple(
        InstantFiles(
            Instant(group.best.time, group.best.kind.action, group.best.kind.state, group.best.completed_at),
            tuple(group.files),
        )
        for group in ordered
    )
    return Collapsed(entries, tuple(ignored), _problems(ordered, folder))


def _problems(groups: Sequence[_Group], folder: str) -> tuple[Problem, ...]:
    problems = []
    for group in groups:
        kind = group.best.kind
        if group.completed > 1:
            files = sorted(name for name in group.files if not name.endswith((".requested", ".inflight")))
            problems.append(
                Problem(
                    f"{folder}{files[-1]}",
                    f"{kind.action} {group.best.time} was completed {group.completed} times: two executors ran it.",
                )
            )
        if not group.requested and kind.action is not Action.SAVEPOINT:
            state = "completed" if kind.rank == 2 else "inflight"
            reason = f"{kind.action} {group.best.time} is {state}, but its requested file is gone."
            problems.append(Problem(f"{folder}{group.best_name}", reason))
    return tuple(problems)
