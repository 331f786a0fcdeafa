"""Which functions check and do which kind of operation: one line for each kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import OperationKind, TaskResult
from hudi_jobs.operations.erase.run import erase, would_erase
from hudi_jobs.operations.going_back import go_back, would_go_back
from hudi_jobs.operations.service_run import run_service, would_run_service
from hudi_jobs.operations.work import Work


@dataclass(frozen=True)
class Kind:
    """How a kind is done: `would` writes nothing and says what `do` does, which also goes on with what has begun."""

    would: Callable[[Work], TaskResult]
    do: Callable[[Work], TaskResult]


KINDS: Mapping[OperationKind, Kind] = {
    OperationKind.RESTORE: Kind(would_go_back, go_back),
    OperationKind.ROLLBACK: Kind(would_go_back, go_back),
    OperationKind.ERASE: Kind(would_erase, erase),
    OperationKind.RUN_SERVICE: Kind(would_run_service, run_service),
}
