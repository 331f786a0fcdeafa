"""Which table services of an Optimistic table run without an ingestion of ours beside them.

Hudi lets a batch win that changes what a clustering rewrites. A driver that goes on for long may then win every time,
and the service would never come to its end.
"""

from hudi_jobs.contract import ConcurrencyMode, Service
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
    return frozenset(
        one.service for one in TABLE_SERVICES if services.of(one.service).conflicts % cycle == ATTEMPTS_BESIDE
    )
