"""Removes data files without an instant, as writers leave them that die before a rollback (RemoveOrphanFiles).

Files that a reader sees stay, whatever the timeline says: readers take files of instants from before the active
timeline for committed (`HoodieTimeline.isBeforeTimelineStarts`), and their rows would be lost. Files that the metadata
table lists stay as well. The list of files is stored below the table before the first removal, and later runs remove
only files in that list.
"""

import json
import time
from collections.abc import Collection

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.operation import LONGEST_FILE_NAMED, MOST_FILES_NAMED
from hudi_jobs.contract.wording import counted
from hudi_jobs.journal.records import RepairRecord
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.known_files import (
    File,
    Kind,
    Known,
    files_of_table,
    kinds_of,
    known_of,
    paths_in_metadata_table,
    paths_seen,
)
from hudi_jobs.operations.repair.repair_step import (
    Found,
    Step,
    once_begun,
    require_as_the_metadata_table,
    require_at_rest,
    require_no_heartbeat,
    rows_to_keep,
)
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import Folder, located
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.unfinished_work import Others

MOST_REMOVED = 10_000
"""Most files to remove in an operation; the next operation removes more."""

_LIST_LIMIT = 8_000_000
_THAT_FILE_ONLY = False


def _look(work: OperationRun) -> Found:
    _require_alone(work)
    until = _now(work) - _age(work)
    found = _Orphans(work, until)
    orphans, size = found.removable(), sum(file.size for file in found.removable())
    more = f", the first of {len(found.orphans):,}" if len(found.orphans) > len(orphans) else ""
    what = f"remove {counted(len(orphans), 'file')} with {counted(size, 'byte')} that no instant accounts for{more}"
    what += found.left()
    if not orphans:
        return Found(what, is_nothing=True)
    kept = {
        "expected": rows_to_keep(work),
        "until": until,
        "count": len(orphans),
        "bytes": size,
        "files": tuple(file.path[-LONGEST_FILE_NAMED:] for file in orphans[:MOST_FILES_NAMED]),
    }
    return Found(what, kept)


def _mend(work: OperationRun, record: RepairRecord) -> None:
    found, listed = _look_again(work, record), _listed(work)
    if listed is None:
        listed = _write_list(work, found.removable())
    reach(Phase.PREPARED)
    folder = Folder(work.table.base_path)
    for file in (file for file in found.orphans if file.path in listed):
        if not folder.holds("", file.path):
            raise TaskFailed(
                FailureReason.PATH_OUTSIDE_TABLE, f"{file.path[:LONGEST_FILE_NAMED]} is not a file of a table."
            )
        _remove(work, file)
        reach(Phase.DELETING)


def _look_again(work: OperationRun, record: RepairRecord) -> "_Orphans":
    """Check again before the first removal."""
    with once_begun():
        _require_alone(work)
        return _Orphans(work, _until(record))


def _require_mended(work: OperationRun, record: RepairRecord) -> None:
    listed = _listed(work) or frozenset()
    left = [file.path for file in _Orphans(work, _until(record)).orphans if file.path in listed]
    if left:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"{left[0][-LONGEST_FILE_NAMED:]} is still there.")
    require_as_the_metadata_table(work, record)


class _Orphans:
    """A look at a table's files: those to remove, and those that stay without an instant."""

    def __init__(self, work: OperationRun, until: float) -> None:
        table = HudiTable.existing(work.context.spark, work.table.base_path)
        known: Known = known_of(work, table)
        files = files_of_table(work)
        self._kinds = kinds_of(files, known, until=until)
        unaccounted = self._kinds[Kind.ORPHAN]
        seen = paths_seen(work, table, unaccounted) | paths_in_metadata_table(work, table, unaccounted)
        self.orphans = [file for file in unaccounted if file.path not in seen]
        self._seen = len(unaccounted) - len(self.orphans)

    def removable(self) -> list[File]:
        """Return the files to remove in this operation."""
        return self.orphans[:MOST_REMOVED]

    def left(self) -> str:
        """Return a sentence on the files that stay."""
        counts = (
            (self._seen, "that readers or the metadata table show"),
            (len(self._kinds[Kind.YOUNG]), "that are too young"),
            (len(self._kinds[Kind.UNKNOWN]), "that are none of Hudi's data files, or do not tell who has written them"),
        )
        told = [f"{counted(count, 'file')} {why}" for count, why in counts if count]
        return f"; {', '.join(told)} would stay" if told else ""


def _require_alone(work: OperationRun) -> None:
    with work.obstacles.each():
        require_no_heartbeat(work.context)
    require_at_rest(work, load_timeline(work.context), "such a removal")
    with work.obstacles.each():
        if work.table.meta.getTableConfig().getBootstrapBasePath().isPresent():
            raise refused("The table was bootstrapped: its rows lie in files outside of it.")
    work.obstacles.require_none()


def _now(work: OperationRun) -> float:
    """Return the time by the store's clock, from the lease of this run; a dry run has no lease."""
    ours = time.time()
    return ours if work.operation.dry_run else min(Others(work.context).store_time(), ours)


def _age(work: OperationRun) -> float:
    repair = work.operation.repair
    if repair is None or repair.older_than_seconds is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request does not say from which age on a file may go.")
    return repair.older_than_seconds


def _until(record: RepairRecord) -> float:
    if record.until is None:
        raise TaskFailed(FailureReason.OPERATION_REFUSED, "The record does not say how old the files have to be.")
    return record.until


def _list_name(work: OperationRun) -> str:
    return f"orphans-{work.operation.uid}.json"


def _listed(work: OperationRun) -> frozenset[str] | None:
    """Return the paths that the first run listed; None when it stored no list."""
    found = open_table_files(work.context.spark, work.table.base_path, limit=_LIST_LIMIT).read(_list_name(work))
    if found is None:
        return None
    try:
        return frozenset(str(each["path"]) for each in json.loads(found[0])["files"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"The list of orphans {_list_name(work)} is damaged, so nothing more is removed; remove the list."
        raise TaskFailed(FailureReason.OPERATION_REFUSED, message) from error


def _write_list(work: OperationRun, orphans: Collection[File]) -> frozenset[str]:
    """Store the list of files to remove, as many as fit, and return their paths."""
    lines, size = [], 0
    for file in orphans:
        line = json.dumps({"path": file.path, "bytes": file.size, "changed": file.changed})
        size += len(line) + 2
        if size > _LIST_LIMIT - 1_000:
            break
        lines.append(line)
    content = '{"files": [\n' + ",\n".join(lines) + "\n]}\n"
    files = open_table_files(work.context.spark, work.table.base_path, limit=_LIST_LIMIT)
    with stage("The list of orphans cannot be written", otherwise=FailureReason.HUDI_ERROR):
        files.write(_list_name(work), content.encode(), expected=None)
    return frozenset(file.path for file in list(orphans)[: len(lines)])


def _remove(work: OperationRun, file: File) -> None:
    with stage("A file that no instant accounts for cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        filesystem, path = located(work.context.spark, work.table.base_path, file.path)
        filesystem.delete(path, _THAT_FILE_ONLY)


REMOVE_ORPHAN_FILES = Step(_look, _mend, _require_mended)
