"""Clustering: rewriting small or unsorted files."""

from hudi_jobs.contract import Service
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import (
    ClusteringExecutionStrategy,
    ClusteringLayout,
    ClusteringPlanStrategy,
    ClusteringSpec,
    ClusteringUpdates,
    ServiceMode,
)
from hudi_operator.api.values.base import quantity_bytes
from hudi_operator.services.definition import TableServiceDefinition, given
from hudi_operator.timeline import Action, PendingKind

_PLAN = "hoodie.clustering.plan.strategy"

_PARTITION_FILTERS = {
    ClusteringPlanStrategy.SIZE_BASED: "NONE",
    ClusteringPlanStrategy.RECENT_DAYS: "RECENT_DAYS",
    ClusteringPlanStrategy.SELECTED_PARTITIONS: "SELECTED_PARTITIONS",
}

_LAYOUTS = {
    ClusteringLayout.LINEAR: "LINEAR",
    ClusteringLayout.Z_ORDER: "ZORDER",
    ClusteringLayout.HILBERT: "HILBERT",
}

_UPDATES = {
    ClusteringUpdates.REJECT: "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy",
    ClusteringUpdates.ALLOW: "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy",
}

_KINDS = frozenset({PendingKind.CLUSTERING, PendingKind.UNKNOWN})


def _options(spec: HudiTableSpec) -> dict[str, str]:
    clustering = spec.clustering
    plan, execution = clustering.plan, clustering.execution
    one_job = execution.strategy is ClusteringExecutionStrategy.SINGLE_SPARK_JOB
    return {
        "hoodie.clustering.inline.max.commits": str(clustering.trigger.commits),
        "hoodie.clustering.updates.strategy": _UPDATES[clustering.updates],
        f"{_PLAN}.class": "org.apache.hudi.client.clustering.plan.strategy.SparkSizeBasedClusteringPlanStrategy",
        f"{_PLAN}.small.file.limit": str(quantity_bytes(plan.small_file_limit)),
        f"{_PLAN}.target.file.max.bytes": str(quantity_bytes(plan.target_file_size)),
        f"{_PLAN}.max.bytes.per.group": str(quantity_bytes(plan.max_bytes_per_group)),
        f"{_PLAN}.max.num.groups": str(plan.max_groups),
        # Hudi's default rewrites a lone small file into itself each time.
        f"{_PLAN}.single.group.clustering.enabled": "false",
        **_partitions(clustering),
        # Hudi's SingleSparkJobExecutionStrategy is abstract; a parallelism limit of one has its effect.
        "hoodie.clustering.execution.strategy.class": (
            "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
        ),
        **({"hoodie.clustering.max.parallelism": "1"} if one_job else {}),
        "hoodie.layout.optimize.strategy": _LAYOUTS[execution.layout],
        **given({f"{_PLAN}.sort.columns": ",".join(execution.sort_columns) or None}),
    }


def _partitions(clustering: ClusteringSpec) -> dict[str, str]:
    strategy, partitions = clustering.plan.strategy, clustering.plan.partitions
    options = {"hoodie.clustering.plan.partition.filter.mode": _PARTITION_FILTERS[strategy]}
    if strategy is ClusteringPlanStrategy.RECENT_DAYS:
        return options | {
            f"{_PLAN}.daybased.lookback.partitions": str(partitions.lookback),
            f"{_PLAN}.daybased.skipfromlatest.partitions": str(partitions.skip_latest),
        }
    return options | given(
        {
            f"{_PLAN}.cluster.begin.partition": partitions.begin,
            f"{_PLAN}.cluster.end.partition": partitions.end,
            f"{_PLAN}.partition.selected": ",".join(partitions.names) or None,
            f"{_PLAN}.partition.regex.pattern": partitions.regex,
        }
    )


CLUSTERING = TableServiceDefinition(
    service=Service.CLUSTERING,
    completes=frozenset({Action.REPLACE_COMMIT}),
    plans=frozenset({PendingKind.CLUSTERING}),
    deals_with=lambda pending: pending.kind in _KINDS,
    mode=lambda spec: spec.clustering.mode,
    inline_switch="hoodie.clustering.inline",
    other_switches=("hoodie.clustering.schedule.inline", "hoodie.clustering.async.enabled"),
    options=_options,
    gates_open={},  # Hudi counts commits for a clustering only where one of its switches is on
    needs_all_partitions=lambda spec: spec.clustering.plan.strategy is not ClusteringPlanStrategy.SIZE_BASED,
)


def small_file_limit(spec: HudiTableSpec) -> int:
    """Return the size in bytes below which a base file of this table counts as small."""
    if spec.clustering.mode is not ServiceMode.DISABLED:
        return quantity_bytes(spec.clustering.plan.small_file_limit)
    return quantity_bytes(spec.file_sizing.small_file_limit)
