"""Deletion: removes a table's whole folder, and nothing else."""

from urllib.parse import unquote

from hudi_jobs.catalogs.sync import drop_entries
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location, NotALocation, Outcome, TaskResult
from hudi_jobs.contract.wording import counted
from hudi_jobs.exclusive import with_lease
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import children_of, delete_whole, located, require_nothing_outside, statuses_below
from hudi_jobs.spark.jvm import JavaObject, classes
from hudi_jobs.table_services.preparation import nothing

_META_FOLDER = ".hoodie"
_PROPERTIES = "hoodie.properties"


def delete(context: TaskContext) -> TaskResult:
    """Delete the table's folder.

    The files that identify the table go last, so that a run after a crash halfway still recognises the folder, and
    after them the operator's own folder with the leases and the owner record.
    """
    base_path = context.task.table.base_path
    _require_folder(base_path)
    with stage("The table cannot be deleted", otherwise=FailureReason.HUDI_ERROR):
        filesystem, folder = located(context.spark, base_path)
        if not filesystem.exists(folder):
            return nothing(context, f"There is nothing at {base_path}.")
        _require_table(context, filesystem, folder)
    result = with_lease(context, lambda _: _delete_data(context, filesystem, folder))
    if result.outcome is Outcome.SUCCEEDED:
        with stage("The operator's folder in the table cannot be deleted", otherwise=FailureReason.HUDI_ERROR):
            delete_whole(context.spark, filesystem, folder)
    return result


def _delete_data(context: TaskContext, filesystem: JavaObject, folder: JavaObject) -> TaskResult:
    with stage("The table cannot be deleted", otherwise=FailureReason.HUDI_ERROR):
        _require_table(context, filesystem, folder)
        require_nothing_outside(context.spark, filesystem, folder)
        files, size = _extent(context, filesystem, folder)
    entries = drop_entries(context)  # before the data, so that no reader finds an entry without a table
    with stage("The table cannot be deleted", otherwise=FailureReason.HUDI_ERROR):
        _delete(context, filesystem, folder)
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.SUCCEEDED,
        message=f"Deleted {counted(files, 'file')} and {counted(size, 'byte')} at {context.task.table.base_path}. "
        f"{entries}".rstrip(),
        files_deleted=files,
        bytes_deleted=size,
    )


def _extent(context: TaskContext, filesystem: JavaObject, folder: JavaObject) -> tuple[int, int]:
    """Return the table's number of files and bytes, without the operator's folder."""
    own = classes(context.spark).org.apache.hadoop.fs.Path(folder, OPERATOR_FOLDER)
    everything, ours = filesystem.getContentSummary(folder), filesystem.getContentSummary(own)
    files = int(everything.getFileCount()) - int(ours.getFileCount())
    return files, int(everything.getLength()) - int(ours.getLength())


def _require_folder(base_path: str) -> None:
    """Refuse a path that is not clearly a table's own folder: a bucket, the root, or a path that leads elsewhere."""
    try:
        names = Location.parse(unquote(base_path)).names
    except NotALocation:
        names = ()
    # Hadoop treats these as characters of a name; a URL parser drops them, and may reach another folder.
    is_plain = base_path.isprintable() and not {"?", "#"} & set(base_path)
    if not is_plain or not names or {_META_FOLDER, OPERATOR_FOLDER} & set(names):
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            f"{base_path} is not a table's own folder, so it is not deleted; delete the table's files by hand.",
        )


def _require_table(context: TaskContext, filesystem: JavaObject, folder: JavaObject) -> None:
    """Refuse a folder that holds anything but the declared table."""
    wanted = context.task.table
    if not _exists(context, filesystem, folder, f"{_META_FOLDER}/{_PROPERTIES}"):
        if not _holds_files(filesystem, folder):
            return
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"{wanted.base_path} holds files but no Hudi table, so it is not deleted; inspect the files.",
        )
    name = _table_name(context, filesystem, folder)
    if name != wanted.name:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"{wanted.base_path} holds the table {name}, not {wanted.name}, so it is not deleted.",
        )


def _holds_files(filesystem: JavaObject, folder: JavaObject) -> bool:
    """Tell whether the folder holds any file outside the operator's folder."""
    children = [status.getPath() for status in children_of(filesystem, folder)]
    others = [path for path in children if str(path.getName()) != OPERATOR_FOLDER]
    return any(True for path in others for _ in statuses_below(filesystem, path))


def _table_name(context: TaskContext, filesystem: JavaObject, folder: JavaObject) -> str:
    """Read the name from the properties alone: after a crash halfway nothing else may be left."""
    jvm = classes(context.spark)
    properties = jvm.java.util.Properties()
    stream = filesystem.open(jvm.org.apache.hadoop.fs.Path(folder, f"{_META_FOLDER}/{_PROPERTIES}"))
    try:
        properties.load(stream)
    finally:
        stream.close()
    return str(properties.getProperty("hoodie.table.name"))


def _delete(context: TaskContext, filesystem: JavaObject, folder: JavaObject) -> None:
    """Delete everything but the operator's folder, which still names the owner."""
    meta = classes(context.spark).org.apache.hadoop.fs.Path(folder, _META_FOLDER)
    for keep, parent in (({_META_FOLDER, OPERATOR_FOLDER}, folder), ({_PROPERTIES}, meta)):
        for status in children_of(filesystem, parent) if filesystem.exists(parent) else ():
            if str(status.getPath().getName()) not in keep:
                delete_whole(context.spark, filesystem, status.getPath())
                reach(Phase.DELETING)
    delete_whole(context.spark, filesystem, meta)


def _exists(context: TaskContext, filesystem: JavaObject, folder: JavaObject, name: str) -> bool:
    return bool(filesystem.exists(classes(context.spark).org.apache.hadoop.fs.Path(folder, name)))
