"""Which table services of an Optimistic table run without an ingestion of ours beside them.

Hudi lets a batch win that changes what a clustering rewrites. A driver that goes on for long may then win every time,
and the service would never come to its end.

A compaction drops the keys that were deleted. Where one comes back meanwhile, its row is in a log file alone, and an
index that looks into base files alone has the next batch write it once more (`HoodieIndex.canIndexLogFiles`). Of those
that are declared only a bucket index needs no look: one of record keys falls back to another where a table has none.
"""

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.spec.index import IndexType
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.services.registry import TABLE_SERVICES

ATTEMPTS_BESIDE = 3
"""How many attempts in a row give way to a writer before one has the table to itself.

The ones after that are beside again: where a writer of others wins, keeping ours away helps nobody.
"""


def kept_apart(spec: HudiTableSpec, services: ServicesStatus) -> frozenset[Service]:
    """Return the table services whose next run, or the one that is active, no ingestion is beside."""
    if spec.concurrency.mode is not ConcurrencyMode.OPTIMISTIC or spec.ingestion is None:
        return frozenset()
    cycle = ATTEMPTS_BESIDE + 1
    beaten = {one.service for one in TABLE_SERVICES if services.of(one.service).conflicts % cycle == ATTEMPTS_BESIDE}
    return frozenset(beaten | ({Service.COMPACTION} if spec.index.type is not IndexType.BUCKET else set()))
