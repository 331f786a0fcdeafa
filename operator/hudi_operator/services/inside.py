"""Which table services of a table its continuous driver may do beside its batches."""

from hudi_jobs.contract import ConcurrencyMode, Service, WriteOperation
from hudi_operator.api.spec.continuous import ServicePlacement
from hudi_operator.api.spec.index import IndexType
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.services.registry import TABLE_SERVICES, mode_of


def services_inside(spec: HudiTableSpec) -> tuple[Service, ...]:
    """Return the table services that the driver of a Serialized table may do beside its batches.

    None where one runs inside the writer: there Hudi executes every plan that it finds, also one that is under way
    beside it. None where bulk inserts go into buckets: Hudi does not look there whether a bucket's file group is being
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
