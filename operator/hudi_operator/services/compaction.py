"""Compaction: merging log files into base files."""

from hudi_jobs.contract import Service, TableType
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import (
    CompactionPlan,
    CompactionPlanStrategy,
    CompactionTriggerStrategy,
    ServiceMode,
)
from hudi_operator.api.values.base import parse_duration, quantity_bytes
from hudi_operator.services.definition import TableServiceDefinition, given
from hudi_operator.timeline import Action, PendingKind

_MIB = 2**20
_STRATEGY = "org.apache.hudi.table.action.compact.strategy"

_TRIGGERS = {
    CompactionTriggerStrategy.NUM_COMMITS: "NUM_COMMITS",
    CompactionTriggerStrategy.NUM_COMMITS_AFTER_LAST_REQUEST: "NUM_COMMITS_AFTER_LAST_REQUEST",
    CompactionTriggerStrategy.TIME_ELAPSED: "TIME_ELAPSED",
    CompactionTriggerStrategy.NUM_OR_TIME: "NUM_OR_TIME",
    CompactionTriggerStrategy.NUM_AND_TIME: "NUM_AND_TIME",
}

_PLANS = {
    CompactionPlanStrategy.LOG_FILE_SIZE: f"{_STRATEGY}.LogFileSizeBasedCompactionStrategy",
    CompactionPlanStrategy.LOG_FILE_NUM: f"{_STRATEGY}.LogFileNumBasedCompactionStrategy",
    CompactionPlanStrategy.BOUNDED_IO: f"{_STRATEGY}.BoundedIOCompactionStrategy",
    CompactionPlanStrategy.DAY_BASED: f"{_STRATEGY}.DayBasedCompactionStrategy",
    CompactionPlanStrategy.UNBOUNDED: f"{_STRATEGY}.UnBoundedCompactionStrategy",
}
_BY_REGEX = f"{_STRATEGY}.PartitionRegexBasedCompactionStrategy"

_KINDS = frozenset({PendingKind.COMPACTION, PendingKind.LOG_COMPACTION})


def _mode(spec: HudiTableSpec) -> ServiceMode:
    """Return the mode; a CopyOnWrite table has no logs to compact."""
    return ServiceMode.DISABLED if spec.type is TableType.COPY_ON_WRITE else spec.compaction.mode or ServiceMode.ASYNC


def _options(spec: HudiTableSpec) -> dict[str, str]:
    trigger = spec.compaction.trigger
    options = {
        "hoodie.compact.inline.trigger.strategy": _TRIGGERS[trigger.strategy],
        "hoodie.compact.inline.max.delta.commits": str(trigger.delta_commits),
        "hoodie.compact.inline.max.delta.seconds": str(int(parse_duration(trigger.elapsed).total_seconds())),
    }
    return options | (_plan(spec.compaction.plan) if spec.type is TableType.MERGE_ON_READ else {})


def _plan(plan: CompactionPlan) -> dict[str, str]:
    strategy = _PLANS[plan.strategy]
    options = {
        "hoodie.compaction.strategy": strategy if plan.partition_regex is None else f"{_BY_REGEX},{strategy}",
        "hoodie.compaction.target.io": str(quantity_bytes(plan.target_io) // _MIB),
        "hoodie.compaction.logfile.size.threshold": str(quantity_bytes(plan.log_file_size_threshold)),
        "hoodie.compaction.logfile.num.threshold": str(plan.log_file_num_threshold),
        "hoodie.compaction.daybased.target.partitions": str(plan.target_partitions),
    }
    return options | given({"hoodie.compaction.partition.path.regex": plan.partition_regex})


def _needs_all_partitions(spec: HudiTableSpec) -> bool:
    plan = spec.compaction.plan
    return plan.strategy is CompactionPlanStrategy.DAY_BASED or plan.partition_regex is not None


COMPACTION = TableServiceDefinition(
    service=Service.COMPACTION,
    completes=frozenset({Action.COMMIT}),
    plans=_KINDS,
    deals_with=lambda pending: pending.kind in _KINDS,
    mode=_mode,
    inline_switch="hoodie.compact.inline",
    other_switches=("hoodie.compact.schedule.inline", "hoodie.datasource.compaction.async.enable"),
    options=_options,
    gates_open={
        "hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED",
        "hoodie.compact.inline.max.delta.seconds": "0",
    },
    needs_all_partitions=_needs_all_partitions,
)
