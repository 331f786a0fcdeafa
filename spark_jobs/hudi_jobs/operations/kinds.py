"""Maps each kind of operation to the functions that check and run it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OperationKind, TableOperation, TaskResult
from hudi_jobs.journal.journal import Journal
from hudi_jobs.operations.erase.erasure import erase, would_erase
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.repair.properties import set_unreadable_aside, would_set_aside
from hudi_jobs.operations.repair.repair_run import repair, would_repair
from hudi_jobs.operations.restore import run_restore, would_restore
from hudi_jobs.operations.run_service import run_service, would_run_service
from hudi_jobs.operations.versions.version_change import change_table_version, finish_change, would_change_version


@dataclass(frozen=True)
class Kind:
    """Functions of a kind: `would` checks without writing, `do` runs the operation or continues it."""

    would: Callable[[OperationRun], TaskResult]
    do: Callable[[OperationRun], TaskResult]
    before: Callable[[TaskContext, TableOperation, Journal], None] = lambda *_: None
    """Runs under the lease before the table is read."""
    would_before: Callable[[TaskContext, TableOperation], str | None] = lambda *_: None
    """Returns what `before` would do, as in "write X"; None when the table can be read."""


KINDS: Mapping[OperationKind, Kind] = {
    OperationKind.RESTORE: Kind(would_restore, run_restore),
    OperationKind.ROLLBACK: Kind(would_restore, run_restore),
    OperationKind.UPGRADE: Kind(would_change_version, change_table_version, finish_change),
    OperationKind.DOWNGRADE: Kind(would_change_version, change_table_version, finish_change),
    OperationKind.ERASE: Kind(would_erase, erase),
    OperationKind.RUN_SERVICE: Kind(would_run_service, run_service),
    OperationKind.REPAIR: Kind(
        would_repair, repair, lambda context, operation, _: set_unreadable_aside(context, operation), would_set_aside
    ),
}
