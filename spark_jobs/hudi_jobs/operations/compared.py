"""Compares rows partition by partition, and reports as much as a status holds, differing partitions first.

A path may hold any character, also half a surrogate pair; in an erasure it may hold a key.
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
from hudi_jobs.journal.record import Part, Rows
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.rows import by_partition, difference

HIDDEN = "(not shown: it holds a key)"


def compare(
    work: OperationRun, expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False
) -> str | None:
    """Report the comparison, and return a sentence when the rows differ; `hides` selects paths to mask."""
    work.set_phase(OperationPhase.VERIFYING, compared(expected, found, hides=hides))
    return difference(expected, found)


def compared(expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False) -> Comparison:
    """Return the reported comparison of two states of a table."""
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
    """Return all partitions; an empty list when a record cannot hold so many."""
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
