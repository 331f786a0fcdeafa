"""What savepoints keep from being cleaned: the files that a clean would delete if there were no savepoints.

Hudi makes that plan in memory, over all partitions, because its incremental plan skips those that did not change. It is
asked where there are savepoints and few files, after a clean: then nothing else is left to be deleted.
"""

import logging

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import HeldBack
from hudi_jobs.filesystem import located
from hudi_jobs.services.client import write_client
from hudi_jobs.services.preparation import load_timeline
from hudi_jobs.table import saved_files

_MOST_SAVEPOINTS = 10
_MOST_FILES = 20_000
"""That savepoints list; where there are more, nobody is told what they hold back."""

_LOGGER = logging.getLogger(__name__)


def held_back(context: TaskContext) -> tuple[HeldBack, ...]:
    """Return what the newest savepoints hold back, none where it is not known: it is no part of the service."""
    try:
        return _held_back(context)
    except Exception:
        _LOGGER.warning("what savepoints hold back is not known", exc_info=True)
        return ()


def _held_back(context: TaskContext) -> tuple[HeldBack, ...]:
    timeline = load_timeline(context)
    instants = sorted((each.instant for each in timeline.savepoints()), reverse=True)[:_MOST_SAVEPOINTS]
    saved: dict[str, set[str]] = {}
    for instant in instants:
        saved[instant] = saved_files(timeline.meta.getActiveTimeline(), instant)
        if sum(map(len, saved.values())) > _MOST_FILES:
            return ()
    if not saved:
        return ()
    with write_client(context.spark, context.task.table.base_path, context.task.hudi_options) as client:
        free = client.would_clean_without_savepoints()
    sizes = _sizes(context, set().union(*saved.values()) & free)
    found = {instant: [sizes[path] for path in paths if path in sizes] for instant, paths in saved.items()}
    return tuple(HeldBack(instant=one, files=len(each), bytes=sum(each)) for one, each in found.items())


def _sizes(context: TaskContext, paths: set[str]) -> dict[str, int]:
    """Return the sizes of those of some paths below the table that are there."""
    base, found = context.task.table.base_path.rstrip("/"), dict[str, int]()
    for folder in {path.rpartition("/")[0] for path in paths}:
        filesystem, place = located(context.spark, f"{base}/{folder}".rstrip("/"))
        for status in filesystem.listStatus(place) if filesystem.exists(place) else ():
            path = f"{folder}/{status.getPath().getName()}".removeprefix("/")
            if path in paths:
                found[path] = int(status.getLen())
    return found
