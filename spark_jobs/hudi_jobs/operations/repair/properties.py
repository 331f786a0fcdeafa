"""RestoreProperties: `hoodie.properties` is written again from its backup, where it is missing or damaged.

Hudi keeps a backup while it writes the file, and removes it afterwards (`HoodieTableConfig.modify`). Its own `recover`
does the work, and its readers take the backup meanwhile. An empty file, or one that breaks off before its checksum,
keeps them from opening the table (`HoodieTableConfig`), and one that breaks off later may say something else of it. So
such a file is moved aside before.
"""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, RepairStep, TableOperation
from hudi_jobs.contract.table.properties import differences, differences_message
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.jvm import JavaObject, classes, texts
from hudi_jobs.lease.owner import require_not_owned_elsewhere
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.check import busy
from hudi_jobs.operations.refusal import refused, require_nobody_at_work
from hudi_jobs.operations.repair.alone import require_no_heartbeat
from hudi_jobs.operations.repair.files.copies import (
    checksum_of,
    content_of,
    is_there,
    keep_copy,
    remove,
    require_copy,
)
from hudi_jobs.operations.repair.record import RepairRecord
from hudi_jobs.operations.repair.step import Found, Step
from hudi_jobs.operations.work import Work
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.others import Others
from hudi_jobs.services.preparation import load_timeline

_FILE, _BACKUP = ".hoodie/hoodie.properties", ".hoodie/hoodie.properties.backup"
_CHECKSUM = "hoodie.table.checksum"
_WOULD = f"restore {_FILE} from its backup, and keep a copy of the current file"


def _look(work: Work) -> Found:
    with work.obstacles.each():
        require_no_heartbeat(work.context)
    with work.obstacles.each():
        require_nobody_at_work(busy(work.context, load_timeline(work.context)))
    if _is_sound(work.context, _FILE):
        raise refused(f"{_FILE} is intact: its last line is whole, and its checksum matches its content.")
    _require_backup(work.context)
    damaged = {"file": _FILE, "checksum": checksum_of(work.context, _FILE)} if is_there(work.context, _FILE) else {}
    return Found(_WOULD, damaged)


def _mend(work: Work, record: RepairRecord) -> None:
    if _is_sound(work.context, _FILE):
        return
    if is_there(work.context, _FILE):
        if checksum_of(work.context, _FILE) == record.checksum or not _is_begun_copy(work.context):
            keep_copy(work.context, _FILE, str(record.checksum))
            reach(Phase.PREPARED)
        remove(work.context, _FILE)
    meta = work.table.meta
    config = classes(work.context.spark).org.apache.hudi.common.table.HoodieTableConfig
    with stage(f"{_FILE} cannot be written", otherwise=FailureReason.HUDI_ERROR):
        config.recover(meta.getStorage(), meta.getMetaPath())


def _is_begun_copy(context: TaskContext) -> bool:
    """Tell whether the file is what an earlier run has begun to write: the beginning of the backup."""
    return is_there(context, _BACKUP) and content_of(context, _BACKUP).startswith(content_of(context, _FILE))


def _require_mended(work: Work, record: RepairRecord) -> None:
    if not _is_sound(work.context, _FILE):
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi did not restore {_FILE}; see the driver's log.")
    if record.checksum is not None:
        require_copy(work.context, _FILE, record.checksum)


def set_unreadable_aside(context: TaskContext, operation: TableOperation) -> None:
    """Move a file aside that keeps Hudi from opening the table at all; its readers take the backup from then on.

    Nobody can have the table open anew meanwhile, and who has it open does not read the file again. Raises
    `TaskFailed`, with nothing written, where the backup cannot take its place, or beside a heartbeat: what has begun is
    looked at once the table can be read.
    """
    if not _is_unreadable(context, operation):
        return
    require_no_heartbeat(context)
    _require_backup(context)
    require_not_owned_elsewhere(open_table_files(context.spark, context.task.table.base_path), context.task)
    keep_copy(context, _FILE, checksum_of(context, _FILE))
    remove(context, _FILE)


def would_set_aside(context: TaskContext, operation: TableOperation) -> str | None:
    """Return what would be done to a table that cannot be opened; None where it can, or another step is asked for."""
    if not _is_unreadable(context, operation):
        return None
    require_no_heartbeat(context)
    _require_backup(context)
    return _WOULD


def _is_unreadable(context: TaskContext, operation: TableOperation) -> bool:
    if operation.repair is None or operation.repair.step is not RepairStep.RESTORE_PROPERTIES:
        return False
    with stage(f"{_FILE} cannot be read", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        return is_there(context, _FILE) and _whole(context, _FILE) is None


def _whole(context: TaskContext, file: str) -> JavaObject | None:
    """Return the properties of a file with what Hudi needs to open a table, whose last line is whole; else None.

    What writes the file ends each line (`java.util.Properties.store`), and its checksum is one of two names alone.
    """
    content = content_of(context, file)
    properties = _properties(context, content)
    needed = ("hoodie.table.name", "hoodie.table.type", _CHECKSUM)
    is_whole = all(properties.getProperty(key) for key in needed) and content.endswith(b"\n")
    return properties if is_whole else None


def _require_backup(context: TaskContext) -> None:
    """Raise `TaskFailed` where the backup is not sound, not of this table, or may just be written."""
    if not _is_sound(context, _BACKUP):
        raise refused(f"{_BACKUP} is missing, or its checksum does not match its content; write {_FILE} by hand.")
    others = Others(context)
    if any(others.was_written_lately(file) for file in (_FILE, _BACKUP)):
        raise refused(
            f"{_FILE} or its backup was modified a moment ago, so a tool may be writing it; wait a few minutes."
        )
    found = differences(
        texts(context.spark, _properties(context, content_of(context, _BACKUP))),
        context.task.table,
        ingests=False,
    )
    if any(one.stops for one in found):
        raise refused(f"{_BACKUP} is not as declared. {differences_message(found)}")


def _is_sound(context: TaskContext, file: str) -> bool:
    """Tell whether a file holds the properties of a table, with the checksum that Hudi gives them."""
    with stage(f"{file} cannot be read", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        properties = _whole(context, file) if is_there(context, file) else None
    if properties is None:
        return False
    jvm = classes(context.spark)
    stored, config = str(properties.getProperty(_CHECKSUM)), jvm.org.apache.hudi.common.table.HoodieTableConfig
    return stored.isascii() and stored.isdigit() and bool(int(stored) == config.generateChecksum(properties))


def _properties(context: TaskContext, content: bytes) -> JavaObject:
    jvm = classes(context.spark)
    properties = jvm.java.util.Properties()
    properties.load(jvm.java.io.ByteArrayInputStream(content))
    return properties


RESTORE_PROPERTIES = Step(_look, _mend, _require_mended)
