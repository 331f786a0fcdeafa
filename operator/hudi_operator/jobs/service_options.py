"""Hudi's options for table services: what each one takes and writes, and whether the writer runs it by itself.

A job gets the options of all services, because they depend on one another: archival looks at the trigger of
compaction, and a writer at what a clustering does with updates. Only the switches and gates differ between jobs.
"""

from hudi_jobs.contract import Service, TableType
from hudi_operator.api.base import parse_duration, quantity_bytes
from hudi_operator.api.table_services import (
    CleaningPolicy,
    ClusteringExecutionStrategy,
    ClusteringLayout,
    ClusteringPlanStrategy,
    ClusteringSpec,
    ClusteringUpdates,
    CompactionPlan,
    CompactionPlanStrategy,
    CompactionTriggerStrategy,
    ServiceMode,
)
from hudi_operator.api.table_spec import HudiTableSpec

_MIB = 2**20

_COMPACTION = "org.apache.hudi.table.action.compact.strategy"
_PLAN = "hoodie.clustering.plan.strategy"

_COMPACTION_TRIGGERS = {
    CompactionTriggerStrategy.NUM_COMMITS: "NUM_COMMITS",
    CompactionTriggerStrategy.NUM_COMMITS_AFTER_LAST_REQUEST: "NUM_COMMITS_AFTER_LAST_REQUEST",
    CompactionTriggerStrategy.TIME_ELAPSED: "TIME_ELAPSED",
    CompactionTriggerStrategy.NUM_OR_TIME: "NUM_OR_TIME",
    CompactionTriggerStrategy.NUM_AND_TIME: "NUM_AND_TIME",
}

_COMPACTION_PLANS = {
    CompactionPlanStrategy.LOG_FILE_SIZE: f"{_COMPACTION}.LogFileSizeBasedCompactionStrategy",
    CompactionPlanStrategy.LOG_FILE_NUM: f"{_COMPACTION}.LogFileNumBasedCompactionStrategy",
    CompactionPlanStrategy.BOUNDED_IO: f"{_COMPACTION}.BoundedIOCompactionStrategy",
    CompactionPlanStrategy.DAY_BASED: f"{_COMPACTION}.DayBasedCompactionStrategy",
    CompactionPlanStrategy.UNBOUNDED: f"{_COMPACTION}.UnBoundedCompactionStrategy",
}
_BY_REGEX = f"{_COMPACTION}.PartitionRegexBasedCompactionStrategy"

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

_CLEANING_POLICIES = {
    CleaningPolicy.KEEP_LATEST_COMMITS: "KEEP_LATEST_COMMITS",
    CleaningPolicy.KEEP_LATEST_FILE_VERSIONS: "KEEP_LATEST_FILE_VERSIONS",
    CleaningPolicy.KEEP_LATEST_BY_HOURS: "KEEP_LATEST_BY_HOURS",
}

# The operator has counted before it starts a job for one service. Hudi would count again, and where the two disagree
# (a run that a person asks for, what a bounded plan left over) it would answer that there is nothing to do. Hudi
# counts commits for a clustering only where one of its switches is on.
_GATES_OPEN = {
    Service.COMPACTION: {
        "hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED",
        "hoodie.compact.inline.max.delta.seconds": "0",
    },
    Service.CLEANING: {"hoodie.clean.trigger.max.commits": "1"},
}


def service_options(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Return the options of all table services for a job that runs one service."""
    return {
        **_switches(spec, service),
        **_compaction(spec),
        **_clustering(spec.clustering),
        **_cleaning(spec),
        **_scope(spec, service),
        **_GATES_OPEN.get(service, {}),
    }


def flag(value: bool) -> str:  # noqa: FBT001 - the one question this asks
    """Return a truth value as Hudi reads it."""
    return "true" if value else "false"


def _runs_inline(spec: HudiTableSpec, inline: Service, *, job: Service) -> bool:
    return job is Service.INGESTION and spec.mode_of(inline) is ServiceMode.INLINE


def _switches(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Services run inside the writer only where the spec says Inline, and never inside the job of another service."""
    return {
        "hoodie.compact.inline": flag(_runs_inline(spec, Service.COMPACTION, job=service)),
        "hoodie.compact.schedule.inline": "false",
        "hoodie.datasource.compaction.async.enable": "false",
        "hoodie.clustering.inline": flag(_runs_inline(spec, Service.CLUSTERING, job=service)),
        "hoodie.clustering.schedule.inline": "false",
        "hoodie.clustering.async.enabled": "false",
        "hoodie.clean.automatic": flag(_runs_inline(spec, Service.CLEANING, job=service)),
        "hoodie.clean.async.enabled": "false",
        "hoodie.archive.automatic": flag(_runs_inline(spec, Service.ARCHIVAL, job=service)),
        "hoodie.archive.async": "false",
    }


def _compaction(spec: HudiTableSpec) -> dict[str, str]:
    trigger = spec.compaction.trigger
    options = {
        "hoodie.compact.inline.trigger.strategy": _COMPACTION_TRIGGERS[trigger.strategy],
        "hoodie.compact.inline.max.delta.commits": str(trigger.delta_commits),
        "hoodie.compact.inline.max.delta.seconds": str(int(parse_duration(trigger.elapsed).total_seconds())),
    }
    return options | (_compaction_plan(spec.compaction.plan) if spec.type is TableType.MERGE_ON_READ else {})


def _compaction_plan(plan: CompactionPlan) -> dict[str, str]:
    strategy = _COMPACTION_PLANS[plan.strategy]
    options = {
        "hoodie.compaction.strategy": strategy if plan.partition_regex is None else f"{_BY_REGEX},{strategy}",
        "hoodie.compaction.target.io": str(quantity_bytes(plan.target_io) // _MIB),
        "hoodie.compaction.logfile.size.threshold": str(quantity_bytes(plan.log_file_size_threshold)),
        "hoodie.compaction.logfile.num.threshold": str(plan.log_file_num_threshold),
        "hoodie.compaction.daybased.target.partitions": str(plan.target_partitions),
    }
    return options | _given({"hoodie.compaction.partition.path.regex": plan.partition_regex})


def _clustering(clustering: ClusteringSpec) -> dict[str, str]:
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
        # Hudi's default rewrites a lone small file each time, into itself.
        f"{_PLAN}.single.group.clustering.enabled": "false",
        **_partitions(clustering),
        # Hudi's SingleSparkJobExecutionStrategy is abstract, so what it is for comes from a limit of one.
        "hoodie.clustering.execution.strategy.class": (
            "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
        ),
        **({"hoodie.clustering.max.parallelism": "1"} if one_job else {}),
        "hoodie.layout.optimize.strategy": _LAYOUTS[execution.layout],
        **_given({f"{_PLAN}.sort.columns": ",".join(execution.sort_columns) or None}),
    }


def _partitions(clustering: ClusteringSpec) -> dict[str, str]:
    strategy, partitions = clustering.plan.strategy, clustering.plan.partitions
    options = {"hoodie.clustering.plan.partition.filter.mode": _PARTITION_FILTERS[strategy]}
    if strategy is ClusteringPlanStrategy.RECENT_DAYS:
        return options | {
            f"{_PLAN}.daybased.lookback.partitions": str(partitions.lookback),
            f"{_PLAN}.daybased.skipfromlatest.partitions": str(partitions.skip_latest),
        }
    return options | _given(
        {
            f"{_PLAN}.cluster.begin.partition": partitions.begin,
            f"{_PLAN}.cluster.end.partition": partitions.end,
            f"{_PLAN}.partition.selected": ",".join(partitions.names) or None,
            f"{_PLAN}.partition.regex.pattern": partitions.regex,
        }
    )


def _cleaning(spec: HudiTableSpec) -> dict[str, str]:
    cleaning, archival = spec.cleaning, spec.archival
    return {
        "hoodie.clean.policy": _CLEANING_POLICIES[cleaning.policy],
        "hoodie.clean.trigger.max.commits": str(cleaning.trigger.commits),
        "hoodie.clean.commits.retained": str(cleaning.retain_commits),
        "hoodie.clean.fileversions.retained": str(cleaning.retain_file_versions),
        "hoodie.clean.hours.retained": str(cleaning.retain_hours),
        "hoodie.keep.min.commits": str(archival.min_commits),
        "hoodie.keep.max.commits": str(archival.max_commits),
    }


def _scope(spec: HudiTableSpec, service: Service) -> dict[str, str]:
    """Plan from all partitions where Hudi's incremental planning would lose some.

    By default Hudi plans from the partitions that were written to since the last plan, and carries over what a plan
    left out. `ClusteringPlanPartitionFilter`, `DayBasedCompactionStrategy` and `PartitionRegexBasedCompactionStrategy`
    of Hudi 1.2.0 carry over nothing, or partitions that were not asked for. Elsewhere the default stands, and a class
    may change it.
    """
    filtered = (
        (Service.CLUSTERING, spec.clustering.plan.strategy is not ClusteringPlanStrategy.SIZE_BASED),
        (
            Service.COMPACTION,
            spec.compaction.plan.strategy is CompactionPlanStrategy.DAY_BASED
            or spec.compaction.plan.partition_regex is not None,
        ),
    )
    planned_here = (
        narrow and (service is planned or _runs_inline(spec, planned, job=service)) for planned, narrow in filtered
    )
    return {"hoodie.table.services.incremental.enabled": "false"} if any(planned_here) else {}


def _given(options: dict[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in options.items() if value is not None}
