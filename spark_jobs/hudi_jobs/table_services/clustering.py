"""Clustering: rewrites small files into larger, sorted files."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql.types import StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, TaskResult
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.preflight.key_gate import has_old_lists
from hudi_jobs.schemas.writable import unsorted_columns
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import Folder
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import WriteClient
from hudi_jobs.table_services.planned import PlannedService, run_planned
from hudi_jobs.table_services.timeline import Pending, Timeline

INLINE_CLUSTERING = "hoodie.clustering.inline"
"""Whether a write clusters the table after its commit."""

_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
_LONE_FILES = "hoodie.clustering.plan.strategy.single.group.clustering.enabled"
_LAYOUT, _LINEAR = "hoodie.layout.optimize.strategy", "linear"
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
    phase = RunPhase.CLUSTERING
    can_plan_anew = True

    def require(self, context: TaskContext, table: HudiTable) -> None:
        require_clustering(context, table)

    def prepared(self, context: TaskContext, table: HudiTable) -> TaskContext:
        """Include files alone in their partition if they hold lists that only a clustering rewrites."""
        if not has_old_lists(context.spark, table):
            return context
        context.log("a file holds lists that Hudi cannot read, so files that are alone are clustered too")
        options = {**context.task.hudi_options, _LONE_FILES: "true"}
        return replace(context, task=context.task.copy_with(hudi_options=options))

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
        return "Hudi planned nothing: there are not enough small files to make larger files of."


def require_clustering(context: TaskContext, table: HudiTable) -> None:
    """Raise `TaskFailed` for partitions outside the table, and for missing or unsortable sort columns."""
    _require_partitions(context)
    with stage("The table's schema cannot be read", otherwise=FailureReason.HUDI_ERROR):
        schema = table.schema()
    options = context.task.hudi_options
    missing = [column for column in _sort_columns(options) if schema is not None and column not in schema.fieldNames()]
    if schema is not None and missing:
        raise TaskFailed(
            FailureReason.COLUMN_MISSING,
            f"The table has no column {', '.join(missing)} to sort by; it has {', '.join(schema.fieldNames())}.",
        )
    if schema is not None:
        require_order(schema, options)


def require_order(schema: StructType, options: Mapping[str, str]) -> None:
    """Raise `TaskFailed` for sort columns without an order: planning would succeed and execution fail."""
    linear = options.get(_LAYOUT, _LINEAR).lower() == _LINEAR
    unsorted = [one.sentence for one in unsorted_columns(schema, _sort_columns(options), linear=linear)]
    if unsorted:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"{' '.join(unsorted)} Nothing was planned.")


def _sort_columns(options: Mapping[str, str]) -> list[str]:
    return [column.strip() for column in options.get(_SORT_COLUMNS, "").split(",") if column.strip()]


def _require_partitions(context: TaskContext) -> None:
    """Refuse partition names that lead out of the table: Hudi appends them to the base path unchecked."""
    folder = Folder(context.task.table.base_path)
    for option in _NAMES:
        for name in filter(None, context.task.hudi_options.get(option, "").split(",")):
            if not folder.partition(name):
                raise TaskFailed(
                    FailureReason.INVALID_REQUEST,
                    f"The partition {name[:100]!a} leads out of the table; name it as it is on the store.",
                )
