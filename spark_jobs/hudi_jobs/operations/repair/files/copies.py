"""Copies files that a repair removes to `.hudi-operator/removed/`, in a folder of the operation."""

import hashlib

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import located, read_bytes
from hudi_jobs.jvm import JavaObject, classes, hadoop_configuration
from hudi_jobs.operations.refusal import refused

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
