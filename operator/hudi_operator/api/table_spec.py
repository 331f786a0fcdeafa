"""The spec of a `HudiTable`: what a table owner declares."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract import BadRecordPolicy, FileFormat, SchemaEvolution, TableType, WriteOperation
from hudi_operator.api.base import Duration, Model, Name, Quantity, at_least, not_less, rules
from hudi_operator.api.paths import BasePath, QuarantinePath, SourcePath, apart

ColumnName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$", max_length=256)]

_NO_COLUMN_TWICE = ("self.all(one, self.exists_one(other, other == one))", "a column must not be named twice")
# The order of the columns matters, so these lists are not of list type `set`, whose equality ignores the order.

OptionValue = Annotated[str, Field(max_length=1024)]


class ManagementPolicy(StrEnum):
    """Whether the operator works on the table or only looks at it."""

    MANAGE = "Manage"
    OBSERVE = "Observe"


class DeletionPolicy(StrEnum):
    """What becomes of the data when the resource is deleted."""

    RETAIN = "Retain"


class IndexType(StrEnum):
    """How Hudi finds the file group of a record key."""

    BLOOM = "Bloom"
    GLOBAL_BLOOM = "GlobalBloom"
    SIMPLE = "Simple"
    GLOBAL_SIMPLE = "GlobalSimple"
    BUCKET = "Bucket"
    RECORD_LEVEL = "RecordLevel"
    GLOBAL_RECORD_LEVEL = "GlobalRecordLevel"
    IN_MEMORY = "InMemory"


class IngestionMode(StrEnum):
    """How input reaches the table."""

    BATCH = "Batch"


class ServiceMode(StrEnum):
    """Where a table service runs."""

    INLINE = "Inline"
    DISABLED = "Disabled"


class CleaningPolicy(StrEnum):
    """Which file slices cleaning keeps."""

    KEEP_LATEST_COMMITS = "KeepLatestCommits"
    KEEP_LATEST_FILE_VERSIONS = "KeepLatestFileVersions"
    KEEP_LATEST_BY_HOURS = "KeepLatestByHours"


class ExecutionMode(StrEnum):
    """Where Spark runs: in the driver's pod alone, or with executor pods of its own."""

    AUTO = "Auto"
    LOCAL = "Local"
    CLUSTER = "Cluster"


class SchemaPolicy(Model):
    """How the table's schema may change."""

    evolution: SchemaEvolution = SchemaEvolution.ADD_COLUMNS
    """AddColumns accepts new columns and lossless widening; None accepts no change at all."""


class Index(Model):
    """How Hudi finds the file group of a record key."""

    type: IndexType = IndexType.BLOOM
    """Hudi's index type; Bloom suits most tables."""

    buckets: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Number of buckets per partition; only for type Bucket."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.buckets) || (has(self.type) && self.type == 'Bucket')",
                "buckets is only for index type Bucket",
            ),
        )
    )


class FileSizing(Model):
    """Sizes that the writer aims at."""

    max_file_size: Quantity = "120Mi"
    """Largest size of a base file (hoodie.parquet.max.file.size)."""

    small_file_limit: Quantity = "100Mi"
    """Base files below this size take new inserts; 0 turns this off (hoodie.parquet.small.file.limit)."""

    insert_split_size: Annotated[int, Field(ge=1)] = 500_000
    """Rows per new file when the record size is not learnt (hoodie.copyonwrite.insert.split.size)."""

    record_size_estimate: Quantity = "1Ki"
    """Expected size of a record before the table has taught it (hoodie.copyonwrite.record.size.estimate)."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "quantity(has(self.smallFileLimit) ? string(self.smallFileLimit) : '100Mi').compareTo("
                "quantity(has(self.maxFileSize) ? string(self.maxFileSize) : '120Mi')) <= 0",
                "smallFileLimit must not be larger than maxFileSize (defaults 100Mi and 120Mi)",
            ),
            not_less("maxFileSize", "1Mi"),
            not_less("recordSizeEstimate", "1"),
        )
    )


class MetadataTable(Model):
    """Hudi's metadata table."""

    enabled: bool = True
    """Whether the table keeps file listings and statistics in its metadata table."""


class FileSourceSpec(Model):
    """Files under a prefix, on S3 or a file system that the Spark pods can reach."""

    path: SourcePath
    """Folder that is read recursively; names that start with `_` or `.` are ignored."""

    format: FileFormat
    """Format of the files."""

    options: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 32})
    """Options of Spark's reader, for example header, sep or multiLine."""

    columns: Annotated[str, Field(min_length=1, max_length=16384)] | None = None
    """Columns as Spark DDL, for example `id BIGINT, at TIMESTAMP`; without it CSV columns are strings."""

    path_glob: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """Only files whose name matches this pattern, for example `*.csv`."""

    late_arrival_window: Duration = "10m"
    """How far behind the newest file that was read a file may appear and still be found."""


class Source(Model):
    """Where input comes from: exactly one kind."""

    files: FileSourceSpec
    """Files under a prefix."""


class Transform(Model):
    """What happens to rows before they are written."""

    sql: Annotated[str, Field(min_length=1, max_length=32768)]
    """One query over the view `source`."""


class Schedule(Model):
    """When a run is due: at a fixed distance or by a cron expression."""

    every: Duration | None = None
    """Distance between the starts of two runs."""

    cron: Annotated[str, Field(pattern=r"^[^\s]+( +[^\s]+){4}$", max_length=100)] | None = None
    """Five-field cron expression."""

    time_zone: Annotated[str, Field(pattern=r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$", max_length=64)] | None = None
    """IANA time zone of the cron expression; UTC by default."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("has(self.every) != has(self.cron)", "exactly one of every and cron must be set"),
            ("!has(self.timeZone) || has(self.cron)", "timeZone is only for cron"),
            at_least("every", "1s"),
        )
    )


class BadRecords(Model):
    """What becomes of rows that cannot be read or have no record key."""

    policy: BadRecordPolicy = BadRecordPolicy.FAIL
    """Fail ends the run before anything is written; Quarantine sets the rows aside and goes on."""

    quarantine_path: QuarantinePath | None = None
    """Folder for rows set aside, one folder per run."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.policy) && self.policy == 'Quarantine') == has(self.quarantinePath)",
                "quarantinePath goes with policy Quarantine, and Quarantine needs it",
            ),
        )
    )


class Ingestion(Model):
    """How input is brought into the table."""

    mode: IngestionMode = IngestionMode.BATCH
    """Batch: a job of its own for each run."""

    source: Source
    """Where input comes from."""

    transform: Transform | None = None
    """What happens to rows before they are written."""

    operation: WriteOperation = WriteOperation.UPSERT
    """Hudi's write operation."""

    schedule: Schedule = Schedule(every="5m")
    """When a run is due; a run with no new input makes no commit."""

    max_bytes_per_run: Quantity | None = None
    """Most bytes of source files that one run reads; at least one file is read."""

    max_files_per_run: Annotated[int, Field(ge=1)] | None = None
    """Most source files that one run reads."""

    bad_records: BadRecords = BadRecords()
    """What becomes of rows that cannot be read or have no record key."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            not_less("maxBytesPerRun", "1"),
            (
                "!has(self.badRecords) || !has(self.badRecords.quarantinePath) || ("
                + apart("self.badRecords.quarantinePath", "self.source.files.path")
                + ")",
                "quarantinePath and source.files.path must not lie inside one another: bad rows would be read again",
            ),
        )
    )


class CompactionSpec(Model):
    """Merging of log files into base files; only for MergeOnRead tables."""

    mode: ServiceMode = ServiceMode.DISABLED
    """Inline runs inside the writer, after the commit."""

    delta_commits: Annotated[int, Field(ge=1)] = 5
    """Delta commits since the last compaction that make the next one due."""


class ClusteringSpec(Model):
    """Rewriting of small or unsorted files."""

    mode: ServiceMode = ServiceMode.DISABLED
    """Inline runs inside the writer, after the commit."""

    commits: Annotated[int, Field(ge=1)] = 4
    """Commits since the last clustering that make the next one due."""


class CleaningSpec(Model):
    """Removal of file slices that no reader needs any more."""

    mode: ServiceMode = ServiceMode.DISABLED
    """Inline runs inside the writer, after the commit."""

    policy: CleaningPolicy = CleaningPolicy.KEEP_LATEST_COMMITS
    """Which file slices are kept."""

    retain_commits: Annotated[int, Field(ge=1)] = 10
    """Commits whose file slices are kept, for KeepLatestCommits."""

    retain_file_versions: Annotated[int, Field(ge=1)] = 3
    """File slices kept per file group, for KeepLatestFileVersions."""

    retain_hours: Annotated[int, Field(ge=1)] = 24
    """Hours of commits whose file slices are kept, for KeepLatestByHours."""


class ArchivalSpec(Model):
    """Moving of old instants from the active timeline to the archive."""

    mode: ServiceMode = ServiceMode.DISABLED
    """Inline runs inside the writer, after the commit."""

    min_commits: Annotated[int, Field(ge=1)] = 20
    """Commits that stay in the active timeline after archiving."""

    max_commits: Annotated[int, Field(ge=2)] = 30
    """Commits in the active timeline above which archiving runs."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.minCommits) ? self.minCommits : 20) < (has(self.maxCommits) ? self.maxCommits : 30)",
                "minCommits must be smaller than maxCommits (defaults 20 and 30)",
            ),
        )
    )


class Resources(Model):
    """Size of one pod; requests and limits are the same for memory, and no limit is set on CPU."""

    cpu: Quantity | None = None
    """CPU request."""

    memory: Quantity | None = None
    """Memory of the pod; the JVM's heap is the part of it that Spark's overhead leaves."""

    model_config = ConfigDict(json_schema_extra=rules(not_less("cpu", "100m"), not_less("memory", "1000Mi")))


class ExecutorResources(Resources):
    """Number and size of executor pods."""

    instances: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Number of executor pods in mode Cluster."""


class Execution(Model):
    """Size of the Spark application."""

    mode: ExecutionMode = ExecutionMode.AUTO
    """Local runs Spark in the driver's pod; Cluster adds executor pods; Auto chooses Local today."""

    driver: Resources = Resources()
    """Size of the driver's pod."""

    executor: ExecutorResources = ExecutorResources()
    """Number and size of executor pods."""


class HudiTableSpec(Model):
    """The desired state of one Hudi table."""

    table_class_name: Name | None = None
    """The HudiTableClass with the platform's walls and defaults; without it the class marked default."""

    management_policy: ManagementPolicy = ManagementPolicy.MANAGE
    """Observe reports the timeline and what would be due, and starts no job."""

    suspend: bool = False
    """No new jobs while true; running jobs finish."""

    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    """What becomes of the data when the resource is deleted: Retain leaves it untouched."""

    table_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=200)] | None = None
    """Name of the Hudi table; the resource's name by default."""

    base_path: BasePath
    """Where the table lives; it cannot be changed."""

    type: Annotated[
        TableType,
        Field(json_schema_extra=rules(("self == oldSelf", "type cannot be changed; create another table"))),
    ]
    """CopyOnWrite or MergeOnRead; it cannot be changed."""

    record_key: Annotated[
        tuple[ColumnName, ...],
        Field(
            min_length=1,
            max_length=32,
            json_schema_extra=rules(
                ("self == oldSelf", "recordKey cannot be changed; create another table"), _NO_COLUMN_TWICE
            ),
        ),
    ]
    """Columns that identify a record."""

    partition_by: Annotated[
        tuple[ColumnName, ...], Field(max_length=16, json_schema_extra=rules(_NO_COLUMN_TWICE))
    ] = ()
    """Columns that make the partition path; none for a table without partitions."""

    ordering_fields: Annotated[
        tuple[ColumnName, ...], Field(max_length=8, json_schema_extra=rules(_NO_COLUMN_TWICE))
    ] = ()
    """Columns that decide which of two versions of a record wins; the later write wins without them."""

    schema_policy: Annotated[SchemaPolicy, Field(alias="schema")] = SchemaPolicy()
    """How the table's schema may change."""

    index: Index = Index()
    """How Hudi finds the file group of a record key."""

    file_sizing: FileSizing = FileSizing()
    """Sizes that the writer aims at."""

    metadata_table: MetadataTable = MetadataTable()
    """Hudi's metadata table."""

    ingestion: Ingestion | None = None
    """How input is brought into the table; without it nothing is ingested."""

    compaction: CompactionSpec = CompactionSpec()
    """Merging of log files into base files."""

    clustering: ClusteringSpec = ClusteringSpec()
    """Rewriting of small or unsorted files."""

    cleaning: CleaningSpec = CleaningSpec()
    """Removal of file slices that no reader needs any more."""

    archival: ArchivalSpec = ArchivalSpec()
    """Moving of old instants to the archive."""

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
                "has(self.tableName) == has(oldSelf.tableName) && "
                "(!has(self.tableName) || self.tableName == oldSelf.tableName)",
                "tableName cannot be changed; create another table",
            ),
            (
                "self.type == 'MergeOnRead' || !has(self.compaction) || !has(self.compaction.mode) || "
                "self.compaction.mode == 'Disabled'",
                "compaction is only for tables of type MergeOnRead",
            ),
            (
                "!has(self.ingestion) || (" + apart("self.basePath", "self.ingestion.source.files.path") + ")",
                "basePath and ingestion.source.files.path must not lie inside one another: the table would read itself",
            ),
            (
                "!has(self.ingestion) || !has(self.ingestion.badRecords) || "
                "!has(self.ingestion.badRecords.quarantinePath) || ("
                + apart("self.basePath", "self.ingestion.badRecords.quarantinePath")
                + ")",
                "basePath and ingestion.badRecords.quarantinePath must not lie inside one another",
            ),
        )
    )
