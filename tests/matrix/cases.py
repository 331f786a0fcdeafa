"""What the matrix is made of, and which of its cases a run takes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass

VERSIONS = ("0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0")
TYPES = ("CopyOnWrite", "MergeOnRead")
STYLES = ("dataframe", "sql", "hive", "encoded", "timestamp", "unpartitioned", "no-meta-fields")
ZONES = ("UTC", "Asia/Tokyo", "America/New_York")
"""UTC is noted in the table; in the other zones the table says nothing, and instants are those of the writer's JVM."""

STATES = ("nothing", "compaction", "clustering", "dead-write", "live-write", "savepoint")
METADATA = (True, False)


@dataclass(frozen=True)
class MatrixCase:
    """A table that another tool has made."""

    version: str
    kind: str
    style: str
    zone: str
    state: str
    metadata_table: bool

    def __str__(self) -> str:
        table = "metadata" if self.metadata_table else "plain"
        kind = "mor" if self.kind == "MergeOnRead" else "cow"
        return f"{self.version}-{kind}-{self.style}-{self.zone.rpartition('/')[2]}-{self.state}-{table}"

    @property
    def can_be(self) -> bool:
        """Only a MergeOnRead table has compactions."""
        return self.state != "compaction" or self.kind == "MergeOnRead"


LOSSES = (
    # A compaction is pending, delta commits follow it, and there is no metadata table.
    MatrixCase("0.15.0", "MergeOnRead", "dataframe", "UTC", "compaction", metadata_table=False),
    # Hudi's own defaults of a DataFrame; a metadata table that must not be upgraded.
    MatrixCase("0.14.0", "CopyOnWrite", "dataframe", "America/New_York", "clustering", metadata_table=True),
    # A key generator that is not the operator's.
    MatrixCase("1.1.1", "MergeOnRead", "timestamp", "UTC", "dead-write", metadata_table=False),
    # A writer that lives.
    MatrixCase("0.15.0", "CopyOnWrite", "hive", "Asia/Tokyo", "live-write", metadata_table=True),
    MatrixCase("1.0.2", "CopyOnWrite", "encoded", "UTC", "savepoint", metadata_table=True),
)
"""The losses that are known from before there was a matrix; `test_instant_order.py` has those of local time."""
SAMPLE = LOSSES[:3]
"""Without the last two: `writers/test_optimistic.py` has a writer that lives, and no other case would start 1.0.2."""


def every_case() -> Iterator[MatrixCase]:
    """Yield every case that can be."""
    values = itertools.product(VERSIONS, TYPES, STYLES, ZONES, STATES, METADATA)
    return (case for case in itertools.starmap(MatrixCase, values) if case.can_be)


def covering(cases: Sequence[MatrixCase], *, given: Sequence[MatrixCase] = ()) -> tuple[MatrixCase, ...]:
    """Return a few of these cases in which every pair of two values meets that meets in any; `given` ones come first.

    Each case is the one that brings most pairs that no case before it has; the first of several.
    """
    left = set().union(*map(_pairs, cases)).difference(*map(_pairs, given))
    chosen = list(given)
    while left:
        best = max(cases, key=lambda case: len(_pairs(case) & left))
        chosen.append(best)
        left -= _pairs(best)
    return tuple(chosen)


def _pairs(case: MatrixCase) -> frozenset[tuple[tuple[int, object], ...]]:
    return frozenset(itertools.combinations(enumerate(astuple(case)), 2))


def chosen() -> tuple[MatrixCase, ...]:
    """Return the cases of this run, those of one writer after each other."""
    # Functions, because choosing the pairs takes seconds, and every collection of tests imports this module.
    cases: dict[str, Callable[[], tuple[MatrixCase, ...]]] = {
        "sample": lambda: SAMPLE,
        "pairs": lambda: covering(tuple(every_case()), given=LOSSES),
        "all": lambda: tuple(every_case()),
    }
    return tuple(sorted(cases[extent()](), key=lambda case: (case.version, case.zone, str(case))))


def extent() -> str:
    """Return how much is run: a `sample` by default, `pairs`, or `all`."""
    return os.environ.get("MATRIX", "sample")
