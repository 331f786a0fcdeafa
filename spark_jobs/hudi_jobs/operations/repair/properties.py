"""RestoreProperties: `hoodie.properties` is written again from its backup, where it is missing or damaged.

Hudi keeps a backup while it writes the file, and removes it afterwards (`HoodieTableConfig.modify`). Its own `recover`
does the work, and its readers take the backup meanwhile. An empty file, or one without a checksum, they do not open.
"""

from hudi_jobs.classification import stage
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.filesystem import located
from hudi_jobs.jvm import JavaObject, classes
from hudi_jobs.operations.check import busy
from hudi_jobs.operations.refusal import refused, require_nobody_at_work
from hudi_jobs.operations.repair.copies import checksum_of, is_there, keep_copy, remove, require_copy
from hudi_jobs.operations.repair.record import RepairRecord
from hudi_jobs.operations.repair.step import Found, Step
from hudi_jobs.operations.work import Work
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.others import Others
from hudi_jobs.services.preparation import load_timeline

_FILE, _BACKUP = ".hoodie/hoodie.properties", ".hoodie/hoodie.properties.backup"
_CHECKSUM = "hoodie.table.checksum"


def _look(work: Work) -> Found:
    require_nobody_at_work(busy(work.context, load_timeline(work.context)))
    if _is_sound(work, _FILE):
        raise refused(f"{_FILE} is sound: its checksum is that of what it says.")
    if not _is_sound(work, _BACKUP):
        raise refused(f"{_BACKUP} is not there, or its checksum is not that of what it says; write {_FILE} by hand.")
    others = Others(work.context)
    if any(others.was_written_lately(file) for file in (_FILE, _BACKUP)):
        raise refused(f"{_FILE} or its backup was written a moment ago, so a tool may be at it; wait some minutes.")
    damaged = {"file": _FILE, "checksum": checksum_of(work, _FILE)} if is_there(work, _FILE) else {}
    return Found(f"write {_FILE} from its backup, and keep a copy of what is there", damaged)


def _mend(work: Work, record: RepairRecord) -> None:
    if _is_sound(work, _FILE):
        return
    if record.checksum is not None and is_there(work, _FILE):
        keep_copy(work, _FILE, record.checksum)
        reach(Phase.PREPARED)
        remove(work, _FILE)
    meta = work.table.meta
    config = classes(work.context.spark).org.apache.hudi.common.table.HoodieTableConfig
    with stage(f"{_FILE} cannot be written", otherwise=FailureReason.HUDI_ERROR):
        config.recover(meta.getStorage(), meta.getMetaPath())


def _require_mended(work: Work, record: RepairRecord) -> None:
    if not _is_sound(work, _FILE):
        raise TaskFailed(FailureReason.HUDI_ERROR, f"Hudi did not write {_FILE} again; see the driver's log.")
    if record.checksum is not None:
        require_copy(work, _FILE, record.checksum)


def _is_sound(work: Work, file: str) -> bool:
    """Tell whether a file holds the properties of a table, with the checksum that Hudi gives them."""
    jvm = classes(work.context.spark)
    with stage(f"{file} cannot be read", otherwise=FailureReason.STORAGE_UNAVAILABLE):
        if not is_there(work, file):
            return False
        properties = _properties(work, file)
    if not all(properties.getProperty(key) for key in ("hoodie.table.name", "hoodie.table.type", _CHECKSUM)):
        return False
    stored, config = str(properties.getProperty(_CHECKSUM)), jvm.org.apache.hudi.common.table.HoodieTableConfig
    return stored.isascii() and stored.isdigit() and bool(int(stored) == config.generateChecksum(properties))


def _properties(work: Work, file: str) -> JavaObject:
    jvm = classes(work.context.spark)
    filesystem, path = located(work.context.spark, work.table.base_path, file)
    properties = jvm.java.util.Properties()
    stream = filesystem.open(path)
    try:
        properties.load(stream)
    finally:
        stream.close()
    return properties


RESTORE_PROPERTIES = Step(_look, _mend, _require_mended)
