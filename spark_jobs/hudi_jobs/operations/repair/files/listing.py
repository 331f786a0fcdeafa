"""Lists every file below a table's folder, except in Hudi's and the operator's folders."""

from collections.abc import Iterator
from pathlib import Path

from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import children_of, located, statuses_below
from hudi_jobs.jvm import JavaObject
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.files.orphans import File

MOST_FILES = 500_000
"""Most file names to hold in the driver's memory."""

_RESERVED = frozenset({".hoodie", OPERATOR_FOLDER})


def files_of_table(work: OperationRun) -> list[File]:
    """Return the files; raise `TaskFailed` when there are too many, or a folder leads elsewhere."""
    filesystem, base = located(work.context.spark, work.table.base_path)
    above = f"{str(base.toUri().getPath()).rstrip('/')}/"
    found: list[File] = []
    with stage("The files of the table cannot be listed", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        for status in _statuses(filesystem, base):
            path = str(status.getPath().toUri().getPath())
            if not path.startswith(above):
                raise refused(f"The store lists {path[-200:]} as a file of the table, which is not below its folder.")
            changed = float(status.getModificationTime()) / 1000
            found.append(File(path.removeprefix(above), int(status.getLen()), changed))
            if len(found) > MOST_FILES:
                raise refused(f"The table has more than {MOST_FILES:,} files, the most that one repair can compare.")
    _require_no_links(work.table.base_path, {file.folder for file in found})
    return found


def _statuses(filesystem: JavaObject, base: JavaObject) -> Iterator[JavaObject]:
    for child in children_of(filesystem, base):
        if str(child.getPath().getName()) in _RESERVED:
            continue
        if child.isFile():
            yield child
            continue
        yield from statuses_below(filesystem, child.getPath())


def _require_no_links(base_path: str, folders: set[str]) -> None:
    """Refuse folders of a local table that are links: their content lies elsewhere."""
    location = Location.parse(base_path)
    if location.store != "file":
        return
    base = Path("/", *location.names).resolve()
    for folder in sorted(folders):
        if (base / folder).resolve() != base / folder:
            raise refused(f"The folder {folder[-200:]} of the table is a link, so its files may lie elsewhere.")
