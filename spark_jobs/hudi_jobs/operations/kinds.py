"""Which functions check and do which kind of operation: one line for each kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OperationKind, TableOperation, TaskResult
from hudi_jobs.operations.erase.run import erase, would_erase
from hudi_jobs.operations.journal import Journal
from hudi_jobs.operations.repair.properties import set_unreadable_aside, would_set_aside
from hudi_jobs.operations.repair.run import repair, would_repair
from hudi_jobs.operations.restore.going_back import go_back, would_go_back
from hudi_jobs.operations.service.run import run_service, would_run_service
from hudi_jobs.operations.versions.run import change_table_version, finish_change, would_change_version
from hudi_jobs.operations.work import Work


@dataclass(frozen=True)
class Kind:
    """How a kind is done: `would` writes nothing and says what `do` does, which also goes on with what has begun."""

    would: Callable[[Work], TaskResult]
    do: Callable[[Work], TaskResult]
    before: Callable[[TaskContext, TableOperation, Journal], None] = lambda *_: None
    """What has to be finished under the lease before anybody can read the table."""
    would_before: Callable[[TaskContext, TableOperation], str | None] = lambda *_: None
    """What is to be done before that, as in "write X"; None where the table can be read."""


KINDS: Mapping[OperationKind, Kind] = {
    OperationKind.RESTORE: Kind(would_go_back, go_back),
    OperationKind.ROLLBACK: Kind(would_go_back, go_back),
    OperationKind.UPGRADE: Kind(would_change_version, change_table_version, finish_change),
    OperationKind.DOWNGRADE: Kind(would_change_version, change_table_version, finish_change),
    OperationKind.ERASE: Kind(would_erase, erase),
    OperationKind.RUN_SERVICE: Kind(would_run_service, run_service),
    OperationKind.REPAIR: Kind(
        would_repair, repair, lambda context, operation, _: set_unreadable_aside(context, operation), would_set_aside
    ),
}
