"""The blockers of a table's operations, whatever their kinds."""

from dataclasses import dataclass

from hudi_jobs.contract import OperationKind
from hudi_jobs.contract.operations.operation import MOST_OBSTACLES
from hudi_operator.api.status.operation import OperationReportStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.facts.operations.kinds.registry import begins_beside_strangers

_LIMIT = 512


@dataclass(frozen=True, kw_only=True)
class Held:
    """Why no operation may start: `before` it has begun, and after it has `begun`.

    `restore`, a pending restore, blocks every operation but a restore, which can finish it if an earlier operation to
    the same commit left it; the driver finds out. `stranger` and `heartbeat` block only operations that have not begun,
    and no operation that repairs what an unknown writer has left. A dry run itself reports an unknown writer. The
    heartbeat of a dead run ends soon. `obstacles` are the sentences of `before`, `restore` and all further blockers.
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
        """Return the report of a dry run that cannot begin: every obstacle."""
        if not entry.dry_run:
            return entry.report
        every = (*self.obstacles, *([self.stranger] if self.stranger is not None else []))
        return OperationReportStatus(obstacles=tuple(one[:_LIMIT] for one in every[:MOST_OBSTACLES]))
