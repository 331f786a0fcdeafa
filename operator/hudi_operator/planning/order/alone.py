"""Which table services of an Optimistic table run without an ingestion of ours beside them.

A batch wins a conflict with a clustering that rewrites the same files. A continuous driver may win every time, and the
clustering would never complete.

A compaction drops deleted keys. If such a key comes back meanwhile, its row is only in a log file, and an index that
looks only into base files makes the next batch write the key again (`HoodieIndex.canIndexLogFiles`). Of the declared
index types only the bucket index needs no look-up: a record index falls back to another index in a table without one.
"""

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.spec.index import IndexType
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.services.registry import TABLE_SERVICES

ATTEMPTS_BESIDE = 3
"""The number of conflicts in a row after which a service has the table to itself once.

The following attempts run beside ingestion again: if a foreign writer wins the conflicts, stopping our ingestion helps
nobody.
"""


def kept_apart(spec: HudiTableSpec, services: ServicesStatus) -> frozenset[Service]:
    """Return the table services that must not run beside an ingestion, neither now nor in their next run."""
    if spec.concurrency.mode is not ConcurrencyMode.OPTIMISTIC or spec.ingestion is None:
        return frozenset()
    cycle = ATTEMPTS_BESIDE + 1
    beaten = {one.service for one in TABLE_SERVICES if services.of(one.service).conflicts % cycle == ATTEMPTS_BESIDE}
    return frozenset(beaten | ({Service.COMPACTION} if spec.index.type is not IndexType.BUCKET else set()))
