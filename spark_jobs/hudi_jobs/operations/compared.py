"""Rows compared partition by partition, with what of that is told: as much as a status holds, those that differ first.

A path may be anything, also half a character, and of an erasure it may be a key.
"""

from collections.abc import Callable

from hudi_jobs.contract import OperationPhase
from hudi_jobs.contract.operations.told import (
    LONGEST_PATH,
    MOST_CHARACTERS,
    MOST_COMPARED,
    ComparedPartition,
    Comparison,
)
from hudi_jobs.operations.record import Part, Rows
from hudi_jobs.operations.rows import by_partition, difference
from hudi_jobs.operations.work import Work

HIDDEN = "(not shown: it holds a key)"


def compare(work: Work, expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False) -> str | None:
    """Tell what the comparison shows, and return a sentence where the rows differ. No path is told that `hides`."""
    work.tell(OperationPhase.VERIFYING, compared(expected, found, hides=hides))
    return difference(expected, found)


def compared(expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False) -> Comparison:
    """Return what is told of two states of a table."""
    every = partitions(expected, found, hides=hides)
    listed: list[ComparedPartition] = []
    characters = 0
    for each in every[:MOST_COMPARED]:
        characters += len(each.path)
        if characters > MOST_CHARACTERS:
            break
        listed.append(each)
    there = len(every) if every else max(expected.partitions, found.partitions)
    return Comparison(
        checksum_after=str(found.checksum),
        different=sum(not each.equal for each in every) if every or not there else None,
        listed=tuple(listed),
        left_out=there - len(listed),
    )


def partitions(
    expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False
) -> list[ComparedPartition]:
    """Return all partitions, none where there were more than a record keeps."""
    before, after = by_partition(expected, found)
    every = [_partition(path, before.get(path), after.get(path), hides) for path in before.keys() | after.keys()]
    return sorted(every, key=lambda each: (each.equal, each.path))


def _partition(path: str, before: Part | None, after: Part | None, hides: Callable[[str], bool]) -> ComparedPartition:
    shown = path.encode(errors="replace").decode()
    return ComparedPartition(
        path=HIDDEN if hides(path) else shown[:LONGEST_PATH],
        rows=before.rows if before is not None else 0,
        rows_after=after.rows if after is not None else 0,
        checksum=str(before.checksum if before is not None else 0),
        checksum_after=str(after.checksum if after is not None else 0),
        equal=before == after,
    )
