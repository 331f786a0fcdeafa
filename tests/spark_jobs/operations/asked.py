"""What the tests of operations ask a driver for, and what they look at."""

from pathlib import Path
from typing import Any

from tests.spark_jobs.services.test_metadata_table import write as overwrite
from tests.spark_jobs.services.test_services import timeline

from hudi_jobs.contract import (
    OPERATOR_FOLDER,
    FailureReason,
    IngestionTask,
    JobRequest,
    NewerSavepoints,
    OperationKind,
    OperationPhase,
    OperationReport,
    Outcome,
    RepairStep,
    RunnableService,
    Service,
    TableOperation,
    TaskResult,
)
from hudi_jobs.contract.operator_folder import TOLD_FILE, OperationTold, decode_told
from hudi_jobs.journal.journal import RECORD_FILE
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.timeline import Timeline

__all__ = ["overwrite", "timeline"]

RESTORE, ROLLBACK = OperationKind.RESTORE, OperationKind.ROLLBACK
UPGRADE, DOWNGRADE = OperationKind.UPGRADE, OperationKind.DOWNGRADE
LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
"""Enough where all writers of a test are in one JVM."""


def request(
    lake: Any,
    instant: str | None,
    kind: OperationKind = RESTORE,
    *,
    uid: str = "uid-of-back",
    dry_run: bool = False,
    only_recorded: bool = False,
    savepoints: NewerSavepoints = NewerSavepoints.REFUSE,
    reingest: bool = True,
    version: int | None = None,
    ingestion: IngestionTask | None = None,
    **changes: Any,
) -> JobRequest:
    operation = TableOperation(
        kind=kind,
        instant=instant,
        resource="team/back",
        uid=uid,
        dry_run=dry_run,
        only_recorded=only_recorded,
        newer_savepoints=savepoints,
        reingest=reingest,
        table_version=version,
    )
    asked: JobRequest = lake.service_request(Service.OPERATION, **changes)
    template: Any = asked.tasks[0]
    task = template.copy_with(operation=operation, ingestion=ingestion)
    return asked.copy_with(tasks=(task,))


def operate(lake: Any, instant: str | None, kind: OperationKind = RESTORE, **changes: Any) -> TaskResult:
    result: TaskResult = lake.drive(request(lake, instant, kind, **changes))
    return result


def asking(
    lake: Any,
    kind: OperationKind,
    document: dict[str, Any],
    *,
    uid: str = "uid-of-once",
    dry_run: bool = False,
    service: Service = Service.OPERATION,
    dead: tuple[str, ...] = (),
    **changes: Any,
) -> JobRequest:
    """The request of an operation that is about no commit; `document` is what its kind asks for."""
    operation = TableOperation.model_validate(
        {"kind": kind, "resource": "team/once", "uid": uid, "dry_run": dry_run, **document}
    )
    options = {**lake.hudi_options(service), **changes.pop("options", {})}
    asked: JobRequest = lake.service_request(Service.OPERATION, options=options, **changes)
    template: Any = asked.tasks[0]
    task = template.copy_with(operation=operation, dead=dead)
    return asked.copy_with(tasks=(task,))


def service_request(
    lake: Any, service: RunnableService, *, replaced: dict[str, str] | None = None, **changes: Any
) -> JobRequest:
    """The request to run a service once, with the options that the operator builds for it."""
    document = {"service": {"service": service, "options": replaced or {}}}
    return asking(lake, OperationKind.RUN_SERVICE, document, service=Service(service.value), **changes)


def serve_once(lake: Any, service: RunnableService, **changes: Any) -> TaskResult:
    result: TaskResult = lake.drive(service_request(lake, service, **changes))
    return result


def repair_request(
    lake: Any, step: RepairStep, instant: str | None = None, *, older_than: int | None = None, **changes: Any
) -> JobRequest:
    document = {"repair": {"step": step, "older_than_seconds": older_than}, "instant": instant}
    return asking(lake, OperationKind.REPAIR, document, **changes)


def mend(lake: Any, step: RepairStep, instant: str | None = None, **changes: Any) -> TaskResult:
    result: TaskResult = lake.drive(repair_request(lake, step, instant, **changes))
    return result


def report_of(result: TaskResult) -> OperationReport:
    assert result.operation is not None, result
    return result.operation


def done(result: TaskResult) -> OperationReport:
    """The report of an operation that succeeded."""
    assert result.outcome is Outcome.SUCCEEDED, result
    report = report_of(result)
    assert (report.phase, report.verified, report.rows_after) == (OperationPhase.DONE, True, report.rows_expected)
    return report


def operation_told(lake: Any) -> OperationTold:
    """What the newest operation has told beside the table, as the operator reads it."""
    found = decode_told(Path(lake.folder, "table/.hudi-operator", TOLD_FILE).read_bytes())
    assert found is not None
    return found


def refusal(result: TaskResult) -> str:
    """The sentence of an operation that was refused."""
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.OPERATION_REFUSED), result
    assert result.operation is None or result.operation.phase is OperationPhase.CHECKING
    return result.message


def refused_untouched(lake: Any, instant: str | None, kind: OperationKind = RESTORE, **changes: Any) -> str:
    """The sentence of an operation that was refused before anything was touched."""
    before = but_for_leases(lake)
    sentence = refusal(operate(lake, instant, kind, **changes))
    assert but_for_leases(lake) == before
    return sentence


def ingest_again(lake: Any, count: int, **changes: Any) -> None:
    """Ingest so many files that a restore has taken back, and no more: one after another, so that the last one wins."""
    read = [lake.ingest(max_files=1, **changes).files_read for _ in range(count + 1)]
    assert read == [*[1] * count, None]


def commits(lake: Any) -> list[str]:
    """The completed commits in the order of their requests."""
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return sorted(Timeline(lake.spark, table).commits())


def pending(lake: Any) -> list[tuple[str, str]]:
    """What has begun and not completed."""
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return [(each.action, each.instant) for each in Timeline(lake.spark, table).begun()]


def begun_savepoints(lake: Any) -> list[str]:
    """The commits whose savepoints were begun or half deleted, which `pending` leaves out."""
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return sorted(Timeline(lake.spark, table).begun_savepoints())


def partitions(lake: Any) -> set[str]:
    """The partitions of the metadata table, which are its indexes."""
    table = HudiTable.open(lake.spark, lake.base_path)
    assert table is not None
    return set(table.properties["hoodie.table.metadata.partitions"].split(","))


def rows(lake: Any, *, metadata: bool = False) -> list[tuple[Any, ...]]:
    """The rows as a new session reads them, with the metadata table or by listing files."""
    option = {"hoodie.metadata.enable": str(metadata).lower()}
    frame = lake.spark.newSession().read.format("hudi").options(**option).load(lake.base_path)
    return sorted(tuple(row) for row in frame.drop(*[n for n in frame.columns if n.startswith("_hoodie_")]).collect())


def files(lake: Any) -> dict[str, tuple[int, int]]:
    """Every file below the table, with its size and the time of its last change."""
    found = (path for path in Path(lake.folder, "table").rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def but_for_leases(lake: Any) -> dict[str, tuple[int, int]]:
    """The files below the table, but of those of the operator only the records of operations."""
    return {name: told for name, told in files(lake).items() if OPERATOR_FOLDER not in name or RECORD_FILE in name}
