"""What follows the turn of a continuous driver: a service for which it ends, or another turn of its own.

A driver never ends for nothing: what it ends for is what would start then, and ingestion waits until that has started
(`given_turn`), whatever has happened while the driver ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.planning.model.decision import Decision
from hudi_operator.planning.services.case import Case
from hudi_operator.planning.services.evaluation import evaluate
from hudi_operator.planning.services.starting.alone import kept_apart
from hudi_operator.planning.services.starting.inside import services_apart
from hudi_operator.planning.services.starting.slots import in_order


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The due services that no driver is beside, and the one that starts if it ends now.

    `following` is None where ingestion would start again before them all: they are passed over.
    """

    waiting: tuple[Service, ...] = ()
    following: Service | None = None


def turn_of(case: Case, decisions: Mapping[Service, Decision], *, quota_reached: bool) -> Turn:
    """Return what waits for the end of a continuous driver, and what would start after it.

    A request is answered by the driver that runs, and what ingestion was passed over for lies before its turn.
    """
    waiting = services_apart(case, decisions, quota_reached=quota_reached)
    if not waiting:
        return Turn()
    ingestion = case.services.ingestion.model_copy(update={"passed_over": 0})
    ended = replace(
        case,
        active=tuple(job for job in case.active if job.live is None),
        services=case.services.replaced({Service.INGESTION: ingestion}),
        requested=None,
    )
    after = {**decisions, Service.INGESTION: evaluate(ended, Service.INGESTION)}
    order = in_order(after, ended.services, apart=kept_apart(case.table.spec, case.services))
    first = next((one for one in order if one in waiting or one is Service.INGESTION), None)
    return Turn(waiting=waiting, following=first if first in waiting else None)


def passed_over(services: ServicesStatus, skipped: tuple[Service, ...]) -> ServicesStatus:
    """Return what is remembered once a driver has begun another turn although these services were due."""
    return services.replaced(
        {one: services.of(one).model_copy(update={"passed_over": services.of(one).passed_over + 1}) for one in skipped}
    )
