"""Finds savepoints that keep files with keys: a clean keeps a whole file slice when a savepoint lists any of its files.

So a log file that joined the slice later and is in no list stays too (`CleanPlanner`).
"""

from collections.abc import Collection, Iterator
from contextlib import closing
from itertools import chain

from hudi_jobs.jvm import JavaObject, iterated
from hudi_jobs.operations.erase.search.scan import group_of, is_log, located_path
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.reading import with_times
from hudi_jobs.services.timeline import Savepoint
from hudi_jobs.table import names_in, saved_files


def holding_savepoints(
    work: OperationRun, savepoints: Collection[Savepoint], paths: Collection[str]
) -> list[Savepoint]:
    """Return the savepoints that make a clean keep any of the files."""
    if not savepoints:
        return []
    holding = {path.rpartition("/")[2] for path in paths} | _beside(work, {path for path in paths if is_log(path)})
    timeline = work.table.meta.getActiveTimeline()
    kept = ((each, saved_files(timeline, each.instant)) for each in savepoints)
    return [each for each, found in kept if holding & {path.rpartition("/")[2] for path in found}]


def _beside(work: OperationRun, logs: Collection[str]) -> set[str]:
    """Return the names of all files in the slices of the log files."""
    if not logs:
        return set()
    base, context = located_path(work.context, work.table.base_path), work.context
    partitions = {path.removeprefix(base).rpartition("/")[0].strip("/") for path in logs}
    names = {path.rpartition("/")[2] for path in logs}
    groups, found = {group_of(name) for name in names}, set[str]()
    with (
        with_times(context.spark, work.table, context.task.hudi_options) as timed,
        closing(timed.listed_view()) as view,
    ):
        for part in chain.from_iterable(_slices(view, partition) for partition in sorted(partitions)):
            if str(part.getFileId()) in groups:
                inside = set(names_in(part))
                found |= inside if inside & names else set()
    return found


def _slices(view: JavaObject, partition: str) -> Iterator[JavaObject]:
    """Yield the file slices of a partition, also those of replaced file groups."""
    yield from iterated(view.getAllFileSlices(partition).iterator())
    for group in iterated(view.getAllReplacedFileGroups(partition).iterator()):
        yield from iterated(group.getAllFileSlices().iterator())
