"""What every step of a repair needs: a table that nobody else works on, copies of files, and counts of rows."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason
from hudi_jobs.journal.records import RepairRecord, Rows
from hudi_jobs.operations.check import busy
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import UNCHANGED, refused, require_nobody_at_work
from hudi_jobs.operations.restore_steps import has_metadata_table
from hudi_jobs.operations.rows import difference, rows_now
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import children_of, located, read_bytes, statuses_below
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration
from hudi_jobs.table_services.timeline import Begun, Timeline
from hudi_jobs.table_services.unfinished_work import HEARTBEATS, Others


@dataclass(frozen=True)
class Found:
    """The findings of a step: its effect, as in "roll back the commit X", and the fields for the record.

    When the fields include `expected`, the rows are not counted again. `is_nothing` means that nothing needs repair,
    which is no failure.
    """

    what: str
    kept: dict[str, Any] = field(default_factory=dict)
    is_nothing: bool = False


@dataclass(frozen=True)
class Step:
    """A repair.

    `look` writes nothing, and raises `TaskFailed` when nothing needs repair or others may be at work; a dry run
    collects such obstacles (`Obstacles`). `mend` repairs, can be repeated after a killed run, and returns a changed
    record if any. `require_mended` raises `TaskFailed` when the repair did not succeed.
    """

    look: Callable[[OperationRun], Found]
    mend: Callable[[OperationRun, RepairRecord], RepairRecord | None]
    require_mended: Callable[[OperationRun, RepairRecord], None]


_MARKERS = ".hoodie/.temp"
_SHOWN = 40
_RECURSIVELY = True


def require_instant(work: OperationRun) -> str:
    """Return the instant that the repair names."""
    if work.operation.instant is None:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request names no instant for the repair.")
    return work.operation.instant


def pending_instant(work: OperationRun, timeline: Timeline) -> Begun:
    """Return the pending instant that the repair names; raise `TaskFailed` when it is not pending."""
    instant = require_instant(work)
    found = next((each for each in timeline.begun() if each.instant == instant), None)
    if found is not None:
        return found
    done = next((action for time, action in timeline.completed() if time == instant), None)
    if done is not None:
        raise refused(f"The {done} {instant} has completed. Undo a completed instant with a rollback or a restore.")
    raise refused(f"The timeline has no pending instant {instant}.")


def require_dead(work: OperationRun, named: Begun, timeline: Timeline, files: tuple[str, ...]) -> None:
    """Refuse when the named or another instant shows a sign of life; `files` are the named instant's timeline files."""
    others, check = Others(work.context), work.obstacles.each
    alive = [each for each in timeline.begun() if others.is_alive(each.instant)]
    with check():
        if alive:
            raise refused(
                f"The {alive[0].action} {alive[0].instant} shows a heartbeat, so its writer may be at work; stop that "
                "writer first."
            )
    with check():
        if any(others.was_written_lately(file) for file in (*files, *_newest_marker(work, named.instant))):
            raise refused(
                f"The {named.action} {named.instant} was modified a moment ago, so a tool may be at work on it. Make "
                "sure that the tool has stopped, and create the operation again in a few minutes."
            )
    with check():
        require_nobody_at_work([each for each in busy(work.context, timeline) if each.instant != named.instant])


def _newest_marker(work: OperationRun, instant: str) -> tuple[str, ...]:
    """Return the newest marker of a write, which creates a marker for each file (`DirectWriteMarkers`)."""
    folder = f"{_MARKERS}/{instant}"
    newest, found = 0, ""
    with stage("The markers of a pending write cannot be listed", otherwise=FailureReason.HUDI_ERROR):
        filesystem, place = located(work.context.spark, work.table.base_path, folder)
        if not filesystem.exists(place):
            return ()
        for each in statuses_below(filesystem, place):
            if int(each.getModificationTime()) >= newest:
                newest, found = int(each.getModificationTime()), str(each.getPath().toUri().getPath())
    return (f"{folder}{found.rpartition(folder)[2]}",) if found else ()


def require_no_heartbeat(context: TaskContext) -> None:
    """Refuse while any heartbeat beats, also of a writer without an instant; works on unreadable tables.

    Heartbeats of the metadata table are elsewhere, and runs known to be dead do not count.
    """
    with stage("The heartbeats of writers cannot be listed", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        filesystem, place = located(context.spark, context.task.table.base_path, HEARTBEATS)
        found = children_of(filesystem, place) if filesystem.exists(place) else ()
        names = [str(each.getPath().getName()) for each in found]
        alive = next(filter(Others(context).is_alive, sorted(names)), None)
    if alive is not None:
        raise refused(f"{alive[:_SHOWN]!a} shows a heartbeat, so its writer may be at work; stop that writer first.")


def require_at_rest(work: OperationRun, timeline: Timeline, what: str) -> None:
    """Refuse while anything is pending, whoever began it."""
    begun = timeline.begun()
    with work.obstacles.each():
        require_nobody_at_work(busy(work.context, timeline))
    with work.obstacles.each():
        if begun:
            raise refused(
                f"The {begun[0].action} {begun[0].instant} is pending, and {what} cannot be made beside it; finish it "
                "first, for example with runService."
            )
        for instant in Others(work.context).savepoints_at_work(timeline):
            raise refused(
                f"Another tool has begun a savepoint on {instant} and may be at work, and {what} cannot be made beside "
                "it; try again in some minutes."
            )


@contextmanager
def once_begun() -> Iterator[None]:
    """Turn a refusal into a retryable failure, because a begun repair must finish."""
    try:
        yield
    except TaskFailed as error:
        if error.reason is not FailureReason.OPERATION_REFUSED:
            raise
        message = f"{error.message.removesuffix(UNCHANGED)}The repair has begun; another run continues it."
        raise TaskFailed(FailureReason.CONFLICT, message) from error


REMOVED_FOLDER = f"{OPERATOR_FOLDER}/removed"
_LARGEST = 256 * 2**20
_KEEP_SOURCE, _NEVER_OVER = False, False
_THAT_FILE_ONLY = False


def content_of(context: TaskContext, file: str) -> bytes:
    """Return a file's bytes; raise `TaskFailed` when it is temporarily unreadable, maybe intact, or too large."""
    filesystem, path = _place(context, file)
    with stage(f"{file} cannot be read", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        size = int(filesystem.getFileStatus(path).getLen())
        if size > _LARGEST:
            raise refused(f"{file} has {size:,} bytes, too many for such a file.")
        return read_bytes(context.spark, filesystem, path)


def checksum_of(context: TaskContext, file: str) -> str:
    """Return a checksum of a file's bytes; raises like `content_of`."""
    return hashlib.sha256(content_of(context, file)).hexdigest()


def is_there(context: TaskContext, file: str) -> bool:
    """Tell whether the file exists."""
    filesystem, path = _place(context, file)
    return bool(filesystem.exists(path))


def keep_copy(context: TaskContext, file: str, checksum: str) -> None:
    """Copy a file once; raise `TaskFailed` when the file or its copy has other content than `checksum`."""
    filesystem, source = _place(context, file)
    target = _place(context, copy_of(context, file))[1]
    if checksum_of(context, file) != checksum:
        raise refused(f"{file} has changed since it was checked, so it was not removed; create the operation again.")
    with stage(f"{file} cannot be copied", otherwise=FailureReason.HUDI_ERROR):
        if not filesystem.exists(target):
            configuration = hadoop_configuration(context.spark)
            files = classes(context.spark).org.apache.hadoop.fs.FileUtil
            files.copy(filesystem, source, filesystem, target, _KEEP_SOURCE, _NEVER_OVER, configuration)
    require_copy(context, file, checksum)


def require_copy(context: TaskContext, file: str, checksum: str) -> None:
    """Raise `TaskFailed` when the copy differs from the removed file."""
    if checksum_of(context, copy_of(context, file)) != checksum:
        raise TaskFailed(
            FailureReason.HUDI_ERROR, f"{copy_of(context, file)} is not a copy of the original file; inspect it."
        )


def remove(context: TaskContext, file: str) -> None:
    """Remove a file."""
    filesystem, path = _place(context, file)
    with stage(f"{file} cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        filesystem.delete(path, _THAT_FILE_ONLY)


def copy_of(context: TaskContext, file: str) -> str:
    """Return the path of a file's copy, relative to the table."""
    operation = context.asked_operation
    assert operation is not None, "only an operation repairs"
    return f"{REMOVED_FOLDER}/{operation.uid}/{file.rpartition('/')[2]}"


def _place(context: TaskContext, file: str) -> tuple[JavaObject, JavaObject]:
    return located(context.spark, context.task.table.base_path, file)


def rows_to_keep(work: OperationRun) -> Rows:
    """Return the rows; refuse when readers of the metadata table see other rows, because one view is wrong."""
    rows = rows_now(work.context)
    wrong = difference(rows, rows_now(work.context, metadata_table=True)) if has_metadata_table(work.context) else None
    if wrong is not None:
        raise refused(
            f"Readers that use the metadata table see other rows than readers that list files: {wrong} Rebuild the "
            "metadata table first (repair.rebuildMetadataTable)."
        )
    return rows


def require_as_the_metadata_table(work: OperationRun, record: RepairRecord) -> None:
    """Raise `TaskFailed` when readers of the metadata table see other rows than expected."""
    if record.expected is None or not has_metadata_table(work.context):
        return
    wrong = difference(record.expected, rows_now(work.context, metadata_table=True))
    if wrong is not None:
        raise work.not_verified(
            record,
            f"The repair {record.step} is done, but readers that use the metadata table see other rows: {wrong} "
            "Rebuild the metadata table (repair.rebuildMetadataTable), and find out what else has written to the "
            "table.",
        )
