"""Selects the unread files of a source for a run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

_NAMED = 3
_NAMED_LIMIT = 80


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place in the reading order of files; the time is in milliseconds since the epoch."""

    time: int
    path: str

    def __str__(self) -> str:
        try:
            moment = datetime.fromtimestamp(self.time / 1000, UTC).isoformat(timespec="milliseconds")
        except (ValueError, OverflowError):
            return f"{self.time} {self.path}"  # a store may give a file a time beyond the year 9999
        return f"{moment.replace('+00:00', 'Z')} {self.path}"


@dataclass(frozen=True, order=True, slots=True)
class SourceFile:
    """A file of the source; the path is relative to the source, the size in bytes."""

    time: int
    path: str
    size: int

    @property
    def position(self) -> Position:
        """The place of the file in the reading order."""
        return Position(self.time, self.path)


@dataclass(frozen=True)
class Selection:
    """The files of a run in the order of (modification time, path), and whether more files wait beyond the limits.

    `left` is the number of bytes of the waiting files, and `oldest_left` the oldest modification time among them.
    """

    files: tuple[SourceFile, ...]
    more: bool
    left: int = 0
    oldest_left: int | None = None

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(file.size for file in self.files)


@dataclass
class OddKeys:
    """The number of listed objects that no reader finds under Hadoop's path for their keys, with some names."""

    count: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, path: str) -> None:
        """Count another object, by Hadoop's path for it."""
        self.count += 1
        if len(self.names) < _NAMED:
            shown = ascii(path[:_NAMED_LIMIT])
            self.names.append(shown if len(shown) <= _NAMED_LIMIT else f"{shown[:_NAMED_LIMIT]}...'")


def select_files(waiting: Iterable[SourceFile], *, max_files: int | None, max_bytes: int | None) -> Selection:
    """Choose the oldest of the unread files, up to the limits, but always at least one."""
    in_order = sorted(waiting)
    count = _within(in_order, max_files=max_files, max_bytes=max_bytes)
    return Selection(
        files=tuple(in_order[:count]),
        more=count < len(in_order),
        left=sum(file.size for file in in_order[count:]),
        oldest_left=in_order[count].time if count < len(in_order) else None,
    )


def select_confirmed(
    waiting: Iterable[SourceFile],
    confirm: Callable[[Sequence[SourceFile]], set[SourceFile]],
    odd: OddKeys,
    *,
    max_files: int | None,
    max_bytes: int | None,
) -> Selection:
    """Choose among the files that `confirm` finds under their paths, and count the others as odd.

    Each call asks about the chosen files and as many more as were odd so far, so few calls suffice.
    """
    left, known, missing = sorted(set(waiting)), set[SourceFile](), 0
    while True:
        selection = select_files(left, max_files=max_files, max_bytes=max_bytes)
        asked = [file for file in left[: len(selection.files) + missing] if file not in known]
        if known.issuperset(selection.files):
            return selection
        found = confirm(asked)
        known |= found
        absent = {file for file in asked if file not in found}
        for file in sorted(absent):
            odd.add(file.path)
        missing += len(absent)
        left = [file for file in left if file not in absent]


def _within(files: Sequence[SourceFile], *, max_files: int | None, max_bytes: int | None) -> int:
    total = 0
    for count, file in enumerate(files):
        total += file.size
        full = (max_files is not None and count >= max_files) or (max_bytes is not None and total > max_bytes)
        if full and count > 0:
            return count
    return len(files)
