"""The request: what one Spark application has to do, as a list of table tasks."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operations.operation import TableOperation
from hudi_jobs.contract.operations.savepoint import NamedSavepoint
from hudi_jobs.contract.sources.source import AnySource
from hudi_jobs.contract.table.ownership import TableOwner

METADATA_PREFIX = "hudi-operator."
"""Prefix of the keys that the driver writes into a commit's extra metadata."""

CHECKPOINT_KEY = f"{METADATA_PREFIX}checkpoint"
"""How far the source has been read, as JSON; committed atomically with the data that was read."""

RUN_KEY = f"{METADATA_PREFIX}run"
"""Name of the Job that made the commit, which tells the operator's own commits from foreign ones."""

TABLE_KEY = f"{METADATA_PREFIX}table"
"""Uid of the resource that the commit was made for."""

OPERATOR_KEY = f"{METADATA_PREFIX}operator"
"""Identity of the operator that started the run: commits of another operator are foreign too."""

TIMELINE_ZONE_OPTION = "hudi-jobs.timeline.zone"
"""Option that names the zone in which other tools write the instants of a LOCAL table; Hudi does not know it."""


class Service(StrEnum):
    """A kind of work that the operator runs for a table."""

    INGESTION = "Ingestion"
    """Bringing input into the table."""

    SAVEPOINT = "Savepoint"
    """Making or removing the savepoint that a HudiSavepoint asks for."""

    OPERATION = "Operation"
    """Doing what a HudiOperation asks for, once."""

    COMPACTION = "Compaction"
    """Merging log files into base files."""

    CLUSTERING = "Clustering"
    """Rewriting small or unsorted files."""

    CLEANING = "Cleaning"
    """Removing file slices that no reader needs any more."""

    ARCHIVAL = "Archival"
    """Moving old instants out of the active timeline."""

    DELETION = "Deletion"
    """Removing the table's data after its resource was deleted with `deletionPolicy: Delete`."""


class RunMode(StrEnum):
    """How much of a table service a run does."""

    SCHEDULE = "Schedule"
    EXECUTE = "Execute"
    SCHEDULE_AND_EXECUTE = "ScheduleAndExecute"
    ROLL_BACK = "RollBack"
    """Remove a pending clustering and make no other: its service is switched off, or its run has failed in itself."""


class ConcurrencyMode(StrEnum):
    """Who writes to a table."""

    SERIALIZED = "Serialized"
    OPTIMISTIC = "Optimistic"


class TableType(StrEnum):
    """How a table stores updates."""

    COPY_ON_WRITE = "CopyOnWrite"
    MERGE_ON_READ = "MergeOnRead"

    @property
    def hudi_name(self) -> str:
        """The value of `hoodie.table.type`."""
        return "COPY_ON_WRITE" if self is TableType.COPY_ON_WRITE else "MERGE_ON_READ"


class WriteOperation(StrEnum):
    """What is done with the rows that a run has read."""

    UPSERT = "Upsert"
    INSERT = "Insert"
    BULK_INSERT = "BulkInsert"
    DELETE = "Delete"
    INSERT_OVERWRITE = "InsertOverwrite"

    @property
    def hudi_name(self) -> str:
        """The value of `hoodie.datasource.write.operation`."""
        return {
            WriteOperation.UPSERT: "upsert",
            WriteOperation.INSERT: "insert",
            WriteOperation.BULK_INSERT: "bulk_insert",
            WriteOperation.DELETE: "delete",
            WriteOperation.INSERT_OVERWRITE: "insert_overwrite",
        }[self]


class BadRecordPolicy(StrEnum):
    """What becomes of rows that cannot be read or have no record key."""

    FAIL = "Fail"
    QUARANTINE = "Quarantine"


class SchemaEvolution(StrEnum):
    """Which changes of the incoming schema a table accepts."""

    NONE = "None"
    ADD_COLUMNS = "AddColumns"


class TableDefinition(Document):
    """The identity and shape of one Hudi table, as declared.

    `index` is declared as its note has it (`index_note`). `metadata_table` is None where nothing was
    asked for by name: then the table keeps what it has. So is `version`, with which only a new table is created.
    """

    name: str
    base_path: str
    type: TableType
    record_key: tuple[str, ...] = Field(min_length=1)
    partition_by: tuple[str, ...] = ()
    ordering_fields: tuple[str, ...] = ()
    index: str | None = None
    metadata_table: bool | None = None
    version: int | None = None


class ContinuousTask(Document):
    """How a driver goes on reading its source, batch after batch, until it is asked to end or its time is over.

    `min_interval_seconds` lie between the starts of two batches, unless the first one left input unread. After
    `recycle_after_seconds` no further batch begins. A batch that is under way when the pod is asked to end has
    `drain_seconds` to do so before it is cancelled.
    """

    min_interval_seconds: float = Field(default=10.0, gt=0)
    recycle_after_seconds: float = Field(default=43_200.0, gt=0)
    drain_seconds: float = Field(default=300.0, ge=0)


class IngestionTask(Document):
    """Read what is new in a source and write it to the table as one commit."""

    source: AnySource
    transform_sql: str | None = None
    operation: WriteOperation = WriteOperation.UPSERT
    max_bytes: int | None = None
    max_files: int | None = None
    max_records: int | None = None
    max_commits: int | None = None
    bad_records: BadRecordPolicy = BadRecordPolicy.FAIL
    quarantine_path: str | None = None
    schema_evolution: SchemaEvolution = SchemaEvolution.ADD_COLUMNS
    rescan: str | None = None
    """A request to read files, or an upstream table, once more, as the annotation has it; see `RescanRequest`."""

    continuous: ContinuousTask | None = None
    """Read batch after batch; without it one batch, and the run ends."""


class PlannedServiceTask(Document):
    """A compaction or clustering: make a plan, execute a plan, or both.

    `instant` is the pending instant to deal with and goes with `EXECUTE`. A requested one is executed. An inflight
    compaction is finished; a clustering that is inflight, or older than the newest write, is rolled back and planned
    again, so the instant that the run completes may be another one.
    """

    mode: RunMode = RunMode.SCHEDULE_AND_EXECUTE
    instant: str | None = None


class SavepointStep(StrEnum):
    """What becomes of the savepoint that protects a table which was taken over."""

    KEEP = "Keep"
    """Make it on the newest commit unless it is there, then do the service."""

    REMOVE = "Remove"
    """Remove it, and do nothing else."""


class SavepointTask(Document):
    """The savepoint from before the first table service; `taken_over_at` tells one takeover from another."""

    step: SavepointStep
    taken_over_at: str


class TableTask(Document):
    """One service of one table; `hudi_options` are complete, the driver adds only what it learns at run time.

    `abandoned` are pending instants that nobody works on any more, by their requested times: the run may finish or roll
    them back. Of the others only plans that name a run of this table are its business; the rest another tool may be at
    work on. None comes from an operator that does not say: in a serialized table everything unfinished is dead then.
    Of these, `dead` are those whose own run has named them, and whose process was seen to end: the heartbeat that such
    a one still shows is that of nobody.

    `savepoint` is what a table service does before its own work, `named_savepoint` the work of the service Savepoint,
    `operation` that of the service Operation.
    `planned` belongs to compaction and clustering. Cleaning, archival and deletion need nothing but the table.
    `owner` is whom the run is for; without it the run works only on tables that nobody owns. `take_over` is the
    identity of the operator whose table is taken over, because a person has said so.
    `inside` is the run of the continuous ingestion whose driver is to do the service beside its batches. The driver of
    this task then does none of it: it hands it over and says what became of it.
    """

    id: str
    service: Service
    table: TableDefinition
    hudi_options: dict[str, str] = Field(default_factory=dict)
    concurrency: ConcurrencyMode = ConcurrencyMode.SERIALIZED
    abandoned: tuple[str, ...] | None = None
    dead: tuple[str, ...] = ()
    ingestion: IngestionTask | None = None
    planned: PlannedServiceTask | None = None
    savepoint: SavepointTask | None = None
    named_savepoint: NamedSavepoint | None = None
    operation: TableOperation | None = None
    owner: TableOwner | None = None
    take_over: str | None = None
    inside: str | None = None
    lease_seconds: float = 60.0
    """How long another run's lease on the table counts after it was last renewed."""


class JobRequest(Document):
    """The whole request; `run` is the name of the Job and goes into every commit that it makes.

    `beside` are table services that others may ask the driver of a continuous ingestion for while it runs, each as its
    Job would be told to do it. Without any, the driver does none.
    """

    version: Literal[1] = 1
    run: str
    spark_conf: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[TableTask, ...] = Field(min_length=1)
    beside: tuple[TableTask, ...] = ()
