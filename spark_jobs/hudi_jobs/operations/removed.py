"""Counts the files that a restore removes: those that the undone commits name and that still exist."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_jobs.context import TaskContext
from hudi_jobs.contract.operations.repair import MOST_FILES_NAMED
from hudi_jobs.filesystem import sizes_of
from hudi_jobs.journal.history import History, Write
from hudi_jobs.table import HudiTable

_MOST_NAMED = 20_000
"""Most files to count; with more, their number and size are left out."""

_MOST_FOLDERS = 10_000
_LONGEST_NAMED = 120
"""Characters; only the end of a path is shown, because an outcome also holds the undone instants."""

_LOG_FILES_GO_FROM = 8
"""The first version where a rollback removes log files; earlier versions append a rollback block."""


@dataclass(frozen=True)
class Removal:
    """The number and total size of the files; `files` are the ends of the first paths."""

    count: int
    bytes: int
    files: tuple[str, ...]


def removal_of(context: TaskContext, table: HudiTable, history: History, gone: Iterable[Write]) -> Removal | None:
    """Return the files that the undone commits wrote; None when there are too many to count."""
    named, folders = set[str](), set[str]()
    count = 0
    for document in history.documents_of(gone, most=_MOST_NAMED):
        for path in _files_in(json.loads(document)) if document is not None else ():
            if table.version >= _LOG_FILES_GO_FROM or ".log." not in path:
                named.add(path)
                folders.add(path.rpartition("/")[0])
                count += 1
        if document is None or count > _MOST_NAMED or len(folders) > _MOST_FOLDERS:
            context.log("the files that go are not counted, because there are too many", files=count)
            return None
    sizes = sizes_of(context.spark, context.task.table.base_path, named)
    first = sorted(sizes, key=lambda path: path.rpartition("/"))[:MOST_FILES_NAMED]
    return Removal(len(sizes), sum(sizes.values()), tuple(path[-_LONGEST_NAMED:] for path in first))


def _files_in(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths below the table that a commit wrote."""
    for stats in (metadata.get("partitionToWriteStats") or {}).values():
        for stat in stats:
            path = str(stat.get("path") or "")
            folder = path.rpartition("/")[0]
            if path:
                yield path
            yield from (f"{folder}/{name}".removeprefix("/") for name in stat.get("logFiles") or ())
            yield from (str(each) for each in stat.get("cdcStats") or ())
