"""The shapes of tables on which every operation is killed: type, metadata table, concurrency and table version."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

from tests.spark_jobs.operations.asked import LOCK
from tests.spark_jobs.trials import LEASE

from hudi_jobs.contract import ConcurrencyMode

OPTIMISTIC = ConcurrencyMode.OPTIMISTIC


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape."""

    type: str
    metadata: bool
    concurrency: ConcurrencyMode
    version: int

    def __str__(self) -> str:
        table = {"CopyOnWrite": "cow", "MergeOnRead": "mor"}[self.type]
        return f"{table}-{self.version}-{self.concurrency.lower()}{'-metadata' if self.metadata else ''}"

    @property
    def is_merged(self) -> bool:
        """Whether the table has log files."""
        return self.type == "MergeOnRead"

    def declare(self, lake: Any) -> None:
        """Have a table that is not there yet be made so."""
        lake.table, lake.metadata_table, lake.lease = {"type": self.type}, self.metadata, LEASE
        lake.spec = {"tableVersion": self.version, "concurrency": {"mode": self.concurrency}}
        lake.options = dict(LOCK) if self.concurrency is OPTIMISTIC else {}

    @property
    def values(self) -> tuple[tuple[str, Any], ...]:
        """What a shape is made of."""
        return tuple(vars(self).items())

    def timeline(self, lake: Any) -> Path:
        """The folder of the active timeline."""
        return Path(lake.folder, "table/.hoodie" if self.version == 6 else "table/.hoodie/timeline")


SHAPES = tuple(
    Shape(type=kind, metadata=metadata, concurrency=concurrency, version=version)
    for kind, metadata, concurrency, version in product(
        ("CopyOnWrite", "MergeOnRead"), (True, False), (ConcurrencyMode.SERIALIZED, OPTIMISTIC), (9, 6)
    )
)


def spread(shapes: list[Shape], first: int) -> list[Shape]:
    """Order shapes so that the first few differ most: the next one has the most pairs, then triples, not seen yet."""
    found, left = [shapes[first]], [*shapes[:first], *shapes[first + 1 :]]
    while left:
        seen = [{group for shape in found for group in combinations(shape.values, size)} for size in (2, 3)]
        new = [
            tuple(len(set(combinations(shape.values, size)) - known) for size, known in zip((2, 3), seen, strict=True))
            for shape in left
        ]
        found.append(left.pop(new.index(max(new))))
    return found
