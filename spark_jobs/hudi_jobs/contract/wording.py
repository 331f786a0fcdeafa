"""Numbers and lists in sentences for people."""

from collections.abc import Collection
from itertools import islice


def counted(number: int, thing: str, several: str | None = None) -> str:
    """Return `1 file`, `2 files`, `1,000 files`; `several` where the plural has no `s` alone."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {several or f'{thing}s'}"


def listed(names: Collection[object], most: int, *, count: int | None = None) -> str:
    """Return `a, b and 3 more`: the first of the names, and how many there are besides; there are `count` in all."""
    shown = list(map(str, islice(names, most)))
    left = (len(names) if count is None else count) - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left > 0 else "")
