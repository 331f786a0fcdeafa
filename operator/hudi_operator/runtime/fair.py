"""Waiting items of several groups, such as keys of namespaces: the wait of a group does not depend on others' items."""

from collections.abc import Callable, Collection, Hashable
from typing import Any, Generic, TypeVar

Group = TypeVar("Group", bound=Hashable)
Item = TypeVar("Item", bound=Hashable)


class FairLines(Generic[Group, Item]):
    """Lines of items, one per group; the caller ranks groups, and groups of equal rank take turns.

    With a rank that grows with what a group already holds, a new item waits for at most one item of each other group.
    """

    def __init__(self) -> None:
        self._lines: dict[Group, dict[Item, None]] = {}  # the group that waits longest for its turn first
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def groups(self) -> Collection[Group]:
        """The groups with waiting items; the longest without a turn comes first."""
        return self._lines.keys()

    def add(self, group: Group, item: Item) -> None:
        """Put an item at the end of its group's line; an item that already waits there keeps its place."""
        line = self._lines.setdefault(group, {})
        if item not in line:
            line[item] = None
            self._size += 1

    def discard(self, group: Group, item: Item) -> None:
        """Remove an item if it waits."""
        line = self._lines.get(group, {})
        if item in line:
            self._remove(group, line, item)

    def take(self, rank: Callable[[Group], Any]) -> tuple[Group, Item] | None:
        """Remove and return the first item of the group with the lowest rank; rank None excludes a group."""
        ranks = ((rank(group), group) for group in self._lines)
        chosen = min(((value, group) for value, group in ranks if value is not None), key=_first, default=None)
        if chosen is None:
            return None
        group = chosen[1]
        line = self._lines.pop(group)
        item = next(iter(line))
        self._lines[group] = line  # at the end: the group has had its turn
        self._remove(group, line, item)
        return group, item

    def _remove(self, group: Group, line: dict[Item, None], item: Item) -> None:
        del line[item]
        self._size -= 1
        if not line:
            del self._lines[group]


def _first(pair: tuple[Any, object]) -> Any:  # noqa: ANN401 - ranks of one caller compare with each other
    return pair[0]
