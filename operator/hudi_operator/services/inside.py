"""Chooses the table services that a continuous driver runs between its batches."""

from hudi_jobs.contract import ConcurrencyMode, Service, WriteOperation
from hudi_operator.api.spec.continuous import ServicePlacement
from hudi_operator.api.spec.index import IndexType
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.services.registry import TABLE_SERVICES, mode_of


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
