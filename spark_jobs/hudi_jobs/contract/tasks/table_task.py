"""A service of a table: a class for each service, told apart by `service`."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operations.operation import TableOperation
from hudi_jobs.contract.operations.savepoint import NamedSavepoint
from hudi_jobs.contract.table.definition import TableDefinition
from hudi_jobs.contract.table.ownership import TableOwner
from hudi_jobs.contract.tasks.parts import IngestionTask, PlannedServiceTask, SavepointTask
from hudi_jobs.contract.vocabulary import ConcurrencyMode, Service


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


AnyMaintenance: TypeAlias = CompactionTableTask | ClusteringTableTask | CleaningTableTask | ArchivalTableTask

MaintenanceTableTask: TypeAlias = Annotated[AnyMaintenance, Field(discriminator="service")]
"""A task of a table service that a continuous ingestion may do beside its batches."""

TableTask: TypeAlias = Annotated[
    IngestionTableTask | SavepointTableTask | OperationTableTask | AnyMaintenance | DeletionTableTask,
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
