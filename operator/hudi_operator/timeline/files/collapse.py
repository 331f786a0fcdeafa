"""From file names to instants: each instant once, in its highest state.

Follows `TimelineLayout.filterHoodieInstantsByLatestState` and the ordering of
`InstantComparators.RequestedTimeBasedComparator`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hudi_operator.timeline.files.names import EXTENSIONS, LONGEST_TIME, FileKind, parse_name
from hudi_operator.timeline.model import Action, Instant, Layout, Problem, State


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
