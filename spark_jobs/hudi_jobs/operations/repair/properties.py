"""Restores a missing or damaged `hoodie.properties` from its backup (RestoreProperties).

Hudi keeps a backup while it writes the file, and removes it afterwards (`HoodieTableConfig.modify`). Its `recover` does
the work, and readers use the backup meanwhile. A file that is empty or cut before its checksum prevents opening the
table (`HoodieTableConfig`), and a file cut later may give wrong properties. So a damaged file is moved aside first.
"""

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, RepairStep, TableOperation
from hudi_jobs.contract.table.properties import differences, differences_message
from hudi_jobs.journal.records import RepairRecord
from hudi_jobs.lease.owner import require_not_owned_elsewhere
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.check import busy
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused, require_nobody_at_work
from hudi_jobs.operations.repair.repair_step import (
    Found,
    Step,
    checksum_of,
    content_of,
    is_there,
    keep_copy,
    remove,
    require_copy,
    require_no_heartbeat,
)
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import JavaObject, classes, texts
from hudi_jobs.table_services.preparation import load_timeline
from hudi_jobs.table_services.unfinished_work import Others

_FILE, _BACKUP = ".hoodie/hoodie.properties", ".hoodie/hoodie.properties.backup"
_CHECKSUM = "hoodie.table.checksum"
_WOULD = f"restore {_FILE} from its backup, and keep a copy of the current file"


def _look(work: OperationRun) -> Found:
    with work.obstacles.each():
        require_no_heartbeat(work.context)
    with work.obstacles.each():
        require_nobody_at_work(busy(work.context, load_timeline(work.context)))
    if _is_sound(work.context, _FILE):
        raise refused(f"{_FILE} is intact: its last line is whole, and its checksum matches its content.")
    _require_backup(work.context)
    damaged = {"file": _FILE, "checksum": checksum_of(work.context, _FILE)} if is_there(work.context, _FILE) else {}
    return Found(_WOULD, damaged)


def _mend(work: OperationRun, record: RepairRecord) -> None:
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
    """Tell whether the file is an earlier run's unfinished copy: a prefix of the backup."""
    return is_there(context, _BACKUP) and content_of(context, _BACKUP).startswith(content_of(context, _FILE))


def _require_mended(work: OperationRun, record: RepairRecord) -> None:
    if not _is_sound(work.context, _FILE):
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi did not restore {_FILE}; see the driver's log.")
    if record.checksum is not None:
        require_copy(work.context, _FILE, record.checksum)


def set_unreadable_aside(context: TaskContext, operation: TableOperation) -> None:
    """Move aside a file that prevents opening the table, so that readers use the backup.

    Nobody can newly open the table meanwhile, and programs that have it open do not read the file again. Raises
    `TaskFailed` before any write when the backup cannot replace the file, or beside a heartbeat; pending instants are
    checked once the table is readable.
    """
    if not _is_unreadable(context, operation):
        return
    require_no_heartbeat(context)
    _require_backup(context)
    require_not_owned_elsewhere(open_table_files(context.spark, context.task.table.base_path), context.task)
    keep_copy(context, _FILE, checksum_of(context, _FILE))
    remove(context, _FILE)


def would_set_aside(context: TaskContext, operation: TableOperation) -> str | None:
    """Return the action for a table that cannot be opened; None for a readable table or another step."""
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
    """Return the properties of a complete file with the entries that Hudi needs to open a table; else None.

    Writers end each line with a newline (`java.util.Properties.store`), and the checksum covers only two names.
    """
    content = content_of(context, file)
    properties = _properties(context, content)
    needed = ("hoodie.table.name", "hoodie.table.type", _CHECKSUM)
    is_whole = all(properties.getProperty(key) for key in needed) and content.endswith(b"\n")
    return properties if is_whole else None


def _require_backup(context: TaskContext) -> None:
    """Raise `TaskFailed` when the backup is damaged, of another table, or modified just now."""
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
    """Tell whether a file holds table properties with Hudi's valid checksum."""
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
