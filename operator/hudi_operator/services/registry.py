"""The services of a table's life. A new one is one line in each of the two places below."""

from typing import assert_never

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.services.archival import ARCHIVAL
from hudi_operator.services.cleaning import CLEANING
from hudi_operator.services.clustering import CLUSTERING
from hudi_operator.services.compaction import COMPACTION
from hudi_operator.services.definition import ServiceDefinition, TableServiceDefinition
from hudi_operator.services.ingestion import INGESTION
from hudi_operator.services.operation import OPERATION
from hudi_operator.services.savepoint import SAVEPOINT
from hudi_operator.timeline import PendingInstant

TABLE_SERVICES: tuple[TableServiceDefinition, ...] = (COMPACTION, CLUSTERING, CLEANING, ARCHIVAL)
"""The table services, in the order in which equally urgent ones go."""

DEFINITIONS: tuple[ServiceDefinition, ...] = (INGESTION, SAVEPOINT, OPERATION, *TABLE_SERVICES)
"""All services of a table's life, in that order."""

SERVICES = tuple(one.service for one in DEFINITIONS)
"""Their names."""

PLAN_KINDS = frozenset(kind for one in DEFINITIONS for kind in one.plans)
"""Kinds of pending instants that are plans which some service executes."""


def definition_of(service: Service) -> ServiceDefinition | None:
    """Return what a service is; a deletion is no part of a table's life and has no definition."""
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
        case Service.DELETION:
            found = None
        case _:
            assert_never(service)
    return found


def mode_of(spec: HudiTableSpec, service: Service) -> ServiceMode:
    """Return where a service runs; Async for what always runs in its own job.

    In an Optimistic table Inline is Async: inside a writer Hudi executes every pending plan, also one that another tool
    is at work on.
    """
    definition = definition_of(service)
    declared = definition.mode(spec) if isinstance(definition, TableServiceDefinition) else ServiceMode.ASYNC
    beside_others = spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC
    return ServiceMode.ASYNC if beside_others and declared is ServiceMode.INLINE else declared


def service_of(pending: PendingInstant) -> Service | None:
    """Return the service that deals with a pending instant, or None for what only a person can deal with."""
    return next((one.service for one in DEFINITIONS if one.deals_with(pending)), None)


def leaves_no_instant(service: Service | None) -> bool:
    """Whether the driver's word is all there is of a run: it completes no instant, or nobody knows which."""
    if service is None:
        return True
    definition = definition_of(service)
    return definition is not None and not definition.completes


def makes_plans(service: Service) -> bool:
    """Whether a run of this service is told which plan to execute, or to make one."""
    definition = definition_of(service)
    return definition is not None and bool(definition.plans)
