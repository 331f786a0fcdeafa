"""What keeps the operations of a table from starting, whichever they are."""

from dataclasses import dataclass

from hudi_jobs.contract import OperationKind
from hudi_jobs.contract.operations.operation import MOST_OBSTACLES
from hudi_operator.api.status.operation import OperationReportStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.facts.operations.kinds.registry import begins_beside_strangers

_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class Held:
    """Why no operation may start: before it has begun, and one that has.

    `restore`, one that is pending, holds all but a restore: that finishes it where an operation that is gone has left
    it on the way to the same commit, which the driver finds out. `stranger` and `heartbeat` hold only what has not
    begun, and not what is there to mend what a stranger has left. A dry run says itself that there is a stranger. The
    heartbeat of a run that is dead ends soon. `obstacles` are the sentences of `before` and `restore`, and all further.
    """

    before: str | None = None
    restore: str | None = None
    begun: str | None = None
    stranger: str | None = None
    heartbeat: str | None = None
    obstacles: tuple[str, ...] = ()

    def of(self, entry: TableOperation) -> str | None:
        """Return why an operation does not begin."""
        before = self.before or (None if entry.kind is OperationKind.RESTORE else self.restore)
        if before is not None or begins_beside_strangers(entry.kind):
            return before
        return self.heartbeat if entry.dry_run else self.stranger or self.heartbeat

    def report_of(self, entry: TableOperation) -> OperationReportStatus | None:
        """Return what a dry run says that cannot begin: everything that has to go before."""
        if not entry.dry_run:
            return entry.report
        every = (*self.obstacles, *([self.stranger] if self.stranger is not None else []))
        return OperationReportStatus(obstacles=tuple(one[:_LIMIT] for one in every[:MOST_OBSTACLES]))
