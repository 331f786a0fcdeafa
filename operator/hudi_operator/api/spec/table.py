"""The spec of a `HudiTable`: everything that a table owner declares."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract import (
    BadRecordPolicy,
    Location,
    TableType,
    WriteOperation,
)
from hudi_jobs.contract.table.support import WRITTEN_VERSIONS
from hudi_operator.api.spec.catalog import CATALOG_RULES, CatalogSpec
from hudi_operator.api.spec.placement import ProfileName
from hudi_operator.api.spec.schedule import CONTINUOUS_RULES, Continuous, SavepointSchedule, Schedule
from hudi_operator.api.spec.schema import SCHEMA_RULES, SchemaPolicy
from hudi_operator.api.spec.source import INGESTION_RULES, TABLE_RULES, Source
from hudi_operator.api.spec.source_kind import DEFAULT_OPERATION
from hudi_operator.api.spec.table_services import (
    ArchivalSpec,
    CleaningSpec,
    ClusteringSpec,
    CompactionSpec,
)
from hudi_operator.api.spec.table_writing import INDEX_RULES, VERSION_RULES, ConcurrencySpec, Index, TableVersion
from hudi_operator.api.values.base import (
    LARGEST_INT,
    DefaultsTo,
    Duration,
    Model,
    Name,
    OptionValue,
    Quantity,
    at_least,
    duration_or,
    not_less,
    quantity_or,
    rules,
    value_or,
    words,
)
from hudi_operator.api.values.names import NO_COLUMN_TWICE, PLAIN_COLUMNS, BasePath, ColumnName, QuarantinePath, apart


class ManagementPolicy(StrEnum):
    """Whether the operator works on the table or only observes it."""

    MANAGE = "Manage"
    OBSERVE = "Observe"


class DeletionPolicy(StrEnum):
    """Fate of the data when the resource is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class IngestionMode(StrEnum):
    """How ingestion runs."""

    BATCH = "Batch"
    CONTINUOUS = "Continuous"


class BulkInsertSortMode(StrEnum):
    """How a bulk insert arranges rows before it writes them, by the names of Hudi's `BulkInsertSortMode`."""

    NONE = "None"
    GLOBAL_SORT = "GlobalSort"
    PARTITION_SORT = "PartitionSort"
    PARTITION_PATH_REPARTITION = "PartitionPathRepartition"
    PARTITION_PATH_REPARTITION_AND_SORT = "PartitionPathRepartitionAndSort"


class ExecutionMode(StrEnum):
    """Where Spark runs: in the driver's pod alone, or with executor pods."""

    AUTO = "Auto"
    LOCAL = "Local"
    CLUSTER = "Cluster"


class FileSizing(Model):
    """Sizes that the writer aims at."""

    max_file_size: Quantity = "120Mi"
    """Largest size of a base file (hoodie.parquet.max.file.size)."""

    small_file_limit: Quantity = "100Mi"
    """Base files below this size take new inserts; 0 turns this off (hoodie.parquet.small.file.limit)."""

    insert_split_size: Annotated[int, Field(ge=1, le=LARGEST_INT)] = 500_000
    """Rows per new file while the record size is not known (hoodie.copyonwrite.insert.split.size)."""

    record_size_estimate: Quantity = "1Ki"
    """Expected size of a record before the table shows it (hoodie.copyonwrite.record.size.estimate)."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"{quantity_or('smallFileLimit', small_file_limit)}.compareTo("
                f"{quantity_or('maxFileSize', max_file_size)}) <= 0",
                f"smallFileLimit must not be larger than maxFileSize (defaults {small_file_limit} and {max_file_size})",
            ),
            not_less("maxFileSize", "1Mi"),
            not_less("recordSizeEstimate", "1"),
        )
    )


class MetadataTable(Model):
    """Hudi's metadata table."""

    enabled: bool | None = None
    """Whether the table keeps file listings and statistics in its metadata table. If absent, a new table gets one, and
    an existing table keeps what it has.
    """


class Transform(Model):
    """Transform of rows before the write."""

    sql: Annotated[str, Field(min_length=1, max_length=32768)]
    """A query over the view `source`."""


class BadRecords(Model):
    """Handling of rows that cannot be read or have no record key."""

    policy: BadRecordPolicy = BadRecordPolicy.FAIL
    """Fail ends the run before anything is written; Quarantine writes the rows to quarantinePath and continues."""

    quarantine_path: QuarantinePath | None = None
    """Folder for quarantined rows, with a folder per run."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.policy) && self.policy == 'Quarantine') == has(self.quarantinePath)",
                "quarantinePath is required for policy Quarantine, and only for it",
            ),
        )
    )


class BulkInsert(Model):
    """How a bulk insert arranges rows, which decides the number of its files: it fills no small files."""

    parallelism: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None, DefaultsTo("the number of tasks that Spark chooses")
    ] = None
    """Number of write tasks after sorting (hoodie.bulkinsert.shuffle.parallelism)."""

    sort_mode: BulkInsertSortMode = BulkInsertSortMode.NONE
    """None writes rows as they come; GlobalSort makes the fewest files (hoodie.bulkinsert.sort.mode)."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"!has(self.parallelism) || {value_or('sortMode', sort_mode)} != 'None'",
                "parallelism needs a sortMode other than None: rows that are written as they come stay in their tasks",
            ),
        )
    )


_EVERY = "5m"


class Ingestion(Model):
    """How data is ingested into the table."""

    mode: IngestionMode = IngestionMode.BATCH
    """Batch: a Job for each run. Continuous: a Job with a driver that keeps reading, batch after batch."""

    continuous: Continuous = Continuous()
    """Settings of a continuous driver; only for mode Continuous."""

    source: Source
    """Where input comes from."""

    transform: Transform | None = None
    """Transform of rows before the write."""

    operation: WriteOperation = DEFAULT_OPERATION
    """Hudi's write operation."""

    bulk_insert: BulkInsert = BulkInsert()
    """Arrangement of rows by a bulk insert; only for operation BulkInsert."""

    schedule: Schedule = Schedule(every=_EVERY)
    """When a run is due in mode Batch; a run with no new input makes no commit."""

    freshness: Duration | None = None
    """How far the table may be behind its source. If it is further, the condition Fresh is False and ingestion goes
    before table services.
    """

    bad_records: BadRecords = BadRecords()
    """Handling of rows that cannot be read or have no record key."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            at_least("freshness", "1m"),
            (
                f"!has(self.freshness) || {value_or('mode', mode)} != 'Batch' || "
                "(has(self.schedule) && !has(self.schedule.every)) || "
                f"{duration_or('freshness', _EVERY)} >= {duration_or('schedule.every', _EVERY)}",
                f"freshness must not be shorter than schedule.every (default {_EVERY}): the table would miss it "
                f"between two runs",
            ),
            *CONTINUOUS_RULES,
            (
                "!has(self.bulkInsert) || (has(self.operation) && self.operation == 'BulkInsert')",
                "bulkInsert is only for operation BulkInsert",
            ),
            *INGESTION_RULES,
        )
    )

    @property
    def continues(self) -> bool:
        """Whether a driver keeps reading."""
        return self.mode is IngestionMode.CONTINUOUS


POD_CPU = "1"
"""CPU of a driver and of an executor if neither the table nor its class sets it."""

POD_MEMORY = "2Gi"
"""Memory of a driver and of an executor if neither the table nor its class sets it."""

EXECUTORS = 2
"""Executor pods of an application if neither the table nor its class sets their number."""


class Resources(Model):
    """Size of a pod; requests and limits are the same for memory, and no limit is set on CPU."""

    cpu: Annotated[Quantity | None, DefaultsTo(f"{POD_CPU}, unless the class sets another")] = None
    """CPU request."""

    memory: Annotated[Quantity | None, DefaultsTo(f"{POD_MEMORY}, unless the class sets another")] = None
    """Memory of the pod; the JVM's heap is the part of it that Spark's overhead leaves."""

    model_config = ConfigDict(json_schema_extra=rules(not_less("cpu", "100m"), not_less("memory", "1000Mi")))


class ExecutorResources(Resources):
    """Number and size of executor pods."""

    instances: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None, DefaultsTo(f"{EXECUTORS}, unless the class sets another")
    ] = None
    """Number of executor pods in mode Cluster."""


class Execution(Model):
    """Size of the Spark application."""

    mode: ExecutionMode = ExecutionMode.AUTO
    """Local runs Spark in the driver's pod; Cluster adds executor pods; Auto chooses Local today."""

    driver: Resources = Resources()
    """Size of the driver's pod."""

    executor: ExecutorResources = ExecutorResources()
    """Number and size of executor pods."""

    profile: Annotated[ProfileName | None, DefaultsTo("the class's execution.profile, or else no profile")] = None
    """A profile that the class offers: where the pods run, and in which queue."""


class HudiTableSpec(Model):
    """The desired state of a Hudi table."""

    table_class_name: Annotated[Name | None, DefaultsTo("the class that is marked as the default")] = None
    """The HudiTableClass with the limits and defaults of the platform."""

    management_policy: ManagementPolicy = ManagementPolicy.MANAGE
    """Observe reports the timeline and what would be due, and starts no job."""

    suspend: bool = False
    """No new jobs while true; running jobs finish, and a continuous ingestion ends between two batches.

    The annotation `hudi-operator.io/suspend` of the table or of its namespace does the same.
    """

    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    """The data after deletion of the resource: Retain leaves it untouched, Delete removes it."""

    table_name: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
                max_length=200,
                json_schema_extra=words(
                    "must be of letters, digits, '_', '.' and '-', and begin with a letter, digit or '_'"
                ),
            ),
        ]
        | None,
        DefaultsTo("the name of the resource"),
    ] = None
    """Name of the Hudi table."""

    base_path: BasePath
    """Folder of the table; cannot be changed."""

    type: Annotated[
        TableType,
        Field(json_schema_extra=rules(("self == oldSelf", "type cannot be changed; create another table"))),
    ]
    """CopyOnWrite or MergeOnRead; cannot be changed."""

    table_version: Annotated[
        TableVersion | None, DefaultsTo(f"{max(WRITTEN_VERSIONS)} for a new table, and its own for an existing table")
    ] = None
    """Version of the format that a new table is created with: 6 for readers of Hudi 0.14 and 0.15, 8 for readers of
    1.0, 9 for readers of 1.1 and later. An existing table keeps its own.
    """

    record_key: Annotated[
        tuple[ColumnName, ...],
        Field(
            min_length=1,
            max_length=32,
            json_schema_extra=rules(
                ("self == oldSelf", "recordKey cannot be changed; create another table"),
                NO_COLUMN_TWICE,
                PLAIN_COLUMNS,
            ),
        ),
    ]
    """Columns that identify a record."""

    partition_by: Annotated[
        tuple[ColumnName, ...], Field(max_length=16, json_schema_extra=rules(NO_COLUMN_TWICE, PLAIN_COLUMNS))
    ] = ()
    """Columns that make the partition path; none for a table without partitions."""

    ordering_fields: Annotated[
        tuple[ColumnName, ...], Field(max_length=8, json_schema_extra=rules(NO_COLUMN_TWICE, PLAIN_COLUMNS))
    ] = ()
    """Columns that decide which of two versions of a record wins; without them the later write wins. A row without a
    value in one of them is a bad record.
    """

    schema_policy: Annotated[SchemaPolicy, Field(alias="schema")] = SchemaPolicy()
    """Columns of the table, and allowed changes of its schema."""

    index: Index = Index()
    """How Hudi finds the file group of a record key."""

    file_sizing: FileSizing = FileSizing()
    """Sizes that the writer aims at."""

    metadata_table: MetadataTable = MetadataTable()
    """Hudi's metadata table."""

    timeline_time_zone: (
        Annotated[
            str,
            Field(
                pattern=r"^(UTC|[A-Z][A-Za-z]+(/[A-Z][A-Za-z0-9+_-]*){1,2})$",
                max_length=64,
                json_schema_extra=words("must be UTC or a region of the IANA database such as Asia/Tokyo"),
            ),
        ]
        | None
    ) = None
    """Zone of the tool that writes a table with instants in local time, such as `Asia/Tokyo`; tables that this operator
    creates are in UTC. Needed only if the table's own files do not show it.
    """

    concurrency: ConcurrencySpec = ConcurrencySpec()
    """Who writes to the table."""

    ingestion: Ingestion | None = None
    """How data is ingested into the table; absent for a table without ingestion."""

    compaction: CompactionSpec = CompactionSpec()
    """Merging of log files into base files."""

    clustering: ClusteringSpec = ClusteringSpec()
    """Rewriting of small or unsorted files."""

    cleaning: CleaningSpec = CleaningSpec()
    """Removal of file slices that no reader needs any more."""

    archival: ArchivalSpec = ArchivalSpec()
    """Moving of old instants to the archive."""

    savepoints: SavepointSchedule | None = None
    """Savepoints that the operator makes by a schedule, and how long it keeps them."""

    catalog: CatalogSpec | None = None
    """Where readers find the table by a name; absent for a table in no catalog."""

    execution: Execution = Execution()
    """Size of the Spark application."""

    spark_conf: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 64})
    """Further Spark settings; only keys that the class allows."""

    hudi_options: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 64})
    """Further Hudi options; only keys that the class allows."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.partitionBy) ? self.partitionBy : []) == "
                "(has(oldSelf.partitionBy) ? oldSelf.partitionBy : [])",
                "partitionBy cannot be changed; create another table",
            ),
            (
                "(has(self.orderingFields) ? self.orderingFields : []) == "
                "(has(oldSelf.orderingFields) ? oldSelf.orderingFields : [])",
                "orderingFields cannot be changed; create another table",
            ),
            *INDEX_RULES,
            *VERSION_RULES,
            (
                "has(self.tableName) == has(oldSelf.tableName) && "
                "(!has(self.tableName) || self.tableName == oldSelf.tableName)",
                "tableName cannot be changed; create another table",
            ),
            (
                "self.type == 'MergeOnRead' || !has(self.compaction) || ("
                "(!has(self.compaction.mode) || self.compaction.mode == 'Disabled') && "
                "!has(self.compaction.trigger) && !has(self.compaction.plan))",
                "compaction is only for tables of type MergeOnRead",
            ),
            (
                "has(self.partitionBy) && size(self.partitionBy) > 0 || ("
                "(!has(self.compaction) || !has(self.compaction.plan) || ("
                "(!has(self.compaction.plan.strategy) || self.compaction.plan.strategy != 'DayBased') && "
                "!has(self.compaction.plan.partitionRegex))) && "
                f"{value_or('clustering.plan.strategy', ClusteringSpec().plan.strategy)} == 'SizeBased')",
                "plans by partition (DayBased, partitionRegex, RecentDays, SelectedPartitions) need partitionBy",
            ),
            (
                f"{value_or('clustering.updates', ClusteringSpec().updates)} == 'Reject' || "
                "(has(self.concurrency) && has(self.concurrency.mode) && self.concurrency.mode == 'Optimistic')",
                "clustering.updates Allow needs concurrency.mode Optimistic: only in this mode does a clustering "
                "detect that a writer has changed its files, and give up",
            ),
            (
                "(has(self.archival) && has(self.archival.mode) && self.archival.mode == 'Disabled') || "
                "(has(self.cleaning) && has(self.cleaning.mode) && self.cleaning.mode == 'Disabled') || "
                f"{value_or('cleaning.policy', CleaningSpec().policy)} != 'KeepLatestCommits' || "
                f"{value_or('archival.minCommits', ArchivalSpec().min_commits)} > "
                f"{value_or('cleaning.retainCommits', CleaningSpec().retain_commits)}",
                f"archival.minCommits must be larger than cleaning.retainCommits (defaults "
                f"{ArchivalSpec().min_commits} and {CleaningSpec().retain_commits}): cleaning needs the commits that "
                "it keeps",
            ),
            (
                "!has(self.ingestion) || !has(self.ingestion.badRecords) || "
                "!has(self.ingestion.badRecords.quarantinePath) || ("
                + apart("self.basePath", "self.ingestion.badRecords.quarantinePath")
                + ")",
                "basePath and ingestion.badRecords.quarantinePath must not lie inside one another",
            ),
            *TABLE_RULES,
            *CATALOG_RULES,
            *SCHEMA_RULES,
        )
    )

    @property
    def location(self) -> Location | None:
        """The folder of the table; None if the path, stored before the API server's rules, is no location."""
        return Location.parse_or_none(self.base_path)

    @property
    def continues(self) -> bool:
        """Whether a driver keeps ingesting."""
        return self.ingestion is not None and self.ingestion.continues
