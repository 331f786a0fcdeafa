"""RemoveCorruptPlan: the plan of a pending instant that Hudi cannot read, which keeps every service from planning.

Only a plan that nobody has begun is removed: what an executor has written would be taken for committed once the
instant is older than the active timeline. Before table version 8 log files carry the instant of the compaction that is
pending (`CompactionAdminClient`), and would lose their base file with its plan.
"""

import hashlib

from hudi_jobs.classification import stage
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.jvm import JavaObject, classes, hadoop_configuration
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.alone import pending_instant, require_dead
from hudi_jobs.operations.repair.record import RepairRecord
from hudi_jobs.operations.repair.step import Found, Step
from hudi_jobs.operations.work import Work
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.plans import PLANS, can_be_read
from hudi_jobs.services.preparation import load_timeline

REMOVED_FOLDER = f"{OPERATOR_FOLDER}/removed"
_OWN_INSTANTS_IN_LOGS = 8
_LARGEST_PLAN = 256 * 2**20
_KEEP_SOURCE, _NEVER_OVER = False, False
_THAT_FILE_ONLY = False


def _look(work: Work) -> Found:
    timeline = load_timeline(work.context)
    named = pending_instant(work, timeline)
    if named.action not in PLANS:
        raise refused(f"A {named.action} has no plan; where nobody works on it any more, use rollbackInflight.")
    files = timeline.files_of(named.instant)
    require_dead(work, named, timeline, files)
    if len(files) != 1 or not files[0].endswith(".requested"):
        raise refused(
            f"The {named.action} {named.instant} has been begun, so files of it may be there; its plan is not removed."
        )
    if "compaction" in named.action and work.table.version < _OWN_INSTANTS_IN_LOGS:
        raise refused(
            f"The table has version {work.table.version}, where log files belong to the compaction that is pending: "
            "without its plan readers would miss their base files. Upgrade the table with the tool that wrote it."
        )
    checksum = _checksum(work, files[0])
    if can_be_read(work.context.spark, timeline.meta, named.instant):
        raise refused(f"The plan of the {named.action} {named.instant} can be read; have it finished, or rolled back.")
    what = f"remove the plan of the {named.action} {named.instant}, which cannot be read, and keep a copy of it"
    return Found(what, {"file": files[0], "checksum": checksum})


def _mend(work: Work, record: RepairRecord) -> None:
    file, copy = str(record.file), _copy_of(record)
    filesystem, source = _place(work, file)
    target = _place(work, copy)[1]
    with stage(f"The plan {file} cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        if filesystem.exists(source):
            if _checksum(work, file) != record.checksum:
                raise TaskFailed(FailureReason.CONFLICT, f"{file} has changed since it was looked at; it stays.")
            _copy(work, filesystem, source, target)
            if _checksum(work, copy) != record.checksum:
                raise TaskFailed(FailureReason.HUDI_ERROR, f"{copy} is another file than {file}, which stays.")
            reach(Phase.PREPARED)
            filesystem.delete(source, _THAT_FILE_ONLY)


def _copy(work: Work, filesystem: JavaObject, source: JavaObject, target: JavaObject) -> None:
    if filesystem.exists(target):
        return  # of a run that was killed; the checksum tells
    configuration = hadoop_configuration(work.context.spark)
    files = classes(work.context.spark).org.apache.hadoop.fs.FileUtil
    files.copy(filesystem, source, filesystem, target, _KEEP_SOURCE, _NEVER_OVER, configuration)


def _require_mended(work: Work, record: RepairRecord) -> None:
    pending = {each.instant for each in load_timeline(work.context).begun()}
    if record.instant in pending:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"The plan of {record.instant} is still there.")
    if _checksum(work, _copy_of(record)) != record.checksum:
        raise TaskFailed(FailureReason.HUDI_ERROR, f"{_copy_of(record)} is not the plan that was removed.")


def _copy_of(record: RepairRecord) -> str:
    return f"{REMOVED_FOLDER}/{str(record.file).rpartition('/')[2]}"


def _checksum(work: Work, file: str) -> str:
    """Return a checksum of a file's bytes. What cannot be read now may be sound, so it counts for no corrupt plan."""
    jvm = classes(work.context.spark)
    filesystem, path = _place(work, file)
    with stage(f"{file} cannot be read", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        size = int(filesystem.getFileStatus(path).getLen())
        if size > _LARGEST_PLAN:
            raise refused(f"{file} has {size:,} bytes, which is more than a plan has.")
        stream = filesystem.open(path)
        try:
            content = bytes(jvm.org.apache.hudi.io.util.FileIOUtils.readAsByteArray(stream))
        finally:
            stream.close()
    return hashlib.sha256(content).hexdigest()


def _place(work: Work, file: str) -> tuple[JavaObject, JavaObject]:
    path = classes(work.context.spark).org.apache.hadoop.fs.Path(work.table.base_path, file)
    return path.getFileSystem(hadoop_configuration(work.context.spark)), path


REMOVE_CORRUPT_PLAN = Step(_look, _mend, _require_mended)
