"""Measures the files that savepoints keep from cleaning, and whether the listed files exist.

A savepoint holds back the files that a clean would delete without savepoints. Hudi makes that plan in memory, over all
partitions, because its incremental plan skips unchanged ones. It runs for tables with savepoints and few files, after a
clean, even one inside a write: then no other file is left to delete.
"""

import logging
from collections.abc import Callable

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import HeldBack
from hudi_jobs.filesystem import sizes_of
from hudi_jobs.services.client import write_client
from hudi_jobs.services.preparation import load_timeline
from hudi_jobs.services.timeline import Timeline
from hudi_jobs.table import saved_files

_CLEANS_INSIDE = "hoodie.clean.automatic"
_MOST_SAVEPOINTS = 10
_MOST_FILES = 20_000
"""The most files listed by savepoints; with more, the held-back files are not reported."""

_MOST_FOLDERS = 500
"""The most folders to list in turn; with more, missing files are not reported."""

_LOGGER = logging.getLogger(__name__)


def held_back(context: TaskContext, timeline: Timeline) -> tuple[HeldBack, ...]:
    """Return the files held back by the newest savepoints; empty if unknown, without failing the service."""
    return _if_known(lambda: _held_back(context, timeline))


def held_back_after_writes(context: TaskContext, since: str) -> tuple[HeldBack, ...]:
    """Return the same if writes clean and a clean follows the instant `since`; empty otherwise."""
    if context.task.hudi_options.get(_CLEANS_INSIDE) != "true" or context.stopping.is_set():
        return ()

    def look() -> tuple[HeldBack, ...]:
        timeline = load_timeline(context)
        has_cleaned = any(action == "clean" and instant > since for instant, action in timeline.completed())
        return _held_back(context, timeline) if has_cleaned else ()

    return _if_known(look)


def _if_known(look: Callable[[], tuple[HeldBack, ...]]) -> tuple[HeldBack, ...]:
    try:
        return look()
    except Exception:
        _LOGGER.warning("what savepoints hold back is not known", exc_info=True)
        return ()


def _held_back(context: TaskContext, timeline: Timeline) -> tuple[HeldBack, ...]:
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
    listed: set[str] = set().union(*saved.values())
    has_few = len({path.rpartition("/")[0] for path in listed}) <= _MOST_FOLDERS
    sizes = sizes_of(context.spark, context.task.table.base_path, listed if has_few else listed & free)
    return tuple(_told(instant, paths, free, sizes, counts=has_few) for instant, paths in saved.items())


def _told(instant: str, paths: set[str], free: set[str], sizes: dict[str, int], *, counts: bool) -> HeldBack:
    held = [sizes[path] for path in paths & free if path in sizes]
    return HeldBack(
        instant=instant, files=len(held), bytes=sum(held), missing=len(paths - sizes.keys()) if counts else None
    )
