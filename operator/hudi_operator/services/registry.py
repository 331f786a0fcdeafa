"""The registry of services, and the choice of those that run between the batches of a continuous driver.

A new service is a line in each of the two places below.
"""

from typing import assert_never

from hudi_jobs.contract import ConcurrencyMode, Service, WriteOperation
from hudi_operator.api.spec.schedule import ServicePlacement
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.spec.table_writing import IndexType
from hudi_operator.services.archival import ARCHIVAL
from hudi_operator.services.catalog import CATALOG
from hudi_operator.services.cleaning import CLEANING
from hudi_operator.services.clustering import CLUSTERING
from hudi_operator.services.compaction import COMPACTION
from hudi_operator.services.definition import ServiceDefinition, TableServiceDefinition
from hudi_operator.services.ingestion import INGESTION
from hudi_operator.services.operation import OPERATION
from hudi_operator.services.savepoint import SAVEPOINT
from hudi_operator.timeline import PendingInstant

TABLE_SERVICES: tuple[TableServiceDefinition, ...] = (COMPACTION, CLUSTERING, CLEANING, ARCHIVAL)
"""The table services, in their order among equally urgent services."""

DEFINITIONS: tuple[ServiceDefinition, ...] = (INGESTION, SAVEPOINT, OPERATION, *TABLE_SERVICES, CATALOG)
"""All services, in their order among equally urgent services."""

SERVICES = tuple(one.service for one in DEFINITIONS)
"""The names of all services."""

PLAN_KINDS = frozenset(kind for one in DEFINITIONS for kind in one.plans)
"""The kinds of pending instants that a service can execute as a plan."""


def definition_of(service: Service) -> ServiceDefinition | None:
    """Return the definition of a service; None for a deletion, which is not part of a table's life."""
    found: ServiceDefinition | None
    match service:
        case Service.INGESTION:
            found = INGESTION
        case Service.SAVEPOINT:
            found = SAVEPOINT
        case Service.OPERATION:
            found = OPERATION
        case Service.COMPACTION:
            found = COMPACTION
        case Service.CLUSTERING:
            found = CLUSTERING
        case Service.CLEANING:
            found = CLEANING
        case Service.ARCHIVAL:
            found = ARCHIVAL
        case Service.CATALOG:
            found = CATALOG
        case Service.DELETION:
            found = None
        case _:
            assert_never(service)
    return found


def mode_of(spec: HudiTableSpec, service: Service) -> ServiceMode:
    """Return where a service runs; Async for services that always run in their own job.

    In an Optimistic table, Inline becomes Async: inside a writer Hudi executes every pending plan, including one that
    another tool is executing.
    """
    definition = definition_of(service)
    declared = definition.mode(spec) if isinstance(definition, TableServiceDefinition) else ServiceMode.ASYNC
    beside_others = spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC
    return ServiceMode.ASYNC if beside_others and declared is ServiceMode.INLINE else declared


def service_of(pending: PendingInstant) -> Service | None:
    """Return the service that handles a pending instant, or None if only a person can."""
    return next((one.service for one in DEFINITIONS if one.deals_with(pending)), None)


def leaves_no_instant(service: Service | None) -> bool:
    """Whether only the driver's report tells a run's result: the service completes no instant, or is unknown."""
    if service is None:
        return True
    definition = definition_of(service)
    return definition is not None and not definition.completes


def makes_plans(service: Service) -> bool:
    """Whether runs of this service are given a plan to execute, or the order to make a plan."""
    definition = definition_of(service)
    return definition is not None and bool(definition.plans)


def services_inside(spec: HudiTableSpec) -> tuple[Service, ...]:
    """Return the table services that a Serialized table's continuous driver may run between its batches.

    Empty if a service runs inside the writer: there Hudi executes every plan it finds, including one in progress
    elsewhere. Empty for bulk inserts into buckets: Hudi does not check whether a bucket's file group is being
    clustered.
    """
    ingestion = spec.ingestion
    if spec.concurrency.mode is not ConcurrencyMode.SERIALIZED or ingestion is None or not ingestion.continues:
        return ()
    if ingestion.continuous.services is not ServicePlacement.INSIDE:
        return ()
    modes = {one.service: mode_of(spec, one.service) for one in TABLE_SERVICES}
    if ServiceMode.INLINE in modes.values():
        return ()
    if ingestion.operation is WriteOperation.BULK_INSERT and spec.index.type is IndexType.BUCKET:
        return ()
    return tuple(service for service, mode in modes.items() if mode is ServiceMode.ASYNC)
