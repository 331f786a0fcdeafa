"""The table services that a `HudiTable` declares: compaction, clustering, cleaning and archival."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_operator.api.values.base import (
    LARGEST_INT,
    DefaultsTo,
    Duration,
    Model,
    Quantity,
    at_least,
    not_less,
    quantity_or,
    rules,
    value_or,
    words,
)
from hudi_operator.api.values.names import NO_COLUMN_TWICE, PLAIN_COLUMNS, AnyColumn

# Hudi takes partitions as a text with commas between them, and puts some of them behind the base path without a check.
PartitionPath = Annotated[
    str,
    Field(
        pattern=r"^[^,/\s][^,\s]*$",
        max_length=256,
        json_schema_extra=words(
            "a partition must be a path inside the table such as year=2026/month=7, without a slash at its beginning, "
            "commas and white space",
            (
                # RE2. Hudi may decode the escape of a dot, a slash, a backslash, `%` or a control character.
                r"!self.matches(r'[\\\p{Z}\p{C}]|:/|(^|/)[.]{0,2}(/|$)|%(2[eEfF5]|5[cC]|[01][0-9a-fA-F]|7[fF])')",
                "a partition must be a plain path inside the table: no '.', '..' or empty segments, no ':/', "
                "backslash, control character or white space, and no escape of these",
            ),
            (
                r"!self.matches('(^|/)[.]hoodie')",
                "a partition must not lie in a folder that begins with .hoodie, which are Hudi's own",
            ),
        ),
    ),
]

PartitionRegex = Annotated[
    str,
    Field(
        min_length=1,
        max_length=256,
        json_schema_extra=rules((r"!self.matches(r'\p{C}')", "a regular expression must hold no control characters")),
    ),
]


class ServiceMode(StrEnum):
    """Where a table service runs."""

    ASYNC = "Async"
    INLINE = "Inline"
    DISABLED = "Disabled"


class CompactionTriggerStrategy(StrEnum):
    """Trigger of a compaction."""

    NUM_COMMITS = "NumCommits"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NumCommitsAfterLastRequest"
    TIME_ELAPSED = "TimeElapsed"
    NUM_OR_TIME = "NumOrTime"
    NUM_AND_TIME = "NumAndTime"


class CompactionPlanStrategy(StrEnum):
    """Which file groups a compaction takes, and in which order."""

    LOG_FILE_SIZE = "LogFileSize"
    LOG_FILE_NUM = "LogFileNum"
    BOUNDED_IO = "BoundedIO"
    DAY_BASED = "DayBased"
    UNBOUNDED = "Unbounded"


class ClusteringPlanStrategy(StrEnum):
    """Which partitions a clustering plans; inside them it takes small files."""

    SIZE_BASED = "SizeBased"
    RECENT_DAYS = "RecentDays"
    SELECTED_PARTITIONS = "SelectedPartitions"


class ClusteringExecutionStrategy(StrEnum):
    """How the groups of a clustering plan are rewritten."""

    SORT_AND_SIZE = "SortAndSize"
    SINGLE_SPARK_JOB = "SingleSparkJob"


class ClusteringLayout(StrEnum):
    """In which order the sort columns lay out the rows."""

    LINEAR = "Linear"
    Z_ORDER = "ZOrder"
    HILBERT = "Hilbert"


class ClusteringUpdates(StrEnum):
    """Handling of a writer's updates to files that a pending clustering will replace."""

    REJECT = "Reject"
    ALLOW = "Allow"


class CleaningPolicy(StrEnum):
    """Which file slices cleaning keeps."""

    KEEP_LATEST_COMMITS = "KeepLatestCommits"
    KEEP_LATEST_FILE_VERSIONS = "KeepLatestFileVersions"
    KEEP_LATEST_BY_HOURS = "KeepLatestByHours"


_BY_COMMITS = "(!has(self.strategy) || self.strategy != 'TimeElapsed')"
_BY_TIME = "(has(self.strategy) && self.strategy in ['TimeElapsed', 'NumOrTime', 'NumAndTime'])"


class CompactionTrigger(Model):
    """When a compaction is due."""

    strategy: CompactionTriggerStrategy = CompactionTriggerStrategy.NUM_COMMITS
    """NumCommits counts from the last completed compaction, NumCommitsAfterLastRequest from the last requested
    compaction.
    """

    delta_commits: Annotated[int, Field(ge=1, le=1_000_000)] = 5
    """Delta commits that make the next compaction due; for all strategies but TimeElapsed."""

    elapsed: Duration = "1h"
    """Time since the last compaction that makes the next due; for TimeElapsed, NumOrTime and NumAndTime."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (f"!has(self.deltaCommits) || {_BY_COMMITS}", "deltaCommits is not for strategy TimeElapsed"),
            (
                f"!has(self.elapsed) || {_BY_TIME}",
                "elapsed is only for strategies TimeElapsed, NumOrTime and NumAndTime",
            ),
            at_least("elapsed", "1s"),
        )
    )


def _only_for(field: str, strategies: tuple[str, ...], *, default: str) -> tuple[str, str]:
    """Return the rule that a field is set only beside some values of `strategy`."""
    strategy = value_or("strategy", default)
    names = ", ".join(f"'{name}'" for name in strategies)
    *others, last = strategies
    listed = f"strategies {', '.join(others)} and {last}" if others else f"strategy {last}"
    return f"!has(self.{field}) || {strategy} in [{names}]", f"{field} is only for {listed}"


class CompactionPlan(Model):
    """Which file groups a compaction takes."""

    strategy: CompactionPlanStrategy = CompactionPlanStrategy.LOG_FILE_SIZE
    """LogFileSize and LogFileNum take file groups with the most log first, DayBased the newest days, Unbounded all."""

    target_io: Annotated[Quantity, Field(alias="targetIO")] = "500Gi"
    """Maximum bytes that a compaction reads and writes; not for Unbounded (hoodie.compaction.target.io)."""

    log_file_size_threshold: Quantity = "0"
    """Log bytes that put a file group into the plan; for LogFileSize (hoodie.compaction.logfile.size.threshold)."""

    log_file_num_threshold: Annotated[int, Field(ge=0, le=LARGEST_INT)] = 0
    """Log files that put a file group into the plan; for LogFileNum (hoodie.compaction.logfile.num.threshold)."""

    target_partitions: Annotated[int, Field(ge=1, le=100_000)] = 10
    """Number of newest days that are compacted; for DayBased, with partitions of year, month and day."""

    partition_regex: PartitionRegex | None = None
    """Only partitions with a match of this regular expression in their path; with every strategy."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            _only_for("targetIO", ("LogFileSize", "LogFileNum", "BoundedIO", "DayBased"), default=strategy),
            _only_for("logFileSizeThreshold", ("LogFileSize",), default=strategy),
            _only_for("logFileNumThreshold", ("LogFileNum",), default=strategy),
            _only_for("targetPartitions", ("DayBased",), default=strategy),
            not_less("targetIO", "1Mi"),
        )
    )


class CompactionSpec(Model):
    """Merging of log files into base files; only for MergeOnRead tables."""

    mode: Annotated[ServiceMode | None, DefaultsTo("Async, and Disabled for CopyOnWrite")] = None
    """Async runs a separate Job, Inline runs inside the writer."""

    trigger: CompactionTrigger = CompactionTrigger()
    """When a compaction is due."""

    plan: CompactionPlan = CompactionPlan()
    """Which file groups a compaction takes."""


class ClusteringTrigger(Model):
    """When a clustering is due."""

    commits: Annotated[int, Field(ge=1, le=1_000_000)] = 4
    """Commits since the latest clustering that make the next due."""


class ClusteringPartitions(Model):
    """Partitions that a clustering plans."""

    lookback: Annotated[int, Field(ge=1, le=100_000)] = 2
    """Number of newest partitions, by name; for RecentDays."""

    skip_latest: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Number of newest partitions that are left out, for example those still written to; for RecentDays."""

    begin: PartitionPath | None = None
    """First partition path, compared as text; for SelectedPartitions."""

    end: PartitionPath | None = None
    """Last partition path, compared as text; for SelectedPartitions."""

    names: Annotated[tuple[PartitionPath, ...], Field(min_length=1, max_length=100)] = ()
    """Partition paths as they are on the store, for example month=7; for SelectedPartitions."""

    regex: PartitionRegex | None = None
    """Only partitions with a path that matches this regular expression; for SelectedPartitions."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.names) || (!has(self.begin) && !has(self.end) && !has(self.regex))",
                "names cannot be combined with begin, end and regex",
            ),
            ("!has(self.begin) || !has(self.end) || self.begin <= self.end", "begin must not come after end"),
        )
    )


_SELECTED = "(has(self.strategy) && self.strategy == 'SelectedPartitions')"
_SELECTION = " || ".join(f"has(self.partitions.{field})" for field in ("begin", "end", "names", "regex"))


class ClusteringPlan(Model):
    """Which files a clustering takes, and the size of the files that it writes."""

    strategy: ClusteringPlanStrategy = ClusteringPlanStrategy.SIZE_BASED
    """SizeBased plans all partitions, RecentDays the newest partitions, SelectedPartitions the named partitions."""

    small_file_limit: Quantity = "300Mi"
    """Files below this size are taken (hoodie.clustering.plan.strategy.small.file.limit)."""

    target_file_size: Quantity = "1Gi"
    """Size of the files that are written (hoodie.clustering.plan.strategy.target.file.max.bytes)."""

    max_bytes_per_group: Quantity = "2Gi"
    """Maximum bytes that are rewritten together (hoodie.clustering.plan.strategy.max.bytes.per.group)."""

    max_groups: Annotated[int, Field(ge=1, le=100_000)] = 30
    """Maximum groups of a plan (hoodie.clustering.plan.strategy.max.num.groups)."""

    partitions: ClusteringPartitions = ClusteringPartitions()
    """Partitions that a clustering plans; for RecentDays and SelectedPartitions."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"{quantity_or('smallFileLimit', small_file_limit)}.compareTo("
                f"{quantity_or('targetFileSize', target_file_size)}) <= 0",
                f"smallFileLimit must not be larger than targetFileSize (defaults {small_file_limit} and "
                f"{target_file_size}): what a clustering writes would be small again",
            ),
            (
                f"{quantity_or('targetFileSize', target_file_size)}.compareTo("
                f"{quantity_or('maxBytesPerGroup', max_bytes_per_group)}) <= 0",
                f"targetFileSize must not be larger than maxBytesPerGroup (defaults {target_file_size} and "
                f"{max_bytes_per_group})",
            ),
            not_less("smallFileLimit", "1"),
            (
                "!has(self.partitions) || (!has(self.partitions.lookback) && !has(self.partitions.skipLatest)) || "
                "(has(self.strategy) && self.strategy == 'RecentDays')",
                "partitions.lookback and partitions.skipLatest are only for strategy RecentDays",
            ),
            (
                f"{_SELECTED} == (has(self.partitions) && ({_SELECTION}))",
                "strategy SelectedPartitions needs one of partitions.begin, end, names and regex, which are only for "
                "it",
            ),
        )
    )


class ClusteringExecution(Model):
    """How a clustering rewrites the groups of its plan."""

    strategy: ClusteringExecutionStrategy = ClusteringExecutionStrategy.SORT_AND_SIZE
    """SortAndSize rewrites groups side by side, each in a Spark job; SingleSparkJob runs its Spark jobs one after
    another.
    """

    sort_columns: Annotated[
        tuple[AnyColumn, ...], Field(max_length=16, json_schema_extra=rules(NO_COLUMN_TWICE, PLAIN_COLUMNS))
    ] = ()
    """Columns that rows are sorted by; without them rows keep their order."""

    layout: ClusteringLayout = ClusteringLayout.LINEAR
    """Linear sorts by the first column first; ZOrder and Hilbert interleave two or more columns."""

    preserve_commit_metadata: bool = True
    """Rows keep the commit that wrote them, so incremental readers do not see them again; always so in Hudi 1.2."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.preserveCommitMetadata) || self.preserveCommitMetadata",
                "preserveCommitMetadata cannot be false: Hudi 1.2 always preserves it",
            ),
            (
                f"{value_or('layout', layout)} == 'Linear' || (has(self.sortColumns) && size(self.sortColumns) >= 2)",
                "layout ZOrder and Hilbert need at least two sortColumns; for one column use Linear",
            ),
        )
    )


class ClusteringSpec(Model):
    """Rewriting of small or unsorted files."""

    mode: ServiceMode = ServiceMode.DISABLED
    """Async runs a separate Job, Inline runs inside the writer, after the commit."""

    trigger: ClusteringTrigger = ClusteringTrigger()
    """When a clustering is due."""

    plan: ClusteringPlan = ClusteringPlan()
    """Which files a clustering takes."""

    execution: ClusteringExecution = ClusteringExecution()
    """How a clustering rewrites files."""

    updates: ClusteringUpdates = ClusteringUpdates.REJECT
    """Reject fails a writer that updates files of a pending clustering; Allow lets the writer win."""


class CleaningTrigger(Model):
    """When a cleaning is due."""

    commits: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Commits since the last clean that make the next due."""


def _only_with_policy(field: str, policy: CleaningPolicy, *, default: CleaningPolicy) -> tuple[str, str]:
    """Return the rule that a field is set only beside a value of `policy`."""
    return f"!has(self.{field}) || {value_or('policy', default)} == '{policy}'", f"{field} is only for policy {policy}"


class CleaningRetention(Model):
    """Which file slices a cleaning keeps."""

    policy: CleaningPolicy = CleaningPolicy.KEEP_LATEST_COMMITS
    """Which file slices are kept."""

    retain_commits: Annotated[int, Field(ge=1, le=LARGEST_INT)] = 10
    """Number of commits with kept file slices, for KeepLatestCommits."""

    retain_file_versions: Annotated[int, Field(ge=1, le=LARGEST_INT)] = 3
    """File slices kept per file group, for KeepLatestFileVersions."""

    retain_hours: Annotated[int, Field(ge=1, le=LARGEST_INT)] = 24
    """Hours of commits with kept file slices, for KeepLatestByHours."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            _only_with_policy("retainCommits", CleaningPolicy.KEEP_LATEST_COMMITS, default=policy),
            _only_with_policy("retainFileVersions", CleaningPolicy.KEEP_LATEST_FILE_VERSIONS, default=policy),
            _only_with_policy("retainHours", CleaningPolicy.KEEP_LATEST_BY_HOURS, default=policy),
        )
    )


class CleaningSpec(CleaningRetention):
    """Removal of file slices that no reader needs any more."""

    mode: ServiceMode = ServiceMode.ASYNC
    """Async runs a separate Job, Inline runs inside the writer, after the commit."""

    trigger: CleaningTrigger = CleaningTrigger()
    """When a cleaning is due."""


class ArchivalSpec(Model):
    """Moving of old instants from the active timeline to the archive."""

    mode: ServiceMode = ServiceMode.ASYNC
    """Async runs a separate Job, Inline runs inside the writer, after the commit."""

    min_commits: Annotated[int, Field(ge=1, le=LARGEST_INT)] = 20
    """Commits that stay in the active timeline after archiving."""

    max_commits: Annotated[int, Field(ge=2, le=LARGEST_INT)] = 30
    """Commits in the active timeline above which archiving runs."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"{value_or('minCommits', min_commits)} < {value_or('maxCommits', max_commits)}",
                f"minCommits must be smaller than maxCommits (defaults {min_commits} and {max_commits})",
            ),
        )
    )
