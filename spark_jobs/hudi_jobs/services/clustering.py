"""Clustering: small files are rewritten into larger, sorted ones."""

from collections.abc import Mapping

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, TaskResult
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.folder import Folder
from hudi_jobs.services.client import WriteClient
from hudi_jobs.services.planned import PlannedService, run_planned
from hudi_jobs.services.timeline import Pending, Timeline
from hudi_jobs.table import HudiTable

_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
_NAMES = (
    "hoodie.clustering.plan.strategy.partition.selected",
    "hoodie.clustering.plan.strategy.cluster.begin.partition",
    "hoodie.clustering.plan.strategy.cluster.end.partition",
)
_SELECTION = (*_NAMES, "hoodie.clustering.plan.strategy.partition.regex.pattern")


def cluster(context: TaskContext) -> TaskResult:
    """Plan or execute a clustering."""
    return run_planned(context, _Clustering())


class _Clustering(PlannedService):
    name = "clustering"
    can_plan_anew = True

    def require(self, context: TaskContext, table: HudiTable) -> None:
        require_clustering(context, table)

    def pending(self, timeline: Timeline) -> list[Pending]:
        return timeline.pending_clusterings()

    def schedule(self, client: WriteClient, notes: Mapping[str, str]) -> str | None:
        return client.schedule_clustering(notes)

    def execute(
        self,
        context: TaskContext,  # noqa: ARG002 - a clustering that a writer came before is refused, not committed
        client: WriteClient,
        instant: str,
        notes: Mapping[str, str],
    ) -> None:
        client.cluster(instant, notes)

    def describe_no_plan(self, context: TaskContext) -> str:
        options = context.task.hudi_options
        selection = [f"{key.rpartition('strategy.')[2]}={options[key]}" for key in _SELECTION if options.get(key)]
        if selection:
            return f"Hudi planned nothing: no small files in the partitions that {', '.join(selection)} selects."
        return "Hudi planned nothing: there are not enough small files to make larger ones of."


def require_clustering(context: TaskContext, table: HudiTable) -> None:
    """Raise `TaskFailed` for partitions outside of the table, and columns that it has not."""
    _require_partitions(context)
    declared = context.task.hudi_options.get(_SORT_COLUMNS, "")
    wanted = [column.strip() for column in declared.split(",") if column.strip()]
    with stage("The table's schema cannot be read", otherwise=FailureReason.HUDI_ERROR):
        schema = table.schema()
    missing = [column for column in wanted if schema is not None and column not in schema.fieldNames()]
    if schema is not None and missing:
        raise TaskFailed(
            FailureReason.COLUMN_MISSING,
            f"The table has no column {', '.join(missing)} to sort by; it has {', '.join(schema.fieldNames())}.",
        )


def _require_partitions(context: TaskContext) -> None:
    """Refuse names that lead out of the table: Hudi puts them behind the base path without a check."""
    folder = Folder(context.task.table.base_path)
    for option in _NAMES:
        for name in filter(None, context.task.hudi_options.get(option, "").split(",")):
            if not folder.partition(name):
                raise TaskFailed(
                    FailureReason.INVALID_REQUEST,
                    f"The partition {name[:100]!a} leads out of the table; name it as it is on the store.",
                )
