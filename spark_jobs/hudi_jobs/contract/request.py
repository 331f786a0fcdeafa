"""The request: the work of one Spark application, as a list of table tasks with a class for each service."""

from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator

from hudi_jobs.contract.catalogs.catalog import AnyCatalog
from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operations.operation import TableOperation
from hudi_jobs.contract.operations.savepoint import NamedSavepoint
from hudi_jobs.contract.operator_folder import TableOwner
from hudi_jobs.contract.sources.source import AnySource
from hudi_jobs.contract.table.properties import TableDefinition
from hudi_jobs.contract.vocabulary import (
    BadRecordPolicy,
    ConcurrencyMode,
    RunMode,
    SchemaEvolution,
    Service,
    WriteOperation,
)


class ContinuousTask(Document):
    """How a driver reads its source, batch after batch, until it is asked to end or its time is over.

    `min_interval_seconds` lie between the starts of two batches, unless the first batch left input unread. After
    `recycle_after_seconds` no further batch begins. When the pod is asked to end, the current batch has `drain_seconds`
    to finish before it is cancelled.
    """

    min_interval_seconds: float = Field(default=10.0, gt=0)
    recycle_after_seconds: float = Field(default=43_200.0, gt=0)
    drain_seconds: float = Field(default=300.0, ge=0)


class IngestionTask(Document):
    """Read new input from a source and write it to the table as one commit."""

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
    """A request to read files, or an upstream table, once more, as in the annotation; see `RescanRequest`."""

    continuous: ContinuousTask | None = None
    """Read batch after batch; without it the run ends after one batch."""


class PlannedServiceTask(Document):
    """A compaction or clustering: make a plan, execute a plan, or both.

    `instant` is the pending instant to handle and goes with `EXECUTE`. A requested instant is executed. An inflight
    compaction is finished. A clustering that is inflight, or older than the newest write, is rolled back and planned
    again, so that the run may complete another instant.
    """

    mode: RunMode = RunMode.SCHEDULE_AND_EXECUTE
    instant: str | None = None


class SavepointStep(StrEnum):
    """The step of a run for the savepoint that protects a taken-over table."""

    KEEP = "Keep"
    """Make the savepoint on the newest commit unless it exists, then do the service."""

    REMOVE = "Remove"
    """Remove the savepoint, and do nothing else."""


class SavepointTask(Document):
    """The savepoint from before the first table service; `taken_over_at` tells takeovers apart."""

    step: SavepointStep
    taken_over_at: str


class Task(Document):
    """The part that every service needs; `hudi_options` are complete, the driver adds only what it learns at run time.

    `abandoned` are pending instants that nobody works on any more, by their requested times: the run may finish or roll
    them back. Of the other pending instants the run may touch only plans that name a run of this table; another tool
    may be working on the rest. None means that the operator does not know: in a serialized table every unfinished
    instant is dead then. `dead` is the subset whose writer is known to have exited. Ignore any heartbeat file it left
    behind.

    `owner` is the owner that the run works for; without it the run works only on tables without an owner. `take_over`
    is the identity of the operator that loses the table, because a person has said so.
    """

    id: str
    service: Service
    table: TableDefinition
    hudi_options: dict[str, str] = Field(default_factory=dict)
    concurrency: ConcurrencyMode = ConcurrencyMode.SERIALIZED
    abandoned: tuple[str, ...] | None = None
    dead: tuple[str, ...] = ()
    owner: TableOwner | None = None
    take_over: str | None = None
    lease_seconds: float = 60.0
    """How long another run's lease on the table counts after its last renewal."""
    small_file_limit: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """The size in bytes below which statistics count a base file as small; None for Hudi's default."""

    catalog: AnyCatalog | None = None
    """Where readers find the table; a run that commits syncs it, and a deletion drops the entry."""

    def shared(self, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of any type
        """Return the fields that tasks of all services of the same table share, with changes."""
        return {name: getattr(self, name) for name in Task.model_fields if name != "service"} | changes


class ProtectedTask(Task):
    """A task that keeps or removes the savepoint of a takeover before its own work."""

    savepoint: SavepointTask | None = None


class IngestionTableTask(ProtectedTask):
    """Ingest into the table."""

    service: Literal[Service.INGESTION] = Service.INGESTION
    ingestion: IngestionTask


class MaintenanceTask(ProtectedTask):
    """A table service.

    `inside` is the run of the continuous ingestion with the driver that does the service beside its batches. The driver
    of this task then hands the task over and reports the result.
    """

    inside: str | None = None


class PlannedTask(MaintenanceTask):
    """A table service that makes a plan and executes it."""

    planned: PlannedServiceTask = PlannedServiceTask()


class CompactionTableTask(PlannedTask):
    """Compact the table."""

    service: Literal[Service.COMPACTION] = Service.COMPACTION


class ClusteringTableTask(PlannedTask):
    """Cluster the table."""

    service: Literal[Service.CLUSTERING] = Service.CLUSTERING


class CleaningTableTask(MaintenanceTask):
    """Clean the table."""

    service: Literal[Service.CLEANING] = Service.CLEANING


class ArchivalTableTask(MaintenanceTask):
    """Archive instants of the table."""

    service: Literal[Service.ARCHIVAL] = Service.ARCHIVAL


class SavepointTableTask(Task):
    """Make or remove the savepoint of a HudiSavepoint."""

    service: Literal[Service.SAVEPOINT] = Service.SAVEPOINT
    named_savepoint: NamedSavepoint


class OperationTableTask(ProtectedTask):
    """Do what a HudiOperation asks for.

    `ingestion` is present if the operation asks the source whether it still holds the input that is to be read again.
    """

    service: Literal[Service.OPERATION] = Service.OPERATION
    operation: TableOperation
    ingestion: IngestionTask | None = None


class DeletionTableTask(Task):
    """Remove the table's data."""

    service: Literal[Service.DELETION] = Service.DELETION


class CatalogTableTask(Task):
    """Sync the table's catalog, without a commit."""

    service: Literal[Service.CATALOG] = Service.CATALOG
    catalog: AnyCatalog


AnyMaintenance: TypeAlias = CompactionTableTask | ClusteringTableTask | CleaningTableTask | ArchivalTableTask

MaintenanceTableTask: TypeAlias = Annotated[AnyMaintenance, Field(discriminator="service")]
"""A task of a table service that a continuous ingestion may do beside its batches."""

TableTask: TypeAlias = Annotated[
    IngestionTableTask
    | SavepointTableTask
    | OperationTableTask
    | AnyMaintenance
    | CatalogTableTask
    | DeletionTableTask,
    Field(discriminator="service"),
]
"""A task of any service."""

_MAINTENANCE: dict[Service, type[AnyMaintenance]] = {
    Service.COMPACTION: CompactionTableTask,
    Service.CLUSTERING: ClusteringTableTask,
    Service.CLEANING: CleaningTableTask,
    Service.ARCHIVAL: ArchivalTableTask,
}


def as_service(task: Task, service: Service, **changes: Any) -> AnyMaintenance:  # noqa: ANN401 - fields of any type
    """Return the task of a table service for the table of another task, with that task's savepoint."""
    savepoint = task.savepoint if isinstance(task, ProtectedTask) else None
    return _MAINTENANCE[service](**task.shared(savepoint=savepoint) | changes)


def task_id(table: str, service: str) -> str:
    """Return the id of the task of a table's service, equal in every request; `table` is its namespace and name."""
    return f"{table}/{service.lower()}"


class JobRequest(Document):
    """The whole request; `run` is the name of the Job and goes into each of its commits.

    `inline_services` are the table services that the driver of a continuous ingestion may run for other Jobs, with the
    task that each Job would get. Without any, the driver runs none.
    """

    version: Literal[1] = 1
    run: str
    spark_conf: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[TableTask, ...] = Field(min_length=1)
    inline_services: tuple[MaintenanceTableTask, ...] = ()

    @field_validator("tasks")
    @classmethod
    def _with_ids_of_their_own(cls, tasks: tuple[TableTask, ...]) -> tuple[TableTask, ...]:
        if len({task.id for task in tasks}) < len(tasks):
            raise ValueError("two tasks have the same id, so their results could not be told apart")
        return tasks

    def task_of(self, table_uid: str) -> TableTask:
        """Return the task of a table by the uid of its resource; raise `LookupError` for a table without a task."""
        found = (task for task in self.tasks if task.owner is not None and task.owner.table_uid == table_uid)
        task = next(found, None)
        if task is None:
            raise LookupError(table_uid)
        return task
